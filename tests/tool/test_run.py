#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpgpu-bpf run: verdicts, bytes and maps of a capture whose outcome is worked out here; files whole or not at all."""
import collections
import os
import random
import re
import struct
import tempfile

from tap import EXAMPLES, case, done, fails, line_of, path, read_pcap, shown, tool, write_pcap

SORT, MIXED = path('tool_sort.bpf.o'), path('tool_mixed.bpf.o')
VERDICTS = ['ABORTED', 'DROP', 'PASS', 'TX', 'REDIRECT']
rng = random.Random(7)
work = tempfile.TemporaryDirectory()


def here(name):
    return os.path.join(work.name, name)


def expected(frame):
    """What tool_sort.bpf.c does: verdict, frame, port."""
    what = frame[14] & 7 if len(frame) > 14 else None
    if what is None:
        return 'DROP', frame, 0
    if what == 3:
        return 'TX', b'\xaa' + frame[1:], 0
    if what == 4:
        return 'REDIRECT', frame, 7
    if what == 5:
        return 'PASS', None, 0  # four bytes of headroom in front
    if what == 6:
        return 'ABORTED', frame, 0
    if what == 7:
        return 'PASS', frame[:-1], 0
    return VERDICTS[what], frame, 0


frames = [bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]) + rng.randbytes(rng.randint(0, 200)) for _ in range(2500)]
write_pcap(here('in.pcap'), frames)
outcome = [expected(f) for f in frames]
verdicts = collections.Counter(o[0] for o in outcome)
counts = collections.Counter(f[14] & 7 for f in frames if len(f) > 14)


def run(name, *args):
    """Runs tool_sort on in.pcap and compares everything."""
    for old in ('out.pcap', 'results', 'maps'):
        if os.path.exists(here(old)):
            os.unlink(here(old))
    r = tool('run', *args, '--results', here('results'), '--maps-out', here('maps'), SORT, here('in.pcap'),
             here('out.pcap'))
    case(f'{name}: status 0', r.returncode == 0 and not r.stderr, shown(r))
    if r.returncode:
        return r
    with open(here('results')) as f:
        lines = f.read().split('\n')[:-1]
    wrong = [(i + 1, line, o[0]) for i, (line, o) in enumerate(zip(lines, outcome))
             if line.split()[:2] != [str(i + 1), o[0]] or line.split()[3:] != [str(o[2]), '0'] or
             (o[1] is not None and line.split()[2] != str(len(o[1])))]
    case(f'{name}: results', len(lines) == len(frames) and not wrong, wrong[:5])
    want = [(1000 + i, i, o[1], frames[i]) for i, o in enumerate(outcome) if o[0] in VERDICTS[2:]]
    got = read_pcap(here('out.pcap'))
    wrong = [(w, g) for w, g in zip(want, got)
             if w[:2] != g[:2] or (g[2] != w[2] if w[2] is not None else g[2][4:] != w[3])]
    case(f'{name}: frames with their times', len(want) == len(got) and not wrong, wrong[:3])
    with open(here('maps')) as f:
        maps = [line.split() for line in f]
    got = {int.from_bytes(bytes.fromhex(k), 'little'): int.from_bytes(bytes.fromhex(v), 'little')
           for n, k, v in maps if n == 'counts'}
    repeat = int(args[args.index('--repeat') + 1]) if '--repeat' in args else 1
    case(f'{name}: counters', got == {k: v * repeat for k, v in counts.items()}, got)
    lengths = {int.from_bytes(bytes.fromhex(k), 'little') for n, k, v in maps if n == 'lengths'}
    case(f'{name}: keys of a hash map', lengths == {len(f) for f in frames if len(f) > 14}, sorted(lengths))
    return r


r = run('as it is')
table = dict(re.findall(r'^(\w+) +([\d,]+) ', r.stdout, re.M))
case('the table of verdicts', all(int(table[v].replace(',', '')) == verdicts[v] for v in VERDICTS) and
     int(table['total'].replace(',', '')) == len(frames), shown(r))
run('order=flow', '--order', 'flow')
r = run('order=all', '--order', 'all')
with open(here('maps')) as f:
    lengths = {k: int.from_bytes(bytes.fromhex(v), 'little') for n, k, v in map(str.split, f) if n == 'lengths'}
