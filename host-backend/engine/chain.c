/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain.c - packets through a program, and through those that it tail-calls.
 *
 * How it works: a program that makes no tail calls runs over its packets in one call. One that does is called with one
 * packet at a time; a tail call ends it with GP_FAULT_TAIL and says which element of which map is meant, and
 * the program that is found there goes on with the packet as it was left, with maps, fuel and log of its own.
 * The run-time library counts and refuses the 34th in a row, so a chain is GP_MAX_TAIL + 1 programs at most.
 *
 * A slice that is to end soon ends between two packets, not inside a chain; one that is to end now ends the program
 * that runs, and its packet. Programs in a map are kept until the slice has ended (retire.c).
 *
 * Threads: device threads; no lock.
 */
#include "job.h"
#include "map.h"

GP_CALLS_AN_IMAGE static uint64_t call(const struct gp_program *prog, const struct gp_env *env,
				       struct gp_thread *thread, const struct gp_packet_in *in,
				       struct gp_packet_out *out, uint64_t first, uint64_t count,
				       struct gp_faults *faults)
{
	const struct gp_image *image = gp_image_best(prog->image);
	gp_xdp_entry *entry = (gp_xdp_entry *)((uintptr_t)image->code + image->entry);

	return entry(env, thread, in, out, first, count, faults);
}

/* Keeps in mind that @prog may have left records or lines. */
static void note(struct gpgpu_session *s, struct gp_chunk *chunk, struct gp_program *prog)
{
	if (!prog->has_records && !prog->log)
		return;
	for (uint32_t i = 0; i < chunk->num_others; i++)
		if (chunk->others[i] == prog)
			return;
	if (chunk->num_others < GP_CHUNK_OTHERS) {
		chunk->others[chunk->num_others++] = prog;
		return;
	}
	gp_records_tell(s, prog);
	gp_prints_show(s, prog);
}

static void abort_packet(struct gp_packet_out *out, struct gp_faults *faults, uint32_t reason)
{
	out->verdict = XDP_ABORTED;
	out->egress_port = 0;
	out->fault = (uint16_t)reason;
	out->fault_insn = 0;
	*faults = (struct gp_faults){ .count = 1, .reason = reason };
}

/* Return: whether the packet was run; not so if the slice was to end before. */
static bool run_chain(const struct gp_job *job, struct gp_chunk *chunk, const struct gp_env *env,
		      struct gp_thread *thread, uint64_t item)
{
	struct gp_packet_out *out = &job->out[item];
	struct gp_program *prog = job->prog;
	struct gp_faults faults = { 0 };
	struct gp_env own = *env;
	struct gp_packet_in in;

	if (!call(prog, env, thread, job->in, job->out, item, 1, &faults))
		return false;
	own.slots = env->slots + item * env->stride;
	own.stop = env->stop + 1;
	while (out->fault == GP_FAULT_TAIL) {
		prog = gp_tail_target(prog, out->egress_port, out->fault_insn);
		faults = (struct gp_faults){ 0 };
		if (!prog) {
			/* It went after the program had seen it. */
			abort_packet(out, &faults, VIRTIO_GPGPU_R_MAP_REF);
			break;
		}
		in = (struct gp_packet_in){
			.data_off = out->data_off,
			.data_len = out->data_len,
			.meta_len = out->meta_len,
			.rx_queue = job->in[item].rx_queue,
			.ingress_port = job->in[item].ingress_port,
		};
		gp_program_env(prog, &own);
		own.tail_calls++;
		if (!call(prog, &own, thread, &in, out, 0, 1, &faults))
			abort_packet(out, &faults, VIRTIO_GPGPU_R_OUT_OF_FUEL);
		note(job->session, chunk, prog);
	}
	faults.first = item;
	gp_faults_add(&chunk->faults, &faults);
	return true;
}

uint64_t gp_packets_run(const struct gp_job *job, struct gp_chunk *chunk, const struct gp_env *env,
			struct gp_thread *thread, uint64_t first, uint64_t count)
{
	struct gp_faults faults = { 0 };
	uint64_t ran;

	if (!job->prog->tail_calls) {
		ran = call(job->prog, env, thread, job->in, job->out, first, count, &faults);
		gp_faults_add(&chunk->faults, &faults);
		return ran;
	}
	for (ran = 0; ran < count && run_chain(job, chunk, env, thread, first + ran); ran++)
		;
	return ran;
}
