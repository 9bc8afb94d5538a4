// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_vxlan - a VXLAN gateway for XDP (RFC 7348): joins VLANs of a local network to segments of an overlay.
 *
 * How it works: a frame from the local network belongs to a segment (VNI) by its outer VLAN tag (map
 * segments; no tag is VLAN 0). The destination's address is looked up in the forwarding table (fdb), first
 * what was configured, then what was learned, then the segment's entry for everybody else (address zero);
 * that names the remote end. The tag goes, and the frame travels behind outer Ethernet, IPv4 or IPv6, UDP
 * and VXLAN headers, with the hash of its flow as the source port. XDP cannot copy a frame, so what is for
 * all goes to the one end that the last entry names, which is expected to spread it; without such an entry
 * the kernel gets it.
 *
 * A frame from the overlay is UDP to port 4789 of an address of ours (map locals). It loses its outer
 * headers and gets the VLAN tag of its segment (map vlans). Where learning is on, the sender's address is
 * put down with the end it came from.
 *
 * Both leave by bpf_redirect(): to the overlay's port or the local network's. Learning makes frames depend
 * on those before them; without it order does not matter.
 */
#include <stdbool.h>
#include <stddef.h>
#include "rewrite.h"

#define MAX_SEGMENTS  4096
#define MAX_FDB	      16384
#define MAX_LEARNED   65536
#define VXLAN_PORT    4789
#define VXLAN_VNI     0x08000000 /* the flag: there is a VNI */

#define REMOTE_IPV6   1 /* flag: the end is reached by IPv6 */
#define SETTING_LEARN 1

enum { /* indices of `totals` */
       TOTAL_MALFORMED, /* dropped */
       TOTAL_NO_SEGMENT, /* passed */
       TOTAL_UNKNOWN, /* passed: nobody has the destination's address */
       TOTAL_TOO_LONG, /* dropped: would not fit through the overlay */
       TOTAL_NO_ROOM, /* dropped */
       TOTAL_ENCAPSULATED,
       TOTAL_DECAPSULATED,
       TOTAL_LEARNED,
       TOTAL_BAD_VXLAN, /* dropped: for us, but no VXLAN */
       TOTAL_UNKNOWN_VNI, /* dropped */
       TOTAL_FRAGMENT, /* of an outer packet: passed, the kernel puts it together */
       NUM_TOTALS,
};

struct settings {
	__be32 local4, local6[4]; /* outer source addresses */
	__u8 dst_mac[ETH_ALEN], src_mac[ETH_ALEN]; /* to the next hop */
	__u32 overlay_port, local_port;
	__u32 mtu; /* of the overlay; 0: no limit */
	__u32 flags; /* SETTING_* */
};

struct fdb_key {
	__u32 vni;
	__u8 mac[ETH_ALEN];
	__u16 pad;
};

struct remote {
	__be32 addr[4];
	__u32 flags; /* REMOTE_* */
};

struct local_key {
	__be32 addr[4];
	__u32 family;
};

struct vxlan_header {
	__be32 flags;
	__be32 vni; /* upper 24 bits */
};

struct outer4 {
	__u16 pad; /* lets the rest be aligned; the frame begins behind it */
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	struct vxlan_header vxlan;
	struct ethhdr inner;
};

struct outer6 {
	__u16 pad;
	struct ethhdr eth;
	struct ipv6hdr ip;
	struct udphdr udp;
	struct vxlan_header vxlan;
	struct ethhdr inner;
};

#define OUTER4 ((int)(offsetof(struct outer4, inner) - offsetof(struct outer4, eth)))
#define OUTER6 ((int)(offsetof(struct outer6, inner) - offsetof(struct outer6, eth)))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SEGMENTS);
	__type(key, __u32); /* VLAN */
	__type(value, __u32); /* VNI */
} segments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SEGMENTS);
	__type(key, __u32); /* VNI */
	__type(value, __u32); /* VLAN; 0: no tag */
} vlans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FDB);
	__type(key, struct fdb_key);
	__type(value, struct remote);
} fdb SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_LEARNED);
	__type(key, struct fdb_key);
	__type(value, struct remote);
} learned SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct local_key);
	__type(value, __u32);
} locals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NUM_TOTALS);
	__type(key, __u32);
	__type(value, struct count);
} totals SEC(".maps");

static __always_inline int drop(__u32 why, __u64 bytes)
{
	count(&totals, why, bytes);
	return XDP_DROP;
}

static __always_inline int pass(__u32 why, __u64 bytes)
{
	count(&totals, why, bytes);
	return XDP_PASS;
}

/* ----------------------------------------------------------------- local side */

static __always_inline struct remote *find_remote(__u32 vni, const __u8 mac[ETH_ALEN])
{
	struct fdb_key key = { .vni = vni };
	struct remote *r;

	__builtin_memcpy(key.mac, mac, ETH_ALEN);
	r = bpf_map_lookup_elem(&fdb, &key);
	if (r)
		return r;
	r = bpf_map_lookup_elem(&learned, &key);
	if (r)
		return r;
	__builtin_memset(key.mac, 0, ETH_ALEN);
	return bpf_map_lookup_elem(&fdb, &key);
}