last = {struct.pack('<I', len(f)).hex(): f[14] & 7 for f in frames if len(f) > 14}
case('in order the last frame of a length wins', lengths == last, lengths)
run('batches of 1', '--batch', '1', '--order', 'all')
run('batches of 7, one thread', '--batch', '7', '--threads', '1')
run('one batch of all', '--batch', '16384', '--stride', '512')
run('taking turns', '--interleave', '3', '--batch', '64')
r = run('repeated', '--repeat', '3', '--time', '--quiet')
case('--quiet prints no table, --time prints rates',
     'verdict' not in r.stdout and re.search(r'^7,500 packets in [\d,]+ batches', r.stdout, re.M) and
     re.search(r'^device time [\d.]+ ms: [\d.]+ ns a packet, [\d,]+ packets a second$', r.stdout, re.M), shown(r))

r = tool('run', '--quiet', '--dump', 'counts', SORT, here('in.pcap'), here('out.pcap'))
case('--dump prints a map', [line.split()[:2] for line in r.stdout.split('\n')[:-1]] ==
     [['counts', struct.pack('<I', k).hex()] for k in sorted(counts)], shown(r))
with open(here('conf'), 'w') as f:
    f.write('counts u32:0 = u64:1000000 # a start\n')
r = tool('run', '--quiet', '--map-config', here('conf'), '--dump', 'counts', SORT, here('in.pcap'), here('out.pcap'))
case('--map-config sets a map', f'counts 00000000 {struct.pack("<Q", 1000000 + counts[0]).hex()}\n' in r.stdout,
     shown(r))

for name, config in ('firewall', 'firewall.conf'), ('lb', 'lb.conf'):
    conf = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../guest-driver/examples', config)
    r = tool('run', '--map-config', conf, f'{EXAMPLES}/xdp_{name}.bpf.o', here('in.pcap'), here('out.pcap'))
    case(f'the example {name} with its maps', r.returncode == 0 and re.search(r'^total +2,500 ', r.stdout, re.M),
         shown(r))

def to(index, size):
    """A frame that tool_tail's start hands on to program @index."""
    return bytes([2, 0, 0, 0, 0, index]) + bytes(size - 6)


write_pcap(here('tail.pcap'), [to(0, 60), to(1, 60), to(1, 200), to(2, 60), to(9, 60), to(0, 300)])
r = tool('run', '--program', 'start', '--results', here('results'), '--dump', 'short_ones', '--dump', 'long_ones',
         path('tool_tail.bpf.o'), here('tail.pcap'), here('out.pcap'))
with open(here('results')) as f:
    got = [line.split()[1] for line in f]
case('tail calls through an array that is declared with programs',
     r.returncode == 0 and got == ['TX', 'PASS', 'PASS', 'DROP', 'DROP', 'TX'], shown(r) + str(got))
case('maps in a map that is declared with them',
     'short_ones 00000000 0200000000000000\nlong_ones 00000000 0200000000000000\n' in r.stdout, shown(r))
case('what programs print is shown', [line.split(': ', 1)[1] for line in r.stderr.split('\n')[:-1]] ==
     ["program 'second' prints: second: 60 bytes", "program 'second' prints: second: 200 bytes"], shown(r))

r = tool('run', '--records', here('records'), path('tool_ring.bpf.o'), here('tail.pcap'), here('out.pcap'))
with open(here('records')) as f:
    got = [line.split() for line in f]
case('--records writes what was put into a ring',
     r.returncode == 0 and sorted(g[2] for g in got if g[0] == 'ring') ==
     sorted(struct.pack('<II', n, 0x600d).hex() for n in (60, 60, 200, 60, 60, 300)) and
     '6 records, 0 more found no room\n' in r.stdout, shown(r) + str(got))
r = tool('run', '--entries', 'ring', '4096', '--repeat', '200', '--batch', '6', '--records', here('records'),
         path('tool_ring.bpf.o'), here('tail.pcap'), here('out.pcap'))
case('and after each batch, so that the next finds room', '1,200 records, 0 more found no room\n' in r.stdout, shown(r))

write_pcap(here('few.pcap'), frames[:3])
r = tool('run', '--program', 'faults', MIXED, here('few.pcap'), here('out.pcap'))
line = line_of('tool_mixed.bpf.c', '/* outside */')
case('a fault is shown with its instruction and source line',
     r.returncode == 0 and re.search(r'^3 packets faulted, the first is 1: access out of bounds at instruction \d+$',
                                     r.stdout, re.M) and
     re.search(rf'tool_mixed\.bpf\.c:{line}: return data\[1 << 20\]', r.stdout), shown(r))
write_pcap(here('none.pcap'), [])
r = tool('run', '--time', SORT, here('none.pcap'), here('out.pcap'))
case('a capture without frames', r.returncode == 0 and read_pcap(here('out.pcap')) == [], shown(r))

