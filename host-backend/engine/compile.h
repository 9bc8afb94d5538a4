/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compile.h - programs on their way through validation and the compiler.
 */
#ifndef GPGPU_COMPILE_H
#define GPGPU_COMPILE_H

#include "engine.h"

#define GP_PROG_KEY 32 /* bytes of a content hash */

/*
 * One program to be compiled. The request and the program are the session's and go away when the
 * answer is given early; everything else is the compile's own.
 */
struct gp_compile {
	struct list link;  /* in session->compiles; session's lock */
	struct list queue_link; /* in the compiler's queue; compiler's lock */
	struct gpgpu_session *session; /* reference */
	const struct gp_context *ctx; /* valid as long as req */
	struct gp_request *req; /* NULL: answered already */
	struct gp_program *program; /* reference, as long as req */
	struct gp_prog prog;
	struct bpf_insn *insns;
	struct gp_map_desc *maps;
	bool validated; /* the rest is the compiler's */
	struct gp_image *quick; /* reference: what it is to be compiled again for, or NULL */
	uint8_t key[GP_PROG_KEY]; /* hash of all that the result depends on */
};

struct gp_compile *gp_compile_new(struct gpgpu_session *s, uint32_t num_insns);
void gp_compile_free(struct gp_compile *compile);

/* gp_compile_key() - fill in compile->key from compile->prog. */
void gp_compile_key(struct gp_compile *compile);

/* gp_compile_queue() - to a compile thread. Session's lock held. */
void gp_compile_queue(struct gp_compile *compile);

/*
 * gp_compile_known() - look for an earlier result. Session's lock held.
 * @verdict: out, if it was refused.
 * Return: whether there is one; *image is a new reference, or NULL if it was refused.
 */
bool gp_compile_known(struct gpgpu_session *s, const struct gp_compile *compile, struct gp_image **image,
		      struct gp_verdict *verdict);

/* gp_cache_remember() - for gp_compile_known(). @verdict: why there is no @image. Session's lock held. */
void gp_cache_remember(struct gp_cache *cache, const struct gp_compile *compile, struct gp_image *image,
		       const struct gp_verdict *verdict);
/* gp_cache_improved() - @image takes more memory now. Session's lock held. */
void gp_cache_improved(struct gp_cache *cache, const struct gp_compile *compile,
		       const struct gp_image *image);

/* program.c: gp_program_done() - answer compile->req. Session's lock held. @image: reference passes. */
void gp_program_done(struct gp_compile *compile, struct gp_image *image, const struct gp_verdict *verdict,
		     struct list *done);

#endif
