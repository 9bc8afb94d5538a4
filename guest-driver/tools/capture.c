// SPDX-License-Identifier: BSD-3-Clause
/*
 * capture.c - captures of Ethernet frames, by libpcap.
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <string.h>

#include "capture.h"
#include "tool.h"

#define MAX_FRAME 262144 /* what tcpdump calls unlimited */

void capture_open(struct capture *c, const char *path)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	FILE *f = fopen(path, "re");
	pcap_t *pcap;
	int type;

	if (!f)
		die("%s: %s", path, strerror(errno));
	pcap = pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, error);
	if (!pcap)
		die("%s: not a capture: %s", path, error);
	type = pcap_datalink(pcap);
	if (type != DLT_EN10MB)
		die("%s: a capture of %s, not of Ethernet", path,
		    pcap_datalink_val_to_name(type) ? pcap_datalink_val_to_name(type) : "something unknown");
	*c = (struct capture){ .path = path, .pcap = pcap };
}

int capture_next(struct capture *c, struct frame *frame)
{
	struct pcap_pkthdr *header;
	int r = pcap_next_ex(c->pcap, &header, &frame->bytes);

	if (r == PCAP_ERROR_BREAK)
		return 0;
	if (r != 1)
		die("%s: frame %llu: %s", c->path, (unsigned long long)c->frames + 1, pcap_geterr(c->pcap));
	frame->seconds = (uint64_t)header->ts.tv_sec;
	frame->nanoseconds = (uint64_t)header->ts.tv_usec; /* asked for when it was opened */
	frame->captured = header->caplen;
	frame->length = header->len;
	c->frames++;
	c->cut += frame->captured < frame->length;
	return 1;
}

void capture_close(struct capture *c)
{
	pcap_close(c->pcap);
}

void *capture_writer(FILE *f, const char *path)
{
	pcap_t *dead =
		pcap_open_dead_with_tstamp_precision(DLT_EN10MB, MAX_FRAME, PCAP_TSTAMP_PRECISION_NANO);
	pcap_dumper_t *dumper = dead ? pcap_dump_fopen(dead, f) : NULL;

	if (!dumper)
		die("%s: %s", path, dead ? pcap_geterr(dead) : "out of memory");
	/* The dumper keeps nothing of it but the stream. */
	pcap_close(dead);
	return dumper;
}

void capture_write(void *writer, const struct frame *frame)
{
	struct pcap_pkthdr header = {
		.ts = { .tv_sec = (time_t)frame->seconds, .tv_usec = (suseconds_t)frame->nanoseconds },
		.caplen = frame->captured,
		.len = frame->length,
	};

	pcap_dump(writer, &header, frame->bytes);
}
