// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_syncookie - answers TCP connection requests in front of a server, and lets only real clients through.
 *
 * How it works: a SYN to a protected service (map services) is answered at once with a SYN-ACK whose
 * sequence number is a cookie, so that nothing has to be remembered about it. A client that exists
 * acknowledges it; if the cookie is right, its address goes to the table of the least recently used kind
 * (clients), and its connection is reset, so that it tries again and now reaches the server, as does all it
 * sends from then on. Everything else from unknown addresses to the service is dropped. (A reset costs one
 * round trip per client, and the server needs to know nothing of cookies.)
 *
 * The cookie is laid out as ever: 5 bits of a count of minutes, 3 bits for the client's segment size, 24
 * bits of SipHash-2-4 of addresses, ports, the client's sequence number and the former two, under a key of
 * 128 bits from the map keys. The current and the last minute are accepted. The minute comes from the map
 * clock, which user space sets.
 *
 * VLAN tags stay; IPv4 options and IPv6 extension headers are looked past in a request and are not in the
 * answer. Order matters to who is known already, and to nothing else.
 */
#include "rewrite.h"

#define MAX_SERVICES 256
#define MAX_CLIENTS  65536
#define MINUTE	     60000000000ull /* ns */
#define TCP_WINDOW   16384

enum { /* indices of `totals` */
       TOTAL_MALFORMED, /* dropped */
       TOTAL_OTHER, /* no protected service's: passed */
       TOTAL_FRAGMENT, /* to a protected address: dropped */
       TOTAL_KNOWN, /* passed */
       TOTAL_ANSWERED,
       TOTAL_GOOD, /* right cookie: reset, and known from now on */
       TOTAL_BAD, /* wrong or old cookie: dropped */
       TOTAL_UNKNOWN, /* neither a request nor an acknowledgement: dropped */
       TOTAL_NO_ROOM, /* dropped */
       NUM_TOTALS,
};

struct service_key {
	__be32 addr[4];
	__be16 port; /* 0: any */
	__u16 family;
};

struct client_key {
	__be32 addr[4];
	__u32 family;
};

struct client {
	__u64 since, packets;
};

struct secret {
	__u64 key[2];
};

struct segment {
	__u8 tags; /* VLAN tags */
	__u16 options, options_length; /* where they are in the frame */
	__u32 seq, ack;
	__u8 syn, has_ack, rst, fin;
};

/* A TCP header with room for the one option of an answer. */
struct answer {
	struct tcphdr tcp;
	__u8 kind, length;
	__be16 mss;
};

struct pseudo4 {
	__be32 src, dst;
	__u8 zero, proto;
	__be16 length;
};

struct pseudo6 {
	__be32 src[4], dst[4];
	__be32 length, proto;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SERVICES);
	__type(key, struct service_key);
	__type(value, __u32);
} services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_CLIENTS);
	__type(key, struct client_key);
	__type(value, struct client);
} clients SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct secret);
} keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NUM_TOTALS);
	__type(key, __u32);
	__type(value, struct count);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clock);
} clock SEC(".maps");

/* Segment sizes that the 3 bits of a cookie can say. */
static const __u16 mss_table[8] = { 216, 536, 1024, 1220, 1300, 1400, 1440, 1460 };

/* --------------------------------------------------------------------- SipHash */

struct sip {
	__u64 v0, v1, v2, v3;
};