static __always_inline __u16 flow_source(const struct ethhdr *eth, const struct flow *f)
{
	__u32 hash = 0x76786c61, words[3];

	__builtin_memcpy(words, eth, sizeof(words));
#pragma unroll
	for (int i = 0; i < 3; i++)
		hash = hash_word(hash, words[i]);
#pragma unroll
	for (int i = 0; i < 4; i++)
		hash = hash_word(hash_word(hash, f->src[i]), f->dst[i]);
	hash = hash_word(hash, (__u32)f->sport << 16 | f->dport);
	return 0xc000 | (hash_finish(hash) & 0x3fff);
}

/* @tag: bytes of the tag that goes; the frame's length is that without. */
static __always_inline int encapsulate4(struct xdp_md *ctx, const struct settings *s, const struct remote *to,
					__u32 vni, __u16 sport, const struct ethhdr *inner, __u16 length,
					int tag)
{
	__u16 payload = length + sizeof(struct vxlan_header);
	struct outer4 o;
	void *data;

	outer_ethernet(&o.eth, s->dst_mac, s->src_mac, ETH_P_IP);
	outer_ipv4(&o.ip, IPPROTO_UDP, payload + sizeof(o.udp), s->local4, to->addr[0]);
	outer_udp(&o.udp, sport, VXLAN_PORT, payload);
	o.vxlan = (struct vxlan_header){ bpf_htonl(VXLAN_VNI), bpf_htonl(vni << 8) };
	o.inner = *inner;
	if (bpf_xdp_adjust_head(ctx, tag ? (int)sizeof(struct vlan_tag) - OUTER4 : -OUTER4))
		return -1;
	data = (void *)(long)ctx->data;
	if (data + OUTER4 + sizeof(o.inner) > (void *)(long)ctx->data_end)
		return -1;
	copy_header(data, &o.eth, OUTER4 + sizeof(o.inner));
	return 0;
}

static __always_inline int encapsulate6(struct xdp_md *ctx, const struct settings *s, const struct remote *to,
					__u32 vni, __u16 sport, const struct ethhdr *inner, __u16 length,
					int tag)
{
	__u16 payload = length + sizeof(struct vxlan_header);
	struct outer6 o;
	void *data;

	outer_ethernet(&o.eth, s->dst_mac, s->src_mac, ETH_P_IPV6);
	outer_ipv6(&o.ip, IPPROTO_UDP, payload + sizeof(o.udp), s->local6, to->addr);
	outer_udp(&o.udp, sport, VXLAN_PORT, payload);
	o.vxlan = (struct vxlan_header){ bpf_htonl(VXLAN_VNI), bpf_htonl(vni << 8) };
	o.inner = *inner;
	if (bpf_xdp_adjust_head(ctx, tag ? (int)sizeof(struct vlan_tag) - OUTER6 : -OUTER6))
		return -1;
	data = (void *)(long)ctx->data;
	if (data + OUTER6 + sizeof(o.inner) > (void *)(long)ctx->data_end)
		return -1;
	copy_header(data, &o.eth, OUTER6 + sizeof(o.inner));
	return 0;
}

static __always_inline int from_local(struct xdp_md *ctx, const struct settings *s, const struct flow *f,
				      __u64 bytes)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct vlan_tag *tag = data + sizeof(struct ethhdr);
	struct ethhdr *eth = data, inner;
	__u32 vlan = 0, length = bytes, *vni;
	struct remote *to;
	bool tagged;
	int r;

	if ((void *)(eth + 1) > end)
		return drop(TOTAL_MALFORMED, bytes);
	inner = *eth;
	tagged = inner.h_proto == bpf_htons(ETH_P_8021Q);
	if (tagged) {
		if ((void *)(tag + 1) > end)
			return drop(TOTAL_MALFORMED, bytes);
		vlan = bpf_ntohs(tag->tci) & 0xfff;
		inner.h_proto = tag->next_proto;
		length -= sizeof(*tag);
	}
	vni = bpf_map_lookup_elem(&segments, &vlan);
	if (!vni)
		return pass(TOTAL_NO_SEGMENT, bytes);
	to = find_remote(*vni, inner.h_dest);
	if (!to)
		return pass(TOTAL_UNKNOWN, bytes);
	if (s->mtu && length + (to->flags & REMOTE_IPV6 ? OUTER6 : OUTER4) - sizeof(*eth) > s->mtu)
		return drop(TOTAL_TOO_LONG, bytes);
	if (to->flags & REMOTE_IPV6)
		r = encapsulate6(ctx, s, to, *vni, flow_source(&inner, f), &inner, length, tagged);
	else
		r = encapsulate4(ctx, s, to, *vni, flow_source(&inner, f), &inner, length, tagged);
	if (r < 0)
		return drop(TOTAL_NO_ROOM, bytes);
	count(&totals, TOTAL_ENCAPSULATED, bytes);
	return bpf_redirect(s->overlay_port, 0);
}

