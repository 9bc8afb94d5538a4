/* SPDX-License-Identifier: BSD-3-Clause */
/* fixture.c - see fixture.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"

void card_again(struct card *card, bool gfx10)
{
	uint32_t major, minor;

	memset(card, 0, sizeof(*card));
	card->gfx10 = gfx10;
	card->next_va = 0x100000000;
	card->fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(card->fd, 0);
	ck_assert_int_eq(amdgpu_device_initialize(card->fd, &major, &minor, &card->dev), 0);
	ck_assert_int_eq(amdgpu_cs_ctx_create(card->dev, &card->ctx), 0);
}

void card_open(struct card *card, const char *generation, const char *commands)
{
	char text[256], *save = NULL;

	snprintf(text, sizeof(text), "generation %s", generation);
	amdgpu_sim_control(text);
	snprintf(text, sizeof(text), "%s", commands ? commands : "");
	for (char *c = strtok_r(text, ";", &save); c; c = strtok_r(NULL, ";", &save))
		amdgpu_sim_control(c);
	card_again(card, !strncmp(generation, "gfx10", 5));
	card->gfx90a = !strcmp(generation, "gfx90a");
	card->engines8 = card->gfx90a || !strcmp(generation, "gfx908");
}

void card_close(struct card *card)
{
	for (uint32_t i = 0; i < card->count; i++)
		amdgpu_bo_free(card->mem[i].bo);
	amdgpu_cs_ctx_free(card->ctx);
	amdgpu_device_deinitialize(card->dev);
	close(card->fd);
}

struct mem *mem_new(struct card *card, uint64_t size, uint32_t domain, uint64_t flags, uint64_t va_flags)
{
	struct amdgpu_bo_alloc_request request = { size, PAGE, domain, flags };
	struct mem *mem = &card->mem[card->count];

	ck_assert_uint_lt(card->count, MAX_MEM);
	mem->size = size;
	mem->va = card->next_va;
	card->next_va += (size + 0xffff) & ~0xffffull;
	ck_assert_int_eq(amdgpu_bo_alloc(card->dev, &request, &mem->bo), 0);
	ck_assert_int_eq(amdgpu_bo_export(mem->bo, amdgpu_bo_handle_type_kms, &mem->handle), 0);
	ck_assert_int_eq(amdgpu_bo_cpu_map(mem->bo, (void **)&mem->cpu), 0);
	ck_assert_int_eq(amdgpu_bo_va_op_raw(card->dev, mem->bo, 0, size, mem->va, va_flags,
					     AMDGPU_VA_OP_MAP),
			 0);
	card->count++;
	return mem;
}

void put(struct stream *s, uint32_t word)
{
	ck_assert_uint_lt(s->n, s->mem->size / 4);
	s->mem->cpu[s->n++] = word;
}

void put_address(struct stream *s, uint64_t va)
{
	put(s, (uint32_t)va);
	put(s, (uint32_t)(va >> 32));
}

struct stream stream_new(struct card *card)
{
	return (struct stream){ mem_new(card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW), 0 };
}

void put_write(struct stream *s, uint64_t va, uint32_t value)
{
	put(s, PACKET(0x37, 4));
	put(s, 5u << 8 | 1u << 20);
	put_address(s, va);
	put(s, value);
}

void put_acquire(struct stream *s, bool gfx10)
{
	put(s, PACKET(0x58, gfx10 ? 7u : 6u));
	put(s, gfx10 ? 0 : 0x28c40000);
	put(s, 0xffffffff);
	put(s, 0xffffff);
	put(s, 0);
	put(s, 0);
	put(s, 10);
	if (gfx10)
		put(s, 0xc3b1);
}

static void put_register(struct stream *s, const struct launch *l, uint32_t number, uint32_t value)
{
	if (number == l->skip)
		return;
	put(s, PACKET(0x76, 2));
	put(s, number);
	put(s, value);
}

void put_launch(struct stream *s, const struct card *card, const struct launch *l)
{
	static const uint32_t zero_10[] = { 0x224, 0x225, 0x226, 0x227, 0x228, 0x22a, 0x27d };
	static const uint32_t ones[] = { 0x216, 0x217, 0x219, 0x21a, 0x226, 0x227, 0x228, 0x229 };
	/* four VGPRs, IEEE mode and DX10_CLAMP as compilers have it; gfx9: 16 SGPRs; gfx10: MEM_ORDERED */
	uint32_t rsrc1 = card->gfx10 ? 0x40ac0000 : 0x00ac0040;

	for (uint32_t i = 0; i < 3; i++) {
		put_register(s, l, 0x204 + i, 0);
		put_register(s, l, 0x207 + i, i ? 1 : l->size);
	}
	put_register(s, l, 0x20c, (uint32_t)(l->code >> 8));
	put_register(s, l, 0x20d, (uint32_t)(l->code >> 40));
	put_register(s, l, 0x212, rsrc1 | l->rsrc1);
	put_register(s, l, 0x213, l->user << 1 | 1u << 7 | l->rsrc2);
	put_register(s, l, 0x215, 0);
	for (size_t i = 0; i < (card->engines8 ? 8 : 4); i++)
		put_register(s, l, ones[i], 0xffffffff);
	put_register(s, l, 0x218, 0);
	for (size_t i = 0; i < 7 && card->gfx10; i++)
		put_register(s, l, zero_10[i], 0);
	if (card->gfx90a)
		put_register(s, l, 0x22d, 0);
	for (uint32_t i = 0; i < l->user; i++)
		put_register(s, l, 0x240 + i, l->data[i]);
	put(s, PACKET(0x15, 4));
	put(s, l->groups);
	put(s, 1);
	put(s, 1);
	put(s, (card->gfx10 ? 0x8005u : 0x45u) | l->initiator);
	put(s, PACKET(0x46, 1));
	put(s, 0x407);
}

