#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpgpu-bpf disasm: every instruction once and in order, and beside it code that is its own."""
import re
import struct

from tap import EXAMPLES, case, done, fails, line_of, path, shown, tool

LEFT = 46
INSN = re.compile(r'^ *(\d+): \S')
CODE = re.compile(r'^ *([0-9a-f]+): [a-z.]')


def listing(text):
    """{number: [(address, text)]} of one program's listing, and the numbers in their order."""
    code, order = {}, []
    for line in text.split('\n'):
        left, right = line[:LEFT], line[LEFT:]
        if INSN.match(left) and (len(line) <= LEFT or CODE.match(right) or not left.startswith(' ' * 7)):
            order.append(int(INSN.match(left)[1]))
            code[order[-1]] = []
        m = CODE.match(right)
        if m and order:
            code[order[-1]].append((int(m[1], 16), right[m.end() - 1:]))
    return code, order


def elf_section(name, section):
    """Bytes of a section of an object."""
    with open(name, 'rb') as f:
        data = f.read()
    off, = struct.unpack_from('<Q', data, 40)
    size, count, names = struct.unpack_from('<HHH', data, 58)
    headers = [struct.unpack_from('<IIQQQQ', data, off + i * size) for i in range(count)]
    for h in headers:
        at = headers[names][4] + h[0]
        if data[at:data.index(b'\0', at)].decode() == section:
            return data[h[4]:h[4] + h[5]]
    return b''


def slots(code):
    """Numbers that instructions have: ld_imm64 takes two."""
    at = 0
    while at < len(code):
        yield at // 8
        at += 16 if code[at] == 0x18 else 8


r = tool('disasm', path('tool_sort.bpf.o'))
case('status 0', r.returncode == 0 and not r.stderr, shown(r))
code, order = listing(r.stdout)
want = list(slots(elf_section(path('tool_sort.bpf.o'), 'xdp')))
case('each instruction once, in order', order == want, f'{order}\nnot\n{want}')
text = {n: line for n in order for line in re.findall(rf'^ *{n}: (.*?)(?:  .*)?$', r.stdout, re.M)[:1]}


def has_code(what, machine):
    """Each instruction that is WHAT has code in which there is MACHINE."""
    found = [n for n in order if what in text[n]]
    case(f'the code of {what}: {machine}', found and all(any(machine in t for _, t in code[n]) for n in found),
         [(n, text[n], code[n]) for n in found])


has_code('lock ', 'lock')
has_code('call bpf_xdp_adjust_head#44', 'cmp')
has_code('call bpf_map_update_elem#2', 'call')
addresses = [a for c in code.values() for a, _ in c]
case('no code is listed twice', len(addresses) == len(set(addresses)), sorted(addresses))
head = re.search(r'^sort \(xdp\): (\d+) instructions, ([\d,]+) bytes of code for x86_64$', r.stdout, re.M)
tail = re.search(r'^([\d,]+) bytes are of these instructions, ([\d,]+) of the loop over packets', r.stdout, re.M)
case('sizes are said', head and tail, shown(r))
total, mine, others = (int(x.replace(',', '')) for x in (head[2], tail[1], tail[2]))
case('and add up', total == mine + others and mine > 0 and others > 0, (total, mine, others))
case('all addresses lie in the code', max(addresses) < total, (max(addresses), total))
check = tool('check', path('tool_sort.bpf.o')).stdout
case('check says the same size', f'{head[2]} bytes of code' in check, check)
case('maps are named', '= map counts' in r.stdout and 'seen' not in r.stdout.split('= map counts')[0][-40:], shown(r))
case('helpers are named', 'call bpf_map_lookup_elem#1' in r.stdout and 'call bpf_redirect#23' in r.stdout, shown(r))
line = line_of('tool_sort.bpf.c', 'data[0] = 0xaa')
case('source lines are above', re.search(rf'^; .*tool_sort\.bpf\.c:{line}: data\[0\] = 0xaa;$', r.stdout, re.M),
     shown(r))
stores = [n for n in order if re.match(r'\*\(u8 \*\)\(r\d \+0\) = ', text[n])]
case("the store's code stores", len(stores) == 1 and any('mov byte ptr' in t for _, t in code[stores[0]]), stores)
case('a jump says where it goes', re.search(r'goto \+\d+ <\d+>', r.stdout), shown(r))

r = tool('disasm', path('tool_mixed.bpf.o'))
case('a refused program is shown with the reason: status 1',
     r.returncode == 1 and re.search(r'^bad_context: refused: 0: ', r.stdout, re.M) and
     re.search(r'^ +0: r0 = \*\(u32 \*\)\(r1 \+400\)$', r.stdout, re.M), shown(r))
case('functions have their names', '\ntwice:\n' in r.stdout and 'call twice <' in r.stdout, shown(r))
r = tool('disasm', '--program', 'faults', path('tool_mixed.bpf.o'))
case('--program shows that one only', r.returncode == 0 and 'good' not in r.stdout, shown(r))
r = tool('disasm', '--bpf', path('tool_mixed.bpf.o'))
case('--bpf shows no code',
     r.returncode == 0 and 'bytes of code' not in r.stdout and not any(CODE.match(s[LEFT:]) and s[LEFT - 1] == ' '
                                                                        for s in r.stdout.split('\n') if len(s) > LEFT
                                                                        and not s.startswith(';')), shown(r))
r = tool('disasm', EXAMPLES + '/sha256.bpf.o')
code, order = listing(r.stdout)
case('a kernel of thousands of instructions, many of which have code',
     r.returncode == 0 and len(order) > 2000 and 'loop over work items' in r.stdout and
     sum(bool(c) for c in code.values()) * 3 > len(order), shown(r)[-2000:])

fails('a file that there is not', 'none.o: No such file', 'disasm', 'none.o')
fails('no file', 'one object is needed', 'disasm')
fails('a device that there is not', "no device named 'abacus'", 'disasm', '--device', 'abacus', path('tool_sort.bpf.o'))
fails('a program that there is not', "has no program 'x'", 'disasm', '--program', 'x', path('tool_sort.bpf.o'))
fails('a file that is no object', 'gpgpu-bpf:', 'disasm', __file__)
r = tool('disasm', '--help')
case('--help', r.returncode == 0 and r.stdout.startswith('usage: gpgpu-bpf disasm'), shown(r))
done()
