// SPDX-License-Identifier: BSD-3-Clause
/*
 * compile_once.c - a program that several devices ask for alike is compiled for the first of them.
 *
 * Devices differ in how they hold memory, maps and jobs, while what most of them ask the compiler for is the same to
 * the byte; and compiling is nearly all that a test of many small programs takes. So the linker puts this in front of
 * gp_jit_compile(): an answer is kept with all that was asked (target, flags, maps, instructions), and whoever asks
 * for exactly that again gets an image of its own with the same code. Refusals are not kept.
 *
 * Threads: any; the compile threads of engines do.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "jit/jit.h"

#define KEPT	  1024 /* the newest; a table of vectors has fewer programs */
#define COMPILERS 16

struct gp_jit *__real_gp_jit_new(const struct gp_jit_options *options, GError **error);
struct gp_jit *__wrap_gp_jit_new(const struct gp_jit_options *options, GError **error);
struct gp_image *__real_gp_jit_compile(struct gp_jit *jit, const struct gp_prog *prog,
				       struct gp_verdict *verdict);
struct gp_image *__wrap_gp_jit_compile(struct gp_jit *jit, const struct gp_prog *prog,
				       struct gp_verdict *verdict);

/* Who compiles for what. A compiler that is gone leaves its line to the next one at the same address. */
struct compiler {
	const struct gp_jit *jit;
	char target[16];
};

struct answer {
	uint8_t *question;
	size_t bytes;
	struct gp_image *image;
	struct gp_verdict verdict;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct compiler compilers[COMPILERS];
static uint32_t num_compilers;
static struct answer answers[KEPT];
static uint32_t newest;

struct gp_jit *__wrap_gp_jit_new(const struct gp_jit_options *options, GError **error)
{
	struct gp_jit *jit = __real_gp_jit_new(options, error);
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < num_compilers && compilers[i].jit != jit)
		i++;
	if (jit && options->program && i < COMPILERS) {
		compilers[i].jit = jit;
		g_strlcpy(compilers[i].target, options->target ? options->target : "",
			  sizeof(compilers[i].target));
		num_compilers = MAX(num_compilers, i + 1);
	}
	pthread_mutex_unlock(&lock);
	return jit;
}

/* All that the code depends on, one behind the other. Return: NULL if nobody knows what @jit compiles for. */
static uint8_t *ask(const struct gp_jit *jit, const struct gp_prog *prog, size_t *bytes)
{
	size_t maps = prog->num_maps * sizeof(*prog->maps), insns = prog->num_insns * sizeof(*prog->insns);
	struct {
		char target[16];
		uint32_t kind, flags, num_insns, num_maps, num_args;
		uint8_t arg_kind[sizeof(prog->arg_kind)];
	} head = { .kind = prog->kind,
		   .flags = prog->flags,
		   .num_insns = prog->num_insns,
		   .num_maps = prog->num_maps,
		   .num_args = prog->num_args };
	uint8_t *question;
	uint32_t i = 0;

	while (i < num_compilers && compilers[i].jit != jit)
		i++;
	if (i == num_compilers)
		return NULL;
	memcpy(head.target, compilers[i].target, sizeof(head.target));
	memcpy(head.arg_kind, prog->arg_kind, sizeof(head.arg_kind));
	*bytes = sizeof(head) + maps + insns;
	question = g_malloc(*bytes);
	memcpy(question, &head, sizeof(head));
	if (maps)
		memcpy(question + sizeof(head), prog->maps, maps);
	if (insns)
		memcpy(question + sizeof(head) + maps, prog->insns, insns);
	return question;
}

/* An image of its own, as from the compiler: devices may give it a better one to refer to. */
static struct gp_image *copy(const struct gp_image *from)
{
	int fd = memfd_create("gpgpu-image", MFD_CLOEXEC);
	struct gp_image *image;
	void *code;

	if (fd < 0 || write(fd, from->code, from->map_bytes) != (ssize_t)from->map_bytes)
		abort();
	code = mmap(NULL, from->map_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		abort();
	close(fd);
	image = g_new(struct gp_image, 1);
	*image = *from;
	image->code = code;
	image->lines = from->lines ? g_memdup2(from->lines, from->num_lines * sizeof(*from->lines)) : NULL;
	image->better = NULL;
	image->refs = 1;
	return image;
}

static struct gp_image *known(const uint8_t *question, size_t bytes, struct gp_verdict *verdict)
{
	for (uint32_t i = 0; i < KEPT; i++) {
		const struct answer *a = &answers[(newest - i) % KEPT];

		if (a->image && a->bytes == bytes && !memcmp(a->question, question, bytes)) {
			*verdict = a->verdict;
			return copy(a->image);
		}
	}
	return NULL;
}

/* Takes @question. */
static void keep(uint8_t *question, size_t bytes, const struct gp_image *image,
		 const struct gp_verdict *verdict)
{
	struct answer *a = &answers[++newest % KEPT];

	g_free(a->question);
	gp_image_unref(a->image);
	*a = (struct answer){
		.question = question, .bytes = bytes, .image = copy(image), .verdict = *verdict
	};
}

struct gp_image *__wrap_gp_jit_compile(struct gp_jit *jit, const struct gp_prog *prog,
				       struct gp_verdict *verdict)
{
	struct gp_image *image = NULL;
	uint8_t *question;
	size_t bytes = 0;

	pthread_mutex_lock(&lock);
	question = ask(jit, prog, &bytes);
	if (question)
		image = known(question, bytes, verdict);
	pthread_mutex_unlock(&lock);
	if (image) {
		g_free(question);
		return image;
	}
	image = __real_gp_jit_compile(jit, prog, verdict);
	pthread_mutex_lock(&lock);
	if (image && question)
		keep(question, bytes, image, verdict);
	else
		g_free(question);
	pthread_mutex_unlock(&lock);
	return image;
}
