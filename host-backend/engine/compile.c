/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compile.c - the queue of programs to compile, what that may cost, and results that are remembered.
 *
 * How it works: a few threads take programs from one queue. Next is the oldest program of the session that has
 * used the least compile time (start-time fair, as in sched.c), and a session has at most one program in the
 * making, so that a guest that floods the compiler waits for itself. The time is metered: a session may
 * use COMPILE_BURST_NS at once and COMPILE_SHARE of a processor in the long run.
 *
 * Two steps. All but small programs are compiled quickly first, which makes the answer, and then once more, well: by a
 * thread of its own, when nobody waits for it. The better code takes the quick code's place wherever that is in use
 * (gp_image_improve()), between two slices, and both stay until the program goes. A session whose compile time is half
 * used up keeps the quick code.
 *
 * A program whose context or session goes away meanwhile is answered at once (gp_compiles_cancel()), and leaves the
 * queue with what it takes of memory. Only the one in the making, of which a session has at most one, goes on,
 * and its result is kept.
 *
 * Threads: compile threads run compile_thread(); the queue is under compiler->lock, the rest under the
 * session's.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "compile.h"
#include "engine.h"

#define NUM_THREADS	 3 /* the last one only for second steps */
#define COMPILE_BURST_NS (60ll * 1000000000)
#define COMPILE_SHARE	 10 /* one tenth */
#define ONE_STEP_WEIGHT	 128 /* instructions of a program that is compiled well at once ... */
#define CALL_WEIGHT	 32 /* ... where a call counts like so many */
/*
 * Of the processor's for one program of a GPU. The largest that are known (nat64, katran, whose helpers all become part of
 * them) take 1 to 3 on a quiet host, and twice that where another thread shares the core. It is charged to the session
 * all the same (COMPILE_BURST_NS), and runs in a process of its own.
 */
#define GPU_SECONDS   20
#define HERE	      "x86_64" /* engine->target of code for this machine */
#define MAX_TWO_STEPS 6000
#define MAX_AGAIN     256 /* programs of a session that wait for the second step; others keep the quick code */

struct gp_compiler {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct list queue;
	struct list again; /* programs that have quick code */
	bool one_step; /* there are none */
	uint64_t vtime;
	bool quit;
	pthread_t threads[NUM_THREADS];
	uint32_t num_threads;
	int (*connect)(void *opaque, const char *target);
	void *opaque;
	const char *target; /* NULL: this machine */

	/* The connection; held by those that compile, and alone by who replaces it. */
	pthread_rwlock_t jit_lock;
	struct gp_jit *jit; /* NULL: there is no compiler */
	int jit_watch; /* second descriptor of the socket, to see that it is closed; -1: none */
	uint64_t jit_number; /* how many there have been */
};

struct gp_compile *gp_compile_new(struct gpgpu_session *s, uint32_t num_insns)
{
	struct gp_compile *compile = g_new0(struct gp_compile, 1);

	list_init(&compile->link);
	list_init(&compile->queue_link);
	gp_session_ref(s);
	compile->session = s;
	compile->insns = g_new(struct bpf_insn, num_insns);
	compile->maps = g_new0(struct gp_map_desc, GP_MAX_PROG_MAPS);
	compile->prog.flags = s->engine->prog_flags;
	compile->prog.insns = compile->insns;
	compile->prog.num_insns = num_insns;
	compile->prog.maps = compile->maps;
	return compile;
}

void gp_compile_free(struct gp_compile *compile)
{
	gp_image_unref(compile->quick);
	g_free(compile->insns);
	g_free(compile->maps);
	gp_session_unref(compile->session);
	g_free(compile);
}

void gp_compile_key(struct gp_compile *compile)
{
	const struct gp_prog *prog = &compile->prog;
	GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
	const uint32_t head[] = { prog->kind, prog->flags, prog->num_insns, prog->num_maps, prog->num_args };
	gsize length = GP_PROG_KEY;

	g_checksum_update(sum, (const guchar *)head, sizeof(head));
	g_checksum_update(sum, prog->arg_kind, sizeof(prog->arg_kind));
	g_checksum_update(sum, (const guchar *)prog->insns, (gssize)(prog->num_insns * sizeof(*prog->insns)));
	g_checksum_update(sum, (const guchar *)prog->maps, (gssize)(prog->num_maps * sizeof(*prog->maps)));
	g_checksum_get_digest(sum, compile->key, &length);
	g_checksum_free(sum);
}

