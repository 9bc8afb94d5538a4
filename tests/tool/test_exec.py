#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpgpu-bpf exec: the plugin contract of public test suites, on small programs whose r0 is known."""
import re
import struct

from tap import case, done, fails, shown, tool

MOV, MOVR, MOV32, ADD, ADDR, SUBR, MULR, DIVR, NEG, LSH = 0xb7, 0xbf, 0xb4, 0x07, 0x0f, 0x1f, 0x2f, 0x3f, 0x87, 0x67
LDXB, LDXH, LDXW, LDXDW, STXDW, STW, STXB, ATOMIC = 0x71, 0x69, 0x61, 0x79, 0x7b, 0x62, 0x73, 0xdb
JA, JEQ, JGT, JNE, CALL, EXIT, LDDW, BE, BSWAP = 0x05, 0x15, 0x25, 0x55, 0x85, 0x95, 0x18, 0xdc, 0xd7


def insn(code, dst=0, src=0, off=0, imm=0):
    return struct.pack('<BBhi', code, dst | src << 4, off, imm)


def program(*insns):
    return b''.join(insn(*i) for i in insns).hex()


def lddw(dst, value):
    low, high = struct.unpack('<ii', struct.pack('<Q', value))
    return (LDDW, dst, 0, 0, low), (0, 0, 0, 0, high)


def gives(name, r0, code, *args):
    r = tool('exec', *args, stdin=code)
    case(name, r.returncode == 0 and r.stdout == f'0x{r0:x}\n' and not r.stderr, shown(r))


END = (EXIT,)
M64 = (1 << 64) - 1
MEMORY = bytes(range(1, 33)).hex()

# name, r0, memory or None, instructions
ROWS = [
    ('a constant', 5, None, [(MOV, 0, 0, 0, 5), END]),
    ('a negative constant is extended', M64, None, [(MOV, 0, 0, 0, -1), END]),
    ('32 bits are not', 0xffffffff, None, [(MOV32, 0, 0, 0, -1), END]),
    ('64 bits', 0x1122334455667788, None, [*lddw(0, 0x1122334455667788), END]),
    ('no memory: r1 is 0', 0, None, [(MOVR, 0, 1), END]),
    ('no memory: r2 is 0', 0, None, [(MOVR, 0, 2), END]),
    ("r2 is the memory's length", 32, MEMORY, [(MOVR, 0, 2), END]),
    ('a byte of memory', 7, MEMORY, [(LDXB, 0, 1, 6), END]),
    ('16 bits of it', 0x0201, MEMORY, [(LDXH, 0, 1), END]),
    ('the last 32 bits', 0x201f1e1d, MEMORY, [(LDXW, 0, 1, 28), END]),
    ('64 bits, unaligned', 0x0908070605040302, MEMORY, [(LDXDW, 0, 1, 1), END]),
    ('a store and a load', 0x2a, MEMORY, [(STW, 1, 0, 4, 0x2a), (LDXW, 0, 1, 4), END]),
    ('memory by a length in r2', 0x20, MEMORY, [(ADDR, 1, 2), (LDXB, 0, 1, -1), END]),
    ('the stack', 99, None, [(MOV, 1, 0, 0, 99), (STXDW, 10, 1, -8), (LDXDW, 0, 10, -8), END]),
    ('the whole of the stack', 3, None, [(STW, 10, 0, -512, 3), (LDXW, 0, 10, -512), END]),
    ('a pointer kept in the stack', 2, MEMORY,
     [(STXDW, 10, 1, -8), (LDXDW, 3, 10, -8), (LDXB, 0, 3, 1), END]),
    ('an atomic that fetches', 41, None,
     [(MOV, 1, 0, 0, 41), (STXDW, 10, 1, -8), (MOV, 0, 0, 0, 1), (ATOMIC, 10, 0, -8, 1), END]),
    ('division by zero', 0, None, [(MOV, 0, 0, 0, 7), (MOV, 1), (DIVR, 0, 1), END]),
    ('the most negative number by -1', 1 << 63, None,
     [*lddw(0, 1 << 63), (MOV, 1, 0, 0, -1), (DIVR, 0, 1, 1), END]),
    ('a jump that is taken', 1, None, [(MOV, 0, 0, 0, 1), (JEQ, 0, 0, 1, 1), (MOV, 0, 0, 0, 2), END]),
    ('a jump that is not', 2, None, [(MOV, 0, 0, 0, 1), (JEQ, 0, 0, 1, 3), (MOV, 0, 0, 0, 2), END]),
    ('a loop', 5050, None,
     [(MOV, 0), (MOV, 1, 0, 0, 100), (ADDR, 0, 1), (ADD, 1, 0, 0, -1), (JNE, 1, 0, -3), END]),
    ('a function', 12, None,
     [(MOV, 1, 0, 0, 5), (CALL, 0, 1, 0, 2), (ADD, 0, 0, 0, 2), END, (MOVR, 0, 1), (ADDR, 0, 1), END]),
    ('a function keeps r6', 6, None,
     [(MOV, 6, 0, 0, 6), (CALL, 0, 1, 0, 2), (MOVR, 0, 6), END, (MOV, 0), (MOV, 6, 0, 0, 9), END]),
    ('bytes swapped', 0x8877665544332211, None, [*lddw(0, 0x1122334455667788), (BSWAP, 0, 0, 0, 64), END]),
    ('network order', 0x2211, None, [(MOV, 0, 0, 0, 0x1122), (BE, 0, 0, 0, 16), END]),
    ('a pointer less itself', 4, MEMORY, [(MOVR, 0, 1), (ADD, 0, 0, 0, 4), (SUBR, 0, 1), END]),
]
for name, r0, memory, insns in ROWS:
    gives(name, r0, program(*insns), *([memory] if memory else []))