with open(here('kept'), 'w') as f:
    f.write('before')


def refused(name, text, *args, out='kept'):
    """Fails, and leaves nothing behind: neither a file of its own nor a changed one."""
    before = sorted(os.listdir(work.name))
    fails(name, text, 'run', *args, here(out))
    with open(here('kept')) as f:
        case(f'{name}: nothing is left', f.read() == 'before' and sorted(os.listdir(work.name)) == before)


fails('records that cannot be written', 'No such file', 'run', '--records', here('no/r'), SORT, here('in.pcap'),
      here('new.pcap'))
fails('no output file', 'a program, a capture to read and one to write', 'run', SORT, here('in.pcap'))
refused('a device that there is not', "no device named 'abacus'", '--device', 'abacus', SORT, here('in.pcap'))
refused('an object that there is not', 'none.o: No such file', 'none.o', here('in.pcap'))
refused('a capture that there is not', 'nothing.pcap: No such file', SORT, here('nothing.pcap'))
refused('a capture that is none', 'not a capture', SORT, SORT)
refused('several programs', 'say which: --program NAME', MIXED, here('in.pcap'))
refused('a program that there is not', "has no program 'x'", '--program', 'x', MIXED, here('in.pcap'))
refused('a kernel', 'has no XDP program', EXAMPLES + '/saxpy.bpf.o', here('in.pcap'))
refused('a refused program', 'bad_context: refused: 0: r0 = *(u32 *)(r1 +400)', '--program', 'bad_context', MIXED,
        here('in.pcap'))
refused('a map that cannot be', "map 'huge'", '--program', 'uses_huge', path('tool_maps.bpf.o'), here('in.pcap'))
with open(here('in.pcap'), 'rb') as f:
    whole = f.read()
with open(here('cut.pcap'), 'wb') as f:
    f.write(whole[:20000])
refused('a capture that is cut off', 'cut.pcap: frame', SORT, here('cut.pcap'))
with open(here('cut.pcap'), 'wb') as f:
    f.write(whole[:30])
refused('cut off in the first head', 'cut.pcap', SORT, here('cut.pcap'))
write_pcap(here('short.pcap'), [frames[0], b'\0' * 9])
refused('a frame without an Ethernet header', 'frame 2 has 9 bytes', SORT, here('short.pcap'))
write_pcap(here('long.pcap'), [frames[0], bytes(3000)])
refused('a frame that does not fit', 'frame 2 has 3000 bytes', SORT, here('long.pcap'))
with open(here('conf'), 'w') as f:
    f.write('counts u32:0 = u64:1\nnothing u32:1 = u64:2\n')
refused('maps of another program', "conf:2: the program has no map 'nothing'", '--map-config', here('conf'), SORT,
        here('in.pcap'))
with open(here('conf'), 'w') as f:
    f.write('counts u32:8 = u64:1\n')
refused('a key that an array does not have', "conf:1: map 'counts'", '--map-config', here('conf'), SORT,
        here('in.pcap'))
refused('no configuration', 'none.conf: No such file', '--map-config', here('none.conf'), SORT, here('in.pcap'))
refused('a map to dump that there is not', "--dump: the program has no map 'x'", '--dump', 'x', SORT, here('in.pcap'))
refused('an order that there is not', "'some' is none of", '--order', 'some', SORT, here('in.pcap'))
refused('a batch of none', '--batch: 0 is not between', '--batch', '0', SORT, here('in.pcap'))
refused('too large a batch', '--batch: 16385 is not between', '--batch', '16385', SORT, here('in.pcap'))
refused('a stride that is not a multiple of 64', '--stride: 100 is not', '--stride', '100', SORT, here('in.pcap'))
refused('a headroom larger than the slot', '--headroom: 256', '--stride', '256', SORT, here('in.pcap'))
refused('a seed that is no number', "--interleave: 'x' is not a number", '--interleave', 'x', SORT, here('in.pcap'))
refused('repeated never', '--repeat: 0', '--repeat', '0', SORT, here('in.pcap'))
fails('an output in a folder that there is not', 'No such file', 'run', SORT, here('in.pcap'), here('no/out.pcap'))
fails('results that cannot be written', 'No such file', 'run', '--results', here('no/r'), SORT, here('in.pcap'),
      here('new.pcap'))
case('and then there is no output either', not os.path.exists(here('new.pcap')))
r = tool('run', '--help')
case('--help', r.returncode == 0 and r.stdout.startswith('usage: gpgpu-bpf run') and not r.stderr, shown(r))
done()