void gp_compile_queue(struct gp_compile *compile)
{
	struct gpgpu_session *s = compile->session;
	struct gp_compiler *compiler = s->engine->compiler;

	list_add_tail(&s->compiles, &compile->link);
	pthread_mutex_lock(&compiler->lock);
	if (!s->compiles_queued++ && s->compile_vtime < compiler->vtime)
		s->compile_vtime = compiler->vtime;
	list_add_tail(&compiler->queue, &compile->queue_link);
	pthread_cond_broadcast(&compiler->wake);
	pthread_mutex_unlock(&compiler->lock);
}

/* Compiler's lock held. */
static struct gp_compile *pick(struct gp_compiler *compiler)
{
	struct gp_compile *best = NULL;
	struct list *pos;

	list_for_each(pos, &compiler->queue)
	{
		struct gp_compile *compile = container_of(pos, struct gp_compile, queue_link);
		struct gpgpu_session *s = compile->session;

		if (!s->compiling && (!best || s->compile_vtime < best->session->compile_vtime))
			best = compile;
	}
	if (!best)
		return NULL;
	list_del(&best->queue_link);
	best->session->compiling = true;
	compiler->vtime = best->session->compile_vtime;
	return best;
}

static void refuse(struct gp_verdict *verdict, uint32_t status, uint32_t reason, const char *message)
{
	*verdict = (struct gp_verdict){ .status = status, .reason = reason };
	g_strlcpy(verdict->message, message, sizeof(verdict->message));
}

/* Has the session CPU time left for a compile? Session's lock held. */
static bool within_budget(struct gpgpu_session *s)
{
	uint64_t now = gp_now();

	if (!s->compile_refilled)
		s->compile_budget = COMPILE_BURST_NS;
	else
		s->compile_budget += (int64_t)((now - s->compile_refilled) / COMPILE_SHARE);
	s->compile_budget = MIN(s->compile_budget, COMPILE_BURST_NS);
	s->compile_refilled = now;
	return s->compile_budget > 0;
}

/* Return: whether somebody still waits for @compile and it may be compiled; if not, it is answered. */
static bool begin(struct gp_compile *compile)
{
	struct gpgpu_session *s = compile->session;
	struct gp_image *image = NULL;
	struct gp_verdict verdict;
	struct list done;
	bool go = false;

	list_init(&done);
	pthread_mutex_lock(&s->lock);
	if (!compile->req) {
		go = false;
	} else if (gp_compile_known(s, compile, &image, &verdict)) {
		/* The one before it in the queue was the same. */
		gp_program_done(compile, image, &verdict, &done);
	} else if (!within_budget(s)) {
		refuse(&verdict, VIRTIO_GPGPU_S_LIMIT, VIRTIO_GPGPU_R_COMPILE_LIMIT,
		       "this device has used up its compile time; try again later");
		gp_program_done(compile, NULL, &verdict, &done);
	} else {
		go = true;
	}
	gp_session_unlock(s, &done);
	return go;
}

static void end(struct gp_compile *compile, struct gp_image *image, const struct gp_verdict *verdict,
		uint64_t ns)
{
	struct gpgpu_session *s = compile->session;
	struct list done;

	list_init(&done);
	pthread_mutex_lock(&s->lock);
	s->stats.compiles++;
	s->stats.compile_ns += ns;
	s->compile_budget -= (int64_t)ns;
	gp_cache_remember(s->cache, compile, image, verdict);
	if (compile->req)
		gp_program_done(compile, image, verdict, &done);
	else if (image)
		gp_image_unref(image);
	gp_session_unlock(s, &done);
}

static void disconnect(struct gp_compiler *compiler)
{
	if (compiler->jit)
		gp_jit_free(compiler->jit);
	if (compiler->jit_watch >= 0)
		close(compiler->jit_watch);
	compiler->jit = NULL;
	compiler->jit_watch = -1;
}

/* Return: whether there is a compiler. */
static bool connect_jit(struct gp_compiler *compiler)
{
	struct gp_jit_options options = {
		.fd = compiler->connect(compiler->opaque, compiler->target),
		.cpu_seconds = compiler->target ? GPU_SECONDS : 0,
	};

	compiler->jit_number++;
	if (options.fd < 0)
		return false;
	compiler->jit_watch = fcntl(options.fd, F_DUPFD_CLOEXEC, 0);
	compiler->jit = gp_jit_new(&options, NULL);
	if (compiler->jit && compiler->jit_watch >= 0)
		return true;
	disconnect(compiler);
	return false;
}