# seven deep, with the kernel's own frame in front
deep = []
for depth in range(6):
    deep += [(CALL, 0, 1, 0, 2), (ADD, 0, 0, 0, 1), END]
gives('calls seven deep', 6, program(*[(c, d, s, o, 2 if c == CALL else i) for c, d, s, o, i in
                                      [(*x, 0, 0, 0, 0)[:5] for x in deep]], (MOV, 0), END))

small = program((MOV, 0, 0, 0, 5), END)
gives('--device cpu', 5, small, '--device', 'cpu')
gives('blanks and lines between bytes', 5, ' '.join(small[i:i + 2] for i in range(0, len(small), 2)) + '\n\n')
gives('capital digits', 0xabcdef, program((MOV, 0, 0, 0, 0xabcdef), END).upper())
gives('blanks in the memory', 2, program((LDXB, 0, 1, 1), END), '01 02 03 04')
gives('empty memory', 0, program((MOVR, 0, 2), END), '')
gives('a megabyte of zeros is not too much', 60000, program((MOVR, 0, 2), END), '00' * 60000)
r = tool('01020304', 'exec', stdin=program((LDXB, 0, 1, 2), END))
case('memory in front, as bpf_conformance calls', r.returncode == 0 and r.stdout == '0x3\n', shown(r))
r = tool('01020304', 'exec', '--device', 'cpu', stdin=program((LDXB, 0, 1, 2), END))
case('and with an option behind', r.returncode == 0 and r.stdout == '0x3\n', shown(r))


def refused(name, text, code, *args):
    fails(name, text, 'exec', *args, stdin=code)


refused('an instruction that there is not', '0: ', program((0xff,), END))
refused('uninitialised', 'r0 is', program((MOVR, 3, 0), END))
refused('r3 is not set', 'the program: r3 is', program((MOV, 1), (MOVR, 0, 3), END))
refused('a field that is not zero', '0: ', program((MOV, 0, 3, 0, 5), END))
refused('no exit', '0: ', program((MOV, 0)))
refused('an indirect call', '1: ', program((MOV, 2, 0, 0, 5), (0x8d, 0, 2), END))
refused('a write to r10', '0: ', program((MOV, 10), END))
refused('a helper that there is not', '99999', program((CALL, 0, 0, 0, 99999), END))
refused('a map: there are none', 'map', program(*[(LDDW, 0, 1, 0, 1), (0,)], END))
refused('a load behind the memory', '0: r0 = *(u32 *)(r1 +30): access out of bounds', program((LDXW, 0, 1, 30), END),
        MEMORY)
refused('a load in front of it', 'out of bounds', program((LDXB, 0, 1, -1), END), MEMORY)
refused('a load without memory', '0: ', program((LDXB, 0, 1), END))
refused('a load from a number', '1: ', program((MOV, 3, 0, 0, 4096), (LDXB, 0, 3), END))
refused('outside the stack', '0: ', program((STW, 10, 0, -516), (MOV, 0), END))
refused('a loop without an end', '2: if r0 != 0 goto -2 <1>: too many instructions', program((MOV, 0), (ADD, 0, 0, 0, 1), (JNE, 0, 0, -2), END))
r = tool('exec', stdin=program((MOV, 0), (CALL, 0, 1, 0, 1), END, (MOV, 0), (LDXB, 0, 10), END))
case('in a function, too', r.returncode == 1 and re.search(r'\b4: ', r.stderr), shown(r))

refused('no instructions', 'none on standard input', '')
refused('only blanks', 'none on standard input', ' \n')
refused('half an instruction', 'not a whole number', small[:8])
refused('an odd digit', 'odd number', small + '0')
refused('a byte of one digit', 'a byte has one digit', 'b 700000005000000' + '9500000000000000')
refused('no digits', "'x' is not a hexadecimal digit", '0x' + small)
refused('bytes that are no text', 'is not a hexadecimal digit', '\x01\x02' + small)
refused('too many instructions', 'instructions:', program((MOV, 0)) * 16384 + program(END))
refused('far too many', 'instructions:', '00' * (1 << 20))
refused('memory: no digits', "memory: 'g' is not a hexadecimal digit", small, '0g')
refused('memory: an odd digit', 'memory: an odd number', small, '012')
refused('two memories', 'one argument at most', small, '01', '02')
refused('a device that there is not', "no device named 'abacus'", small, '--device', 'abacus')
r = tool('exec', '--help')
case('--help', r.returncode == 0 and r.stdout.startswith('usage: gpgpu-bpf exec') and not r.stderr, shown(r))
r = tool('exec', '--nonsense', stdin=small)
case('an option that there is not: status 1', r.returncode == 1 and not r.stdout, shown(r))
done()
