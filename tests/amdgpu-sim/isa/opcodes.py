#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""opcodes.py LLVM-MC > opcodes.inc: which instructions each generation has.

Every opcode number of every encoding is fed to LLVM's disassembler with operand fields that can be told apart
in what it prints. One row comes out per instruction: the generations that have it, the encoding, the number, the
mnemonic, its operands as they are written, and which modifiers it takes. opcodes.h says what the letters mean.
"""

import re
import struct
import subprocess
import sys

CPUS = [('gfx900', ''), ('gfx906', ''), ('gfx908', ''), ('gfx90a', ''),
        ('gfx1030', '-wavefrontsize32,+wavefrontsize64')]
MARKS = 0xbf801234, 0xbf801235  # an instruction may take the first for its literal
LITERAL = 0x12345678
V = 256


def disassemble(samples, cpu, attr):
    """What is printed for each sample (a tuple of words); None where there is no such instruction."""
    def line(words):
        return ' '.join(f'0x{b:02x}' for w in words for b in struct.pack('<I', w & 0xffffffff))
    text = ''.join(f'{line(s)}\n{line(MARKS[:1])}\n{line(MARKS[1:])}\n' for s in samples)
    args = [sys.argv[1] if len(sys.argv) > 1 else 'llvm-mc-19', '-disassemble', '-arch=amdgcn', '-mcpu=' + cpu]
    run = subprocess.run(args + (['-mattr=' + attr] if attr else []), input=text, capture_output=True, text=True,
                         check=True)
    bad = {(int(m[1]) + 2) // 3 for m in re.finditer(r'<stdin>:(\d+):\d+: warning: invalid', run.stderr)}
    out, current = [], []
    for printed in run.stdout.split('\n'):
        printed = printed.strip()
        if printed == 's_nop 0x1235':
            good = len(current) == 2 and current[1] == 's_nop 0x1234' and len(out) + 1 not in bad
            out.append(current[0] if good and 'Invalid' not in current[0] else None)
            current = []
        elif printed and printed != '.text':
            current.append(printed)
    assert len(out) == len(samples)
    return out


def operands(text, fields, mask):
    """The operands of printed @text as letters; @fields: register number to letter."""
    words = []
    for token in text.split(', '):
        token = token.split(' ')[0].strip('-|')
        if token in ('off', 'null') or not re.fullmatch('vcc|0x12345678|[vsa][0-9[].*', token):
            continue  # what is the same for all of an encoding
        m = re.fullmatch(r'([vsa])(\d+)|([vsa])\[(\d+):(\d+)\]', token)
        if m:
            kind = m[1] or m[3]
            first = int(m[2] or m[4])
            size = int(m[5]) - first + 1 if m[5] else 1
            key = (kind if kind != 'a' else 'v', first)
            if key not in fields:
                return None
            letter = fields[key]
            words.append(letter + ('m' if mask and kind == 's' and size == 2 else str(size)) +
                         ('a' if kind == 'a' else ''))
        else:
            words.append('L' if token == hex(LITERAL) else token)
    return ' '.join(words)


class Encoding:
    """name; count of opcodes; make(cpu, op): list of (words, fields) to try in turn; probes: (flag, word, bits)."""
    def __init__(self, name, count, make, probes=(), mask=False):
        self.name, self.count, self.make, self.probes, self.mask = name, count, make, probes, mask


def gfx10(cpu):
    return cpu.startswith('gfx10')


SCALAR = {('s', 16): 'd', ('s', 32): 'a', ('s', 48): 'b'}
VECTOR = {('v', 12): 'd', ('s', 12): 'q', ('s', 0): 'p'}
for number, name in ((24, 'a'), (36, 'b'), (48, 'c')):
    VECTOR['v', number] = name
    VECTOR['s', number] = name


def vop3(base):
    def make(cpu, op):
        if op >= 0x380 and not gfx10(cpu):
            return
        for vdst in (12, 0):
            for n in (3, 2, 1, 0):
                for scalars in ((), (2,), (1,), (1, 2), (0,), (0, 1), (0, 1, 2)):
                    src = [0, 0, 0]
                    for i in range(n):
                        src[i] = (24, 36, 48)[i] + (0 if i in scalars else V)
                    if all(i < n for i in scalars):
                        yield (base[gfx10(cpu)] | op << 16 | vdst,
                               src[0] | src[1] << 9 | src[2] << 18), VECTOR
    return make


def vop3p(cpu, op):
    for n in (3, 2, 1):
        src = [V + 24, V + 36 if n > 1 else 0, V + 48 if n > 2 else 0]
        head = (0xcc000000 if gfx10(cpu) else 0xd3800000) | op << 16 | 12
        for one, two in ((0x4000, 3 << 27), (0, 3 << 27), (0, 1 << 27), (0, 0)):
            yield (head | one, src[0] | src[1] << 9 | src[2] << 18 | two), VECTOR


def one_word(base, shift, tail, shapes):
    def make(cpu, op):
        for bits in shapes:
            yield (base | op << shift | bits,) + tail, SCALAR
        yield (base | op << shift | 0x0801, LITERAL), SCALAR
    return make


def vector(base, shift, shapes, tail=()):
    def make(cpu, op):
        for bits in shapes:
            yield (base | op << shift | bits,) + tail, VECTOR
        if not tail:
            yield (base | op << shift | shapes[0], LITERAL), VECTOR
    return make


def smem(cpu, op):
    head = (0xf4000000 if gfx10(cpu) else 0xc0020000) | op << 18
    null = 0x7d << 25 if gfx10(cpu) else 0
    fields = {('s', 16): 'd', ('s', 32): 'S'}
    yield (head | 16 << 6 | 16, null), fields
    yield (head | 16, null), fields
    yield (head | 16 << 6, null), fields
    yield (head & ~0x20000 | 16 << 6, null), fields
    yield (head & ~0x20000, null), fields
    yield (head & ~0x20000, 0), fields


def ds(cpu, op):
    head = 0xd8000000 | op << (18 if gfx10(cpu) else 17)
    fields = {('v', 12): 'd', ('v', 24): 'A', ('v', 36): 'e', ('v', 48): 'f'}
    for dst in (12, 0):
        for addr in (24, 0):
            for one in (36, 0):
                for two in (48, 0):
                    yield (head, addr | one << 8 | two << 16 | dst << 24), fields


def flat(segment):
    def make(cpu, op):
        head = 0xdc000000 | op << 18 | segment << 14
        null = (0x7d if gfx10(cpu) else 0x7f) << 16
        fields = {('v', 12): 'd', ('v', 24): 'A', ('v', 36): 'e'}
        for dst, glc in ((0, 0), (12, 1 << 16), (12, 0)):
            for data in (36, 0):
                for addr in (24, 0):
                    for saddr in (null, 0):
                        yield (head | glc, addr | data << 8 | saddr | dst << 24), fields
    return make


def flat_returning(segment):
    def make(cpu, op):
        for words, fields in flat(segment)(cpu, op):
            if words[0] >> 16 & 1 and words[1] >> 24:
                yield words, fields
    return make


def mubuf(glc):
    def make(cpu, op):
        head = 0xe0000000 | op << 18 | glc << 14
        fields = {('v', 12): 'd', ('v', 24): 'A', ('s', 32): 'R', ('s', 48): 'O'}
        yield (head, 12 << 8 | 8 << 16 | 48 << 24), fields
        yield (head, 0), fields
    return make


MODS = [('n0', 1, 1 << 29), ('n1', 1, 1 << 30), ('n2', 1, 1 << 31), ('a0', 0, 1 << 8), ('a1', 0, 1 << 9),
        ('a2', 0, 1 << 10), ('clamp', 0, 1 << 15), ('omod', 1, 1 << 27), ('s0', 0, 1 << 11), ('s1', 0, 1 << 12),
        ('s2', 0, 1 << 13), ('sd', 0, 1 << 14)]
SDWA = [('n0', 1, 1 << 20), ('n1', 1, 1 << 28), ('a0', 1, 1 << 21), ('a1', 1, 1 << 29), ('x0', 1, 1 << 19),
        ('x1', 1, 1 << 27), ('clamp', 1, 1 << 13), ('omod', 1, 1 << 14)]
DPP = [('n0', 1, 1 << 20), ('n1', 1, 1 << 22), ('a0', 1, 1 << 21), ('a1', 1, 1 << 23)]
SDWA_TAIL = (24 | 6 << 8 | 6 << 16 | 6 << 24,)
SDWAC_TAIL = (24 | 6 << 16 | 6 << 24,)
DPP_TAIL = (24 | 0x1b << 8 | 0xff << 24,)

ENCODINGS = [
    Encoding('SOP1', 256, one_word(0xbe800000, 8, (), (16 << 16 | 32, 16 << 16, 32))),
    Encoding('SOP2', 0x60, one_word(0x80000000, 23, (), (16 << 16 | 48 << 8 | 32, 48 << 8 | 32))),
    Encoding('SOPK', 0x1d, one_word(0xb0000000, 23, (), (16 << 16 | 0x1234, 0x1234, 0x0801))),
    Encoding('SOPC', 128, one_word(0xbf000000, 16, (), (48 << 8 | 32,))),
    Encoding('SOPP', 128, one_word(0xbf800000, 16, (), (0x1, 0))),
    Encoding('VOP1', 256, vector(0x7e000000, 9, (12 << 17 | V + 24, 12 << 17 | 24, 0)), mask=True),
    Encoding('VOP2', 62, vector(0, 25, (12 << 17 | 36 << 9 | V + 24,)), mask=True),
    Encoding('VOPC', 256, vector(0x7c000000, 17, (36 << 9 | V + 24,)), mask=True),
    Encoding('VOP3', 1024, vop3((0xd0000000, 0xd4000000)), MODS, mask=True),
    Encoding('VOP3P', 128, vop3p, MODS[:7] + MODS[8:11]),
    Encoding('VOP1_SDWA', 256, vector(0x7e0000f9, 9, (12 << 17,), (24 | 6 << 8 | 6 << 16,)), SDWA, mask=True),
    Encoding('VOP2_SDWA', 62, vector(0xf9, 25, (12 << 17 | 36 << 9,), SDWA_TAIL), SDWA, mask=True),
    Encoding('VOPC_SDWA', 256, vector(0x7c0000f9, 17, (36 << 9,), SDWAC_TAIL), SDWA[:6], mask=True),
    Encoding('VOP1_DPP', 256, vector(0x7e0000fa, 9, (12 << 17,), DPP_TAIL), DPP, mask=True),
    Encoding('VOP2_DPP', 62, vector(0xfa, 25, (12 << 17 | 36 << 9,), DPP_TAIL), DPP, mask=True),
    Encoding('SMEM', 256, smem),
    Encoding('DS', 256, ds),
    Encoding('FLAT', 128, flat(0)),
    Encoding('FLAT_RTN', 128, flat_returning(0)),
    Encoding('SCRATCH', 128, flat(1)),
    Encoding('GLOBAL', 128, flat(2)),
    Encoding('GLOBAL_RTN', 128, flat_returning(2)),
    Encoding('MUBUF', 128, mubuf(0)),
]


def rows_of(encoding, cpu, attr):
    tries, where = [], []
    for op in range(encoding.count):
        if encoding.name == 'VOP2' and op == 0x3f:
            continue
        for words, fields in encoding.make(cpu, op):
            tries.append(words)
            where.append((op, fields))
    found = {}
    for words, (op, fields), text in zip(tries, where, disassemble(tries, cpu, attr)):
        if text and op not in found:
            name, _, rest = text.partition(' ')
            shape = operands(rest, fields, encoding.mask) if rest else ''
            if encoding.name == 'SOPP' and rest:
                shape = 'i'
            wanted = 'atomic' in name if encoding.name.endswith('RTN') else not name.startswith(('v_mfma', 'v_interp', 's_atc_probe', 's_waitcnt_depctr'))
            if shape is not None and wanted:
                found[op] = (words, name, shape)
    probes, owner = [], []
    for op, (words, name, shape) in found.items():
        for flag, word, bits in encoding.probes:
            changed = list(words)
            changed[word] ^= bits
            probes.append(tuple(changed))
            owner.append((op, flag))
    flags = {}
    plain = dict(zip(found, disassemble([w for w, _, _ in found.values()], cpu, attr)))
    for (op, flag), text in zip(owner, disassemble(probes, cpu, attr) if probes else []):
        if text and text != plain[op]:
            mark = {'n': '-' if encoding.name != 'VOP3P' else 'neg_lo', 'a': '|' if encoding.name != 'VOP3P'
                    else 'neg_hi', 'x': 'sext', 's': 'op_sel', 'c': 'clamp', 'o': 'mul:2'}[flag[0]]
            if mark in text:
                flags.setdefault(op, []).append(flag)
    return {op: (name, shape, ' '.join(flags.get(op, []))) for op, (_, name, shape) in found.items()}


def main():
    print('/* SPDX-License-Identifier: BSD-3-Clause */')
    print('/* Written by opcodes.py from what llvm-mc 19 prints; opcodes.h says what the columns are. */')
    print('/* clang-format off */')
    for encoding in ENCODINGS:
        merged = {}
        for bit, (cpu, attr) in enumerate(CPUS):
            for op, row in rows_of(encoding, cpu, attr).items():
                merged[op, row] = merged.get((op, row), 0) | 1 << bit
        for (op, (name, shape, flags)), cpus in sorted(merged.items(), key=lambda i: (i[0][0], i[1])):
            print(f'ROW(0x{cpus:02x}, {encoding.name}, 0x{op:03x}, "{name}", "{shape}", "{flags}")')


main()