static bool jit_is_gone(const struct gp_compiler *compiler)
{
	struct pollfd pfd = { .fd = compiler->jit_watch };

	if (!compiler->jit)
		return true;
	return pfd.fd >= 0 && poll(&pfd, 1, 0) == 1 && pfd.revents & (POLLHUP | POLLERR);
}

/* Gets another compiler if this one has died. Only then do compiles that are under way have to end first. */
static void check_jit(struct gp_compiler *compiler)
{
	bool gone;

	if (!compiler->connect || __atomic_load_n(&compiler->quit, __ATOMIC_RELAXED))
		return;
	pthread_rwlock_rdlock(&compiler->jit_lock);
	gone = jit_is_gone(compiler);
	pthread_rwlock_unlock(&compiler->jit_lock);
	if (!gone)
		return;
	pthread_rwlock_wrlock(&compiler->jit_lock);
	/* The other thread may have been here. */
	if (jit_is_gone(compiler)) {
		disconnect(compiler);
		connect_jit(compiler);
	}
	pthread_rwlock_unlock(&compiler->jit_lock);
}

/* @number: out: which compiler was asked. */
static struct gp_image *ask_jit(struct gp_compiler *compiler, struct gp_compile *compile,
				struct gp_verdict *verdict, uint64_t *number)
{
	struct gp_image *image = NULL;

	pthread_rwlock_rdlock(&compiler->jit_lock);
	*number = compiler->jit_number;
	if (compiler->jit)
		image = gp_jit_compile(compiler->jit, &compile->prog, verdict);
	else
		refuse(verdict, VIRTIO_GPGPU_S_REJECTED, VIRTIO_GPGPU_R_COMPILER, "there is no compiler");
	pthread_rwlock_unlock(&compiler->jit_lock);
	return image;
}

static uint64_t compiler_number(struct gp_compiler *compiler)
{
	uint64_t number;

	pthread_rwlock_rdlock(&compiler->jit_lock);
	number = compiler->jit_number;
	pthread_rwlock_unlock(&compiler->jit_lock);
	return number;
}

static struct gp_image *make(struct gp_compiler *compiler, struct gp_compile *compile,
			     struct gp_verdict *verdict)
{
	struct gp_image *image;
	uint64_t asked;

	if (!gp_validate(&compile->prog, verdict))
		return NULL;
	compile->validated = true;
	/* It may have died since the last program, which is no reason to refuse this one. */
	check_jit(compiler);
	image = ask_jit(compiler, compile, verdict, &asked);
	if (image || verdict->reason != VIRTIO_GPGPU_R_COMPILER)
		return image;
	/* Nor is its death meanwhile: a program kills the child that compiles it, never the zygote. */
	check_jit(compiler);
	if (compiler_number(compiler) != asked)
		image = ask_jit(compiler, compile, verdict, &asked);
	return image;
}

/* Whether good code takes longer than somebody should wait, as it does from about 30 ms on. */
static bool in_two_steps(const struct gp_prog *prog)
{
	uint32_t weight = prog->num_insns;

	/* What LLVM has less to do for, the quick code is not much quicker made. */
	if (prog->num_insns > MAX_TWO_STEPS)
		return false;
	for (uint32_t i = 0; i < prog->num_insns; i++)
		if (prog->insns[i].code == (BPF_JMP | BPF_CALL))
			weight += CALL_WEIGHT;
	return weight > ONE_STEP_WEIGHT;
}

/* Puts @better in the place of what @compile made first, and charges it. Session's lock held. */
static void improve(struct gpgpu_session *s, struct gp_compile *compile, struct gp_image *better)
{
	struct gp_program *prog;
	GHashTableIter iter;
	uint64_t users = 0;

	g_hash_table_iter_init(&iter, s->tables[VIRTIO_GPGPU_OBJ_PROG].by_id);
	while (g_hash_table_iter_next(&iter, NULL, (void **)&prog))
		users += prog->image == compile->quick;
	if (!gp_charge(s, users * better->map_bytes)) {
		gp_image_unref(better);
		return;
	}
	g_hash_table_iter_init(&iter, s->tables[VIRTIO_GPGPU_OBJ_PROG].by_id);
	while (g_hash_table_iter_next(&iter, NULL, (void **)&prog))
		if (prog->image == compile->quick)
			prog->object.memory += better->map_bytes;
	gp_image_improve(compile->quick, better);
	gp_cache_improved(s->cache, compile, compile->quick);
}

