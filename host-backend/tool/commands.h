/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commands.h - the commands of gpgpu-bpf. argv[0] is the command's own name; they return the exit status.
 */
#ifndef GPGPU_BPF_COMMANDS_H
#define GPGPU_BPF_COMMANDS_H

int cmd_check(int argc, char **argv);
int cmd_disasm(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_run(int argc, char **argv);

#endif