int submit(struct card *card, struct stream *s, uint32_t ip, uint32_t flags, uint64_t *sequence)
{
	struct drm_amdgpu_bo_list_entry entries[MAX_MEM];
	struct drm_amdgpu_bo_list_in list = { .operation = ~0u,
					      .list_handle = ~0u,
					      .bo_number = card->count,
					      .bo_info_size = sizeof(entries[0]),
					      .bo_info_ptr = (uintptr_t)entries };
	struct drm_amdgpu_cs_chunk_ib ib = { .flags = flags, .va_start = s->mem->va, .ip_type = ip };
	struct drm_amdgpu_cs_chunk chunks[2] = {
		{ AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, (uintptr_t)&list },
		{ AMDGPU_CHUNK_ID_IB, sizeof(ib) / 4, (uintptr_t)&ib },
	};
	uint64_t unused;

	while (s->n & 7)
		put(s, ip == AMDGPU_HW_IP_DMA ? 0 : 0xffff1000);
	ib.ib_bytes = s->n * 4;
	for (uint32_t i = 0; i < card->count; i++)
		entries[i] = (struct drm_amdgpu_bo_list_entry){ card->mem[i].handle, 0 };
	return amdgpu_cs_submit_raw2(card->dev, card->ctx, 0, 2, chunks, sequence ? sequence : &unused);
}

int wait_for(struct card *card, uint32_t ip, uint64_t sequence, int64_t ns)
{
	struct amdgpu_cs_fence fence = { .context = card->ctx, .ip_type = ip, .fence = sequence };
	uint32_t ended = 0;
	int error = amdgpu_cs_query_fence_status(&fence, (uint64_t)ns, 0, &ended);

	return error ? error : !ended;
}

int run(struct card *card, struct stream *s)
{
	uint64_t sequence;
	int error = submit(card, s, AMDGPU_HW_IP_COMPUTE, 0, &sequence);

	return error ? error : wait_for(card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND);
}

/*
 * P_IDS: word of each lane at s[0:1] = its number (group in s2). The loads: the word at s[0:1] to the one at s[2:3], by
 * the vector cache, the scalar cache, or (GLC) around the former. P_LOOP: for ever. P_TIME: turns of six
 * instructions until 10,000 ticks of s_memrealtime have passed, and how many those were to the word at s[0:1].
 */