/* The second step. */
static void compile_again(struct gp_compiler *compiler, struct gp_compile *compile)
{
	struct gpgpu_session *s = compile->session;
	struct gp_verdict verdict = { 0 };
	struct gp_image *image;
	uint64_t start;
	bool go;

	pthread_mutex_lock(&s->lock);
	go = !s->closed && within_budget(s) && s->compile_budget > COMPILE_BURST_NS / 2;
	pthread_mutex_unlock(&s->lock);
	if (!go)
		return;
	start = gp_now();
	compile->prog.flags &= ~GP_PROG_QUICK;
	image = make(compiler, compile, &verdict);
	start = image && image->cpu_ns ? image->cpu_ns : gp_now() - start;
	pthread_mutex_lock(&s->lock);
	s->stats.compile_ns += start;
	s->compile_budget -= (int64_t)start;
	if (image && !s->closed)
		improve(s, compile, image);
	else
		gp_image_unref(image);
	pthread_mutex_unlock(&s->lock);
}

static void *again_thread(void *opaque)
{
	struct gp_compiler *compiler = opaque;

	pthread_mutex_lock(&compiler->lock);
	while (!compiler->quit) {
		struct gp_compile *compile;

		if (list_empty(&compiler->again)) {
			pthread_cond_wait(&compiler->wake, &compiler->lock);
			continue;
		}
		compile = container_of(compiler->again.next, struct gp_compile, queue_link);
		list_del(&compile->queue_link);
		compile->session->compiles_again--;
		pthread_mutex_unlock(&compiler->lock);
		compile_again(compiler, compile);
		gp_compile_free(compile);
		pthread_mutex_lock(&compiler->lock);
	}
	pthread_mutex_unlock(&compiler->lock);
	return NULL;
}

static void *compile_thread(void *opaque)
{
	struct gp_compiler *compiler = opaque;
	struct gp_compile *compile;

	pthread_mutex_lock(&compiler->lock);
	for (;;) {
		struct gpgpu_session *s;
		uint64_t ns = 0;

		compile = pick(compiler);
		if (!compile) {
			if (compiler->quit)
				break;
			pthread_cond_wait(&compiler->wake, &compiler->lock);
			continue;
		}
		s = compile->session;
		pthread_mutex_unlock(&compiler->lock);
		if (begin(compile)) {
			struct gp_verdict verdict = { 0 };
			uint64_t start = gp_now();
			struct gp_image *image;

			if (!compiler->one_step && in_two_steps(&compile->prog))
				compile->prog.flags |= GP_PROG_QUICK;
			image = make(compiler, compile, &verdict);
			if (image && (compile->prog.flags & GP_PROG_QUICK))
				compile->quick = gp_image_ref(image);

			/* What the compiler measured; for a refusal, how long it took. */
			ns = image && image->cpu_ns ? image->cpu_ns : gp_now() - start;
			end(compile, image, &verdict, ns);
		}
		pthread_mutex_lock(&compiler->lock);
		s->compiling = false;
		s->compile_vtime += ns;
		s->compiles_queued--;
		/* What this session has queued could not be picked until now. */
		pthread_cond_broadcast(&compiler->wake);
		/* What it takes of memory is not charged any more. */
		if (compile->quick && s->compiles_again < MAX_AGAIN) {
			s->compiles_again++;
			list_add_tail(&compiler->again, &compile->queue_link);
			continue;
		}
		pthread_mutex_unlock(&compiler->lock);
		gp_compile_free(compile);
		pthread_mutex_lock(&compiler->lock);
	}
	pthread_mutex_unlock(&compiler->lock);
	return NULL;
}

/* Return: whether @compile was still in the queue and is now gone from it. Session's lock held. */
static bool unqueue(struct gp_compiler *compiler, struct gp_compile *compile)
{
	bool queued;

	pthread_mutex_lock(&compiler->lock);
	queued = !list_empty(&compile->queue_link);
	if (queued) {
		list_del(&compile->queue_link);
		compile->session->compiles_queued--;
	}
	pthread_mutex_unlock(&compiler->lock);
	return queued;
}

/* What would only be made better: nobody waits for it. Session's lock held. */
static void cancel_again(struct gpgpu_session *s)
{
	struct gp_compiler *compiler = s->engine->compiler;
	struct list *pos, *next, gone;

	list_init(&gone);
	pthread_mutex_lock(&compiler->lock);
	list_for_each_safe(pos, next, &compiler->again)
	{
		if (container_of(pos, struct gp_compile, queue_link)->session != s)
			continue;
		list_del(pos);
		list_add_tail(&gone, pos);
		s->compiles_again--;
	}
	pthread_mutex_unlock(&compiler->lock);
	while (!list_empty(&gone)) {
		struct gp_compile *compile = container_of(gone.next, struct gp_compile, queue_link);

		list_del(&compile->queue_link);
		gp_compile_free(compile);
	}
}