/* --------------------------------------------------------------- overlay side */

static __always_inline void learn(const struct ethhdr *inner, __u32 vni, const struct flow *outer,
				  __u64 bytes)
{
	struct remote from = { .flags = outer->family == ETH_P_IPV6 ? REMOTE_IPV6 : 0 }, *known;
	struct fdb_key key = { .vni = vni };

	/* Of several nobody can be the sender. */
	if (inner->h_source[0] & 1)
		return;
	__builtin_memcpy(key.mac, inner->h_source, ETH_ALEN);
	__builtin_memcpy(from.addr, outer->src, sizeof(from.addr));
	known = bpf_map_lookup_elem(&learned, &key);
	if (known && known->flags == from.flags && known->addr[0] == from.addr[0] &&
	    known->addr[1] == from.addr[1] && known->addr[2] == from.addr[2] &&
	    known->addr[3] == from.addr[3])
		return;
	if (!bpf_map_update_elem(&learned, &key, &from, BPF_ANY))
		count(&totals, TOTAL_LEARNED, bytes);
}

/* Puts a tag behind the addresses of a frame that begins at ctx->data. Return: 0, or -1 if there is no room. */
static __always_inline int add_tag(struct xdp_md *ctx, const struct ethhdr *inner, __u32 vlan)
{
	struct vlan_tag *tag;
	struct ethhdr *eth;

	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*tag)))
		return -1;
	eth = (void *)(long)ctx->data;
	tag = (void *)(eth + 1);
	if ((void *)(tag + 1) > (void *)(long)ctx->data_end)
		return -1;
	*eth = *inner;
	eth->h_proto = bpf_htons(ETH_P_8021Q);
	tag->tci = bpf_htons(vlan & 0xfff);
	tag->next_proto = inner->h_proto;
	return 0;
}

/* @at: bytes in front of the VXLAN header. */
static __always_inline int decapsulate(struct xdp_md *ctx, const struct settings *s, const struct flow *outer,
				       __u32 at, __u64 bytes)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct vxlan_header *vxlan;
	struct ethhdr inner;
	__u32 vni, *vlan;

	/* Outer options are rare, and those that want them look at them in the kernel. */
	if (at != sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct udphdr) &&
	    at != sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + sizeof(struct udphdr))
		return XDP_PASS;
	vxlan = data + at;
	if ((void *)(vxlan + 1) + sizeof(inner) > end)
		return drop(TOTAL_BAD_VXLAN, bytes);
	if (!(vxlan->flags & bpf_htonl(VXLAN_VNI)))
		return drop(TOTAL_BAD_VXLAN, bytes);
	vni = bpf_ntohl(vxlan->vni) >> 8;
	copy_header(&inner, vxlan + 1, sizeof(inner));
	vlan = bpf_map_lookup_elem(&vlans, &vni);
	if (!vlan)
		return drop(TOTAL_UNKNOWN_VNI, bytes);
	if (s->flags & SETTING_LEARN)
		learn(&inner, vni, outer, bytes);
	if (bpf_xdp_adjust_head(ctx, (int)(at + sizeof(*vxlan))))
		return drop(TOTAL_NO_ROOM, bytes);
	if (*vlan && add_tag(ctx, &inner, *vlan) < 0)
		return drop(TOTAL_NO_ROOM, bytes);
	count(&totals, TOTAL_DECAPSULATED, bytes);
	return bpf_redirect(s->local_port, 0);
}

/* Return: whether UDP is for an end of ours; later fragments may be, and are the kernel's anyway. */
static __always_inline bool is_local(const struct flow *f)
{
	struct local_key key = { .family = f->family };

	if (f->fragment != FRAGMENT_LATER && f->dport != bpf_htons(VXLAN_PORT))
		return false;
	__builtin_memcpy(key.addr, f->dst, sizeof(key.addr));
	return bpf_map_lookup_elem(&locals, &key);
}

SEC("xdp")
int vxlan_gateway(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	void *data = c.pos;
	__u64 bytes = ctx->data_end - ctx->data;
	struct flow f = { 0 };
	struct settings *s;
	__u16 proto, tags;
	__u32 zero = 0;
	int r = -1;

	s = bpf_map_lookup_elem(&settings, &zero);
	if (!s)
		return XDP_ABORTED;
	if (parse_ethernet(&c, &proto, &tags) < 0)
		return drop(TOTAL_MALFORMED, bytes);
	/* What is inside matters to us for the hash only, until it is known to be for us. */
	if (proto == ETH_P_IP)
		r = parse_ipv4(&c, &f);
	else if (proto == ETH_P_IPV6)
		r = parse_ipv6(&c, &f);
	if (!r)
		r = parse_ports(&c, &f);
	if (r < 0 || tags || f.proto != IPPROTO_UDP || !is_local(&f))
		return from_local(ctx, s, &f, bytes);
	if (f.fragment)
		return pass(TOTAL_FRAGMENT, bytes);
	return decapsulate(ctx, s, &f, c.pos + sizeof(struct udphdr) - data, bytes);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
