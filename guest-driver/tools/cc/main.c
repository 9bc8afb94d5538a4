// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-cc - compiles kernels in plain C, with float, double, __fp16 and vectors, to BPF objects.
 *
 *	gpgpu-cc [OPTION]... KERNEL.c -o KERNEL.o
 *
 * How it works: clang makes LLVM IR for BPF (clang.c), which has everything that C has; what is not
 * possible on a device is refused (check.c); vectors are taken apart and functions that BPF cannot call are inlined
 * (prepare.c); printf() becomes records (print.c); floating point becomes integers of the same bits and calls of helpers (lower.c, math.c), which the
 * device's compiler turns into instructions again; LLVM's BPF back end writes the object. Names and types stay in the
 * debug information that the back end makes BTF from.
 *
 * LLVM is in this process, so an error of its back end arrives as a diagnostic (diagnose()).
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include "cc.h"

static const char help[] = "usage: gpgpu-cc [OPTION]... KERNEL.c -o KERNEL.o\n"
			   "  -mcpu=V       BPF instruction set, v1 to v4, which is the default\n"
			   "  -MD, -MF FILE a rule for make that says which files KERNEL.c includes\n"
			   "  --clang=PROG  the clang to use\n"
			   "  -v            show how clang is called\n"
			   "  -D -I -U -W -O -std= -f -include and what else clang takes go to clang.\n";

/* Options that have their argument in the next word, and go to clang. */
static const char *const two_words[] = { "-I",	       "-D",	  "-U",	     "-include", "-isystem",
					 "-idirafter", "-iquote", "-Xclang", "-x" };

static bool takes_word(const char *option)
{
	for (size_t i = 0; i < sizeof(two_words) / sizeof(*two_words); i++)
		if (!strcmp(option, two_words[i]))
			return true;
	return false;
}

static const char *next_word(int argc, char **argv, int *i)
{
	if (*i + 1 >= argc)
		die("%s: needs an argument", argv[*i]);
	return argv[++*i];
}

static void parse_options(int argc, char **argv, struct options *o)
{
	o->args = calloc((size_t)argc + 1, sizeof(*o->args));
	if (!o->args)
		die("out of memory");
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
			fputs(help, stdout);
			exit(0);
		} else if (!strcmp(a, "-o")) {
			o->output = next_word(argc, argv, &i);
		} else if (!strcmp(a, "-MD")) {
			o->depend = true;
		} else if (!strcmp(a, "-MF")) {
			o->depfile = next_word(argc, argv, &i);
		} else if (!strncmp(a, "-mcpu=", 6)) {
			o->cpu = a + 6;
		} else if (!strncmp(a, "--clang=", 8)) {
			o->clang = a + 8;
		} else if (!strcmp(a, "-v")) {
			o->verbose = true;
		} else if (!strcmp(a, "-c") || !strcmp(a, "-g")) {
			continue; /* always so */
		} else if (!strcmp(a, "-O0") || !strcmp(a, "-S") || !strcmp(a, "-E") ||
			   !strncmp(a, "-target", 7) || !strncmp(a, "--target", 8) || !strncmp(a, "-g", 2)) {
			die("%s is not for kernels", a);
		} else if (a[0] == '-' && a[1]) {
			o->args[o->num_args++] = argv[i];
			if (takes_word(a)) {
				next_word(argc, argv, &i);
				o->args[o->num_args++] = argv[i];
			}
		} else if (o->input) {
			die("one source file at a time: %s and %s", o->input, a);
		} else {
			o->input = a;
		}
	}
	if (!o->input || !o->output)
		die("a source file and -o OBJECT are needed; gpgpu-cc --help");
}

/* Our <math.h>: beside the program where it was built, else where it is installed. */
static char *find_include(void)
{
	static const char *const places[] = { ".", "../share/gpgpu/cc" };
	char self[PATH_MAX] = "", *folder, *found = NULL, *real;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return NULL;
	folder = dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *file;

		if (asprintf(&found, "%s/%s", folder, places[i]) < 0 ||
		    asprintf(&file, "%s/math.h", found) < 0)
			die("out of memory");
		n = access(file, R_OK);
		free(file);
		if (!n) {
			real = realpath(found, NULL);
			if (real) {
				free(found);
				found = real;
			}
			return found;
		}
		free(found);
	}
	return NULL;
}