static const uint32_t code_9[][17] = {
	{ 0x8e038602, 0x68020003, 0x24040282, 0xdc708000, 0x00000102, 0xbf810000 },
	{ 0x7e000280, 0xdc508000, 0x01000000, 0xbf8c0f70, 0xdc708000, 0x00020100, 0xbf810000 },
	{ 0xc0020100, 0x00000000, 0x7e000280, 0xbf8cc07f, 0x7e020204, 0xdc708000, 0x00020100, 0xbf810000 },
	{ 0xbf82ffff },
	{ 0x7e000280, 0xdc518000, 0x01000000, 0xbf8c0f70, 0xdc708000, 0x00020100, 0xbf810000 },
	{ 0xbe860080, 0xc0940200, 0x00000000, 0xbf8cc07f, 0x80068106, 0xc0940280, 0x00000000, 0xbf8cc07f,
	  0x808a080a, 0xbf0aff0a, 0x00002710, 0xbf85fff8, 0x7e000280, 0x7e020206, 0xdc708000, 0x00000100,
	  0xbf810000 },
};

static const uint32_t code_10[][17] = {
	{ 0x8f038502, 0x4a020003, 0x34040282, 0xdc708000, 0x00000102, 0xbf810000 },
	{ 0x7e000280, 0xdc308000, 0x01000000, 0xbf8c3f70, 0xdc708000, 0x00020100, 0xbf810000 },
	{ 0xf4000100, 0xfa000000, 0x7e000280, 0xbf8cc07f, 0x7e020204, 0xdc708000, 0x00020100, 0xbf810000 },
	{ 0xbf82ffff },
	{ 0x7e000280, 0xdc318000, 0x01000000, 0xbf8c3f70, 0xdc708000, 0x00020100, 0xbf810000 },
	{ 0xbe860380, 0xf4940200, 0x00000000, 0xbf8cc07f, 0x80068106, 0xf4940280, 0x00000000, 0xbf8cc07f,
	  0x808a080a, 0xbf0aff0a, 0x00002710, 0xbf85fff8, 0x7e000280, 0x7e020206, 0xdc708000, 0x00000100,
	  0xbf810000 },
};

struct mem *programs(struct card *card)
{
	struct mem *mem = mem_new(card, 2 * PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RX);

	for (uint32_t i = 0; i < mem->size / 4; i++)
		mem->cpu[i] = 0xbf810000; /* s_endpgm */
	for (uint32_t i = 0; i < sizeof(code_9) / sizeof(*code_9); i++)
		memcpy(mem->cpu + 64 * i, card->gfx10 ? code_10[i] : code_9[i], sizeof(code_9[i]));
	return mem;
}

uint64_t program(const struct mem *code, enum program which)
{
	return code->va + 256u * which;
}

struct launch launch_new(const struct card *card, const struct mem *code, enum program which, uint64_t from,
			 uint64_t to)
{
	struct launch l = {
		.code = program(code, which), .groups = 1, .size = card->gfx10 ? 32 : 64, .user = 4
	};

	l.data[0] = (uint32_t)from;
	l.data[1] = (uint32_t)(from >> 32);
	l.data[2] = (uint32_t)to;
	l.data[3] = (uint32_t)(to >> 32);
	return l;
}

struct launch launch_ids(struct card *card, struct mem **out)
{
	struct mem *code = programs(card);
	struct launch l;

	*out = mem_new(card, 4 * PAGE, AMDGPU_GEM_DOMAIN_VRAM, 0, RW);
	l = launch_new(card, code, P_IDS, (*out)->va, 0);
	l.user = 2;
	return l;
}

int sim_main(Suite *suite, char **argv)
{
	const char *dir = getenv("LIBDRM_DIR");
	SRunner *runner;
	int failed;

	if (dir && !getenv("LIBDRM_DIR_DONE")) {
		setenv("LD_LIBRARY_PATH", dir, 1);
		setenv("LIBDRM_DIR_DONE", "1", 1);
		execv("/proc/self/exe", argv);
	}
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