static __always_inline __u64 rotate64(__u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static __always_inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotate64(s->v1, 13) ^ s->v0;
	s->v0 = rotate64(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate64(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate64(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate64(s->v1, 17) ^ s->v2;
	s->v2 = rotate64(s->v2, 32);
}

static __always_inline void sip_word(struct sip *s, __u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	sip_round(s);
	s->v0 ^= word;
}

/*
 * SipHash-2-4 of 48 bytes: both addresses, the ports, the client's sequence number, minute and segment
 * size. A global function: it is there once, and the kernel's verifier looks at it once.
 */
__noinline __u64 sip_flow(const struct secret *key, const struct flow *f, __u32 seq, __u32 minute_mss)
{
	struct sip s;

	if (!key || !f)
		return 0;
	s = (struct sip){ key->key[0] ^ 0x736f6d6570736575, key->key[1] ^ 0x646f72616e646f6d,
			  key->key[0] ^ 0x6c7967656e657261, key->key[1] ^ 0x7465646279746573 };
	for (int i = 0; i < 4; i += 2)
		sip_word(&s, (__u64)f->src[i + 1] << 32 | f->src[i]);
	for (int i = 0; i < 4; i += 2)
		sip_word(&s, (__u64)f->dst[i + 1] << 32 | f->dst[i]);
	sip_word(&s, (__u64)seq << 32 | (__u32)f->dport << 16 | f->sport);
	sip_word(&s, minute_mss);
	/* The last block has no bytes but the length. */
	sip_word(&s, 48ull << 56);
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* The cookie of a client's first sequence number. */
static __always_inline __u32 cookie(const struct secret *key, const struct flow *f, __u32 seq, __u32 minute,
				    __u32 mss_index)
{
	__u32 top = (minute & 31) << 3 | mss_index;

	return top << 24 | (sip_flow(key, f, seq, top) & 0xffffff);
}

/* --------------------------------------------------------------------- parsing */

/*
 * The client's segment size from the options of a request; 536 if it says nothing, or if the packet ends within them. This
 * is a global function that has the packet's bytes copied, two at a time, since a pointer that moves through a packet by
 * what it finds there is more than the kernel's verifier has patience for. An array of all options, on the other hand,
 * would be indexed by what is in them, and on a GPU the stack could not stay in registers.
 */
__noinline __u32 parse_mss(struct xdp_md *ctx, __u32 offset, __u32 length)
{
	__u8 option[2] = { 0 };
	__u32 at = 0;

	if (!length || length > 40 || bpf_xdp_load_bytes(ctx, offset + length - 1, option, 1))
		return 536;
	/* One that begins with the last byte says nothing. */
	for (int i = 0; i < 10 && at + 2 <= length; i++) {
		if (bpf_xdp_load_bytes(ctx, offset + at, option, 2))
			break;
		if (option[0] == 1) {
			at++;
			continue;
		}
		if (option[0] == 2 && option[1] == 4 && at + 4 <= length &&
		    !bpf_xdp_load_bytes(ctx, offset + at + 2, option, 2))
			return option[0] << 8 | option[1];
		if (option[0] == 0 || option[1] < 2)
			break;
		at += option[1];
	}
	return 536;
}

/* Return: the largest size of the table that the client takes; global for the verifier's sake as well. */
__noinline __u32 mss_index(__u32 mss)
{
	__u32 index = 0;

#pragma unroll
	for (int i = 1; i < 8; i++) {
		if (mss >= mss_table[i])
			index = i;
	}
	return index;
}

/* Return: 0, or -1 if the packet ends too early. */
static __always_inline int parse_segment(const struct cursor *c, const void *data, struct segment *s)
{
	struct tcphdr *tcp = c->pos;
	__u32 length;

	if ((void *)(tcp + 1) > c->end)
		return -1;
	length = tcp->doff * 4;
	if (length < sizeof(*tcp))
		return -1;
	s->seq = bpf_ntohl(tcp->seq);
	s->ack = bpf_ntohl(tcp->ack_seq);
	s->syn = tcp->syn;
	s->has_ack = tcp->ack;
	s->rst = tcp->rst;
	s->fin = tcp->fin;
	s->options = (void *)(tcp + 1) - data;
	s->options_length = length - sizeof(*tcp);
	return 0;
}

/* -------------------------------------------------------------------- answering */

static __always_inline void turn_ethernet(struct ethhdr *eth)
{
	__u8 mac[ETH_ALEN];

	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
}

/* Writes IP and TCP of an answer at @pos, for which the frame has room. @size: of TCP. Return: 0, or -1. */
static __always_inline int put_answer4(void *pos, void *end, const struct flow *f, struct answer *a,
				       __u32 size)
{
	struct pseudo4 pseudo = { f->dst[0], f->src[0], 0, IPPROTO_TCP, bpf_htons(size) };
	struct iphdr ip;
	__s64 sum;

	sum = bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);
	sum = bpf_csum_diff(0, 0, (__be32 *)a, size, sum);
	a->tcp.check = checksum_fold(sum);
	outer_ipv4(&ip, IPPROTO_TCP, size, f->dst[0], f->src[0]);
	if (pos + sizeof(ip) + size > end)
		return -1;
	copy_header(pos, &ip, sizeof(ip));
	copy_header(pos + sizeof(ip), a, size);
	return 0;
}

static __always_inline int put_answer6(void *pos, void *end, const struct flow *f, struct answer *a,
				       __u32 size)
{
	struct pseudo6 pseudo = { .length = bpf_htonl(size), .proto = bpf_htonl(IPPROTO_TCP) };
	struct ipv6hdr ip;
	__s64 sum;

	__builtin_memcpy(pseudo.src, f->dst, sizeof(pseudo.src));
	__builtin_memcpy(pseudo.dst, f->src, sizeof(pseudo.dst));
	sum = bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);
	sum = bpf_csum_diff(0, 0, (__be32 *)a, size, sum);
	a->tcp.check = checksum_fold(sum);
	outer_ipv6(&ip, IPPROTO_TCP, size, f->dst, f->src);
	if (pos + sizeof(ip) + size > end)
		return -1;
	copy_header(pos, &ip, sizeof(ip));
	copy_header(pos + sizeof(ip), a, size);
	return 0;
}

/*
 * Makes the frame an answer. @size: of TCP, known at compile time; @bytes: of the frame as it is. Return:
 * 0, or -1 if there is no room.
 */
static __always_inline int send_answer(struct xdp_md *ctx, const struct flow *f, const struct segment *s,
				       struct answer *a, __u32 size, __u64 bytes)
{
	__u32 length = sizeof(struct ethhdr) + s->tags * sizeof(struct vlan_tag) + size;
	void *data, *end, *pos;

	length += f->family == ETH_P_IP ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	if (bpf_xdp_adjust_tail(ctx, (int)(length - bytes)))
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + sizeof(struct ethhdr) > end)
		return -1;
	turn_ethernet(data);
	pos = data + sizeof(struct ethhdr) + (s->tags & 3) * sizeof(struct vlan_tag);
	return f->family == ETH_P_IP ? put_answer4(pos, end, f, a, size) : put_answer6(pos, end, f, a, size);
}

static __always_inline int answer_request(struct xdp_md *ctx, const struct flow *f, const struct segment *s,
					  const struct secret *key, __u32 minute, __u64 bytes)
{
	struct answer a = { .kind = 2, .length = 4 };
	__u32 index = mss_index(parse_mss(ctx, s->options, s->options_length));

	a.tcp.source = f->dport;
	a.tcp.dest = f->sport;
	a.tcp.seq = bpf_htonl(cookie(key, f, s->seq, minute, index));
	a.tcp.ack_seq = bpf_htonl(s->seq + 1);
	a.tcp.doff = sizeof(a) / 4;
	a.tcp.syn = 1;
	a.tcp.ack = 1;
	a.tcp.window = bpf_htons(TCP_WINDOW);
	a.mss = f->family == ETH_P_IP ? bpf_htons(1460) : bpf_htons(1440);
	if (send_answer(ctx, f, s, &a, sizeof(a), bytes) < 0) {
		count(&totals, TOTAL_NO_ROOM, bytes);
		return XDP_DROP;
	}
	count(&totals, TOTAL_ANSWERED, bytes);
	return XDP_TX;
}

static __always_inline int check_cookie(struct xdp_md *ctx, const struct flow *f, const struct segment *s,
					const struct secret *key, __u64 now, __u64 bytes)
{
	__u32 got = s->ack - 1, minute = now / MINUTE, age = (minute - (got >> 27)) & 31;
	struct client_key who = { .family = f->family };
	struct client fresh = { .since = now };
	struct answer a = { 0 };

	/* A cookie of the last minute has the last minute's count in it, so its own count is the one to use. */
	if (age > 1 || cookie(key, f, s->seq - 1, got >> 27, got >> 24 & 7) != got) {
		count(&totals, TOTAL_BAD, bytes);
		return XDP_DROP;
	}
	__builtin_memcpy(who.addr, f->src, sizeof(who.addr));
	bpf_map_update_elem(&clients, &who, &fresh, BPF_NOEXIST);
	a.tcp.source = f->dport;
	a.tcp.dest = f->sport;
	a.tcp.seq = bpf_htonl(s->ack);
	a.tcp.doff = sizeof(a.tcp) / 4;
	a.tcp.rst = 1;
	if (send_answer(ctx, f, s, &a, sizeof(a.tcp), bytes) < 0) {
		count(&totals, TOTAL_NO_ROOM, bytes);
		return XDP_DROP;
	}
	count(&totals, TOTAL_GOOD, bytes);
	return XDP_TX;
}

static __always_inline __u32 *find_service(const struct flow *f)
{
	struct service_key key = { .family = f->family, .port = f->dport };
	__u32 *service;

	__builtin_memcpy(key.addr, f->dst, sizeof(key.addr));
	service = bpf_map_lookup_elem(&services, &key);
	if (service)
		return service;
	key.port = 0;
	return bpf_map_lookup_elem(&services, &key);
}

static __always_inline int handle_segment(struct xdp_md *ctx, const struct flow *f, const struct segment *s,
					  __u64 bytes)
{
	struct client_key who = { .family = f->family };
	struct client *client;
	struct secret *key;
	__u32 zero = 0;
	__u64 now;

	__builtin_memcpy(who.addr, f->src, sizeof(who.addr));
	client = bpf_map_lookup_elem(&clients, &who);
	if (client) {
		__sync_fetch_and_add(&client->packets, 1);
		count(&totals, TOTAL_KNOWN, bytes);
		return XDP_PASS;
	}
	key = bpf_map_lookup_elem(&keys, &zero);
	if (!key)
		return XDP_ABORTED;
	now = clock_now(&clock);
	if (s->syn && !s->has_ack && !s->rst && !s->fin)
		return answer_request(ctx, f, s, key, now / MINUTE, bytes);
	if (s->has_ack && !s->syn && !s->rst)
		return check_cookie(ctx, f, s, key, now, bytes);
	count(&totals, TOTAL_UNKNOWN, bytes);
	return XDP_DROP;
}

SEC("xdp")
int syn_cookie(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	__u64 bytes = ctx->data_end - ctx->data;
	void *data = c.pos;
	struct segment s = { 0 };
	struct flow f = { 0 };
	__u16 proto, tags;
	int r = 0;

	if (parse_ethernet(&c, &proto, &tags) < 0)
		goto malformed;
	s.tags = tags;
	if (proto == ETH_P_IP)
		r = parse_ipv4(&c, &f);
	else if (proto == ETH_P_IPV6)
		r = parse_ipv6(&c, &f);
	if (r < 0 || parse_ports(&c, &f) < 0)
		goto malformed;
	if (f.proto != IPPROTO_TCP || !find_service(&f)) {
		count(&totals, TOTAL_OTHER, bytes);
		return XDP_PASS;
	}
	/* Nobody honest sends TCP in pieces. */
	if (f.fragment) {
		count(&totals, TOTAL_FRAGMENT, bytes);
		return XDP_DROP;
	}
	if (parse_segment(&c, data, &s) < 0)
		goto malformed;
	return handle_segment(ctx, &f, &s, bytes);

malformed:
	count(&totals, TOTAL_MALFORMED, bytes);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