void gp_compiles_cancel(struct gpgpu_session *s, const struct gp_context *ctx, struct gp_result result,
			struct list *done)
{
	struct list *pos, *next;

	if (!ctx)
		cancel_again(s);

	list_for_each_safe(pos, next, &s->compiles)
	{
		struct gp_compile *compile = container_of(pos, struct gp_compile, link);

		if (ctx && compile->ctx != ctx)
			continue;
		list_del(&compile->link);
		gp_object_remove(&compile->program->object);
		gp_object_unref(&compile->program->object);
		gp_answer(s, compile->req, result, done);
		compile->req = NULL;
		compile->program = NULL;
		compile->ctx = NULL;
		/* It is no longer charged to the session, so it must not stay either. */
		if (unqueue(s->engine->compiler, compile))
			gp_compile_free(compile);
	}
}

struct gp_image *gp_compiler_kernel(struct gp_compiler *compiler, enum gp_kernel kernel, char why[GP_MESSAGE])
{
	struct gp_verdict verdict = { 0 };
	struct gp_image *image = NULL;

	g_strlcpy(verdict.message, "there is no compiler", GP_MESSAGE);
	pthread_rwlock_rdlock(&compiler->jit_lock);
	if (compiler->jit)
		image = gp_jit_kernel(compiler->jit, kernel, &verdict);
	pthread_rwlock_unlock(&compiler->jit_lock);
	if (!image)
		g_strlcpy(why, verdict.message, GP_MESSAGE);
	return image;
}

struct gp_compiler *gp_compiler_new(struct gpgpu_engine *engine, const struct gpgpu_engine_options *options,
				    GError **error)
{
	struct gp_compiler *compiler = g_new0(struct gp_compiler, 1);

	pthread_mutex_init(&compiler->lock, NULL);
	pthread_cond_init(&compiler->wake, NULL);
	pthread_rwlock_init(&compiler->jit_lock, NULL);
	list_init(&compiler->queue);
	list_init(&compiler->again);
	compiler->jit_watch = -1;
	compiler->connect = options->jit_connect;
	compiler->opaque = options->jit_opaque;
	if (strcmp(engine->target, HERE))
		compiler->target = engine->target;
	/* What a GPU has been given is not changed behind its back. */
	compiler->one_step = options->one_step || engine->lanes;
	if (compiler->connect) {
		if (!connect_jit(compiler)) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "cannot reach the compiler");
			goto fail;
		}
	} else if (options->jit_program || options->jit_fd >= 0) {
		struct gp_jit_options jit = {
			.program = options->jit_program,
			.fd = options->jit_fd,
			.target = compiler->target,
			.cpu_seconds = compiler->target ? GPU_SECONDS : 0,
		};

		compiler->jit = gp_jit_new(&jit, error);
		if (!compiler->jit)
			goto fail;
	}
	for (; compiler->num_threads < NUM_THREADS; compiler->num_threads++) {
		if (pthread_create(&compiler->threads[compiler->num_threads], NULL,
				   compiler->num_threads + 1 < NUM_THREADS ? compile_thread : again_thread,
				   compiler)) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM,
				    "cannot start the compile threads");
			goto fail;
		}
	}
	return compiler;

fail:
	gp_compiler_free(compiler);
	return NULL;
}

void gp_compiler_stop(struct gp_compiler *compiler)
{
	pthread_mutex_lock(&compiler->lock);
	__atomic_store_n(&compiler->quit, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&compiler->wake);
	pthread_mutex_unlock(&compiler->lock);
	pthread_rwlock_rdlock(&compiler->jit_lock);
	if (compiler->jit)
		gp_jit_stop(compiler->jit);
	pthread_rwlock_unlock(&compiler->jit_lock);
}

void gp_compiler_free(struct gp_compiler *compiler)
{
	if (!compiler)
		return;
	gp_compiler_stop(compiler);
	for (uint32_t i = 0; i < compiler->num_threads; i++)
		pthread_join(compiler->threads[i], NULL);
	while (!list_empty(&compiler->again)) {
		struct gp_compile *compile =
			container_of(compiler->again.next, struct gp_compile, queue_link);

		list_del(&compile->queue_link);
		gp_compile_free(compile);
	}
	disconnect(compiler);
	pthread_rwlock_destroy(&compiler->jit_lock);
	pthread_cond_destroy(&compiler->wake);
	pthread_mutex_destroy(&compiler->lock);
	g_free(compiler);
}
