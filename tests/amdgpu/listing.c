// SPDX-License-Identifier: BSD-3-Clause
/* listing.c - disassembles with LLVM's own disassembler, for tests that look at code and people who do. */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include "listing.h"

static LLVMDisasmContextRef open_target(const struct gp_generation *gen)
{
	static bool ready;

	if (!ready) {
		LLVMInitializeAMDGPUTargetInfo();
		LLVMInitializeAMDGPUTargetMC();
		LLVMInitializeAMDGPUDisassembler();
		ready = true;
	}
	return LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", gen->name, gen->features, NULL, 0, NULL,
					   NULL);
}

/* Code is what is in front of the constants; the descriptor is the first thing that is none. */
struct listing_line *listing_make(const struct gp_image *image, const struct gp_generation *gen,
				  size_t *count)
{
	LLVMDisasmContextRef context = open_target(gen);
	struct listing_line *lines = NULL;
	uint32_t at = 0, size = image->entry;
	size_t room = 0;

	*count = 0;
	while (context && at < size) {
		struct listing_line *line;
		size_t n;

		if (*count == room) {
			room = room ? room * 2 : 1024;
			lines = realloc(lines, room * sizeof(*lines));
			if (!lines)
				abort();
		}
		line = &lines[(*count)++];
		line->at = at;
		n = LLVMDisasmInstruction(context, (uint8_t *)image->code + at, size - at, at, line->text,
					  sizeof(line->text));
		if (!n) {
			strcpy(line->text, "?");
			n = 4;
		} else {
			size_t skip = strspn(line->text, " \t");

			memmove(line->text, line->text + skip, strlen(line->text + skip) + 1);
			for (char *c = line->text; *c; c++)
				if (*c == '\t')
					*c = ' ';
		}
		at += (uint32_t)n;
	}
	if (context)
		LLVMDisasmDispose(context);
	while (*count &&
	       (!strncmp(lines[*count - 1].text, "s_code_end", 10) ||
		!strncmp(lines[*count - 1].text, "s_nop 0", 8) || !strcmp(lines[*count - 1].text, "?")))
		--*count;
	return lines;
}