/* -------------------------------------------------------------------- LLVM */

static void diagnose(LLVMDiagnosticInfoRef info, void *opaque)
{
	char *text = LLVMGetDiagInfoDescription(info);

	switch (LLVMGetDiagInfoSeverity(info)) {
	case LLVMDSError:
		report(NULL, "%s", text);
		break;
	case LLVMDSWarning:
		fprintf(stderr, "gpgpu-cc: warning: %s\n", text);
		break;
	default:
		break;
	}
	LLVMDisposeMessage(text);
}

static LLVMModuleRef read_module(LLVMContextRef ctx, const char *file)
{
	LLVMMemoryBufferRef buffer;
	LLVMModuleRef module;
	char *why = NULL;

	if (LLVMCreateMemoryBufferWithContentsOfFile(file, &buffer, &why))
		die("%s: %s", file, why);
	if (LLVMParseBitcodeInContext2(ctx, buffer, &module))
		die("%s: clang wrote what this LLVM cannot read: are they of the same version?", file);
	LLVMDisposeMemoryBuffer(buffer);
	return module;
}

static LLVMTargetMachineRef bpf_machine(const char *cpu)
{
	LLVMTargetRef target;
	char *why = NULL;

	LLVMInitializeBPFTargetInfo();
	LLVMInitializeBPFTarget();
	LLVMInitializeBPFTargetMC();
	LLVMInitializeBPFAsmPrinter();
	LLVMInitializeBPFAsmParser();
	if (LLVMGetTargetFromTriple("bpfel", &target, &why))
		die("%s", why);
	return LLVMCreateTargetMachine(target, "bpfel", cpu, "", LLVMCodeGenLevelDefault, LLVMRelocPIC,
				       LLVMCodeModelDefault);
}

static void run_passes(LLVMModuleRef module, const char *passes, LLVMTargetMachineRef machine)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);

	LLVMDisposePassBuilderOptions(options);
	if (error)
		die("%s", LLVMGetErrorMessage(error));
}

static void write_object(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *output)
{
	char *why = NULL, *temporary, *bad = NULL;

	/* Beside it first, so that the object is there whole or not at all. */
	if (asprintf(&temporary, "%s.tmp%ld", output, (long)getpid()) < 0)
		die("out of memory");
	if (LLVMVerifyModule(module, LLVMReturnStatusAction, &bad))
		die("internal error, please report it with the source: %s", bad);
	LLVMDisposeMessage(bad);
	if (LLVMTargetMachineEmitToFile(machine, module, temporary, LLVMObjectFile, &why)) {
		unlink(temporary);
		die("%s: %s", output, why);
	}
	if (report_count()) {
		unlink(temporary);
	} else if (rename(temporary, output)) {
		unlink(temporary);
		die("%s: %s", output, strerror(errno));
	}
	free(temporary);
}

/* From clang's bitcode in @file, which is removed, to the object. Return: the exit status. */
static int make_object(const struct options *options, const char *file)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMTargetMachineRef machine;
	LLVMModuleRef module;

	LLVMContextSetDiagnosticHandler(ctx, diagnose, NULL);
	module = read_module(ctx, file);
	unlink(file);
	machine = bpf_machine(options->cpu);
	check_module(module);
	if (!report_count())
		run_passes(module, prepare_module(module), machine);
	if (!report_count())
		print_module(module);
	if (!report_count())
		lower_module(module);
	if (!report_count()) {
		run_passes(module, "function(early-cse,instsimplify,adce),globaldce", machine);
		write_object(module, machine, options->output);
	}
	LLVMDisposeTargetMachine(machine);
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
	return report_count() ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options options = { .clang = "clang-19", .cpu = "v4" };
	char file[4096];
	int status;

	parse_options(argc, argv, &options);
	report_input(options.input);
	options.include = find_include();
	status = clang_to_bitcode(&options, file);
	if (!status)
		status = make_object(&options, file);
	free(options.args);
	free((char *)(uintptr_t)options.include);
	return status;
}
