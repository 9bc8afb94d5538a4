#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpgpu-bpf check: what is accepted and what it costs, what is refused and why."""
import glob
import re
import tempfile

from tap import EXAMPLES, case, done, fails, line_of, path, shown, tool

COST = re.compile(r'^  x86_64: [\d,]+ bytes of code, [\d,]+ bytes of stack, [\d.]+ ms to compile$', re.M)

r = tool('check', path('tool_sort.bpf.o'))
case('a good object: status 0, accepted, with costs',
     r.returncode == 0 and 'sort (xdp, ' in r.stdout and ': accepted\n' in r.stdout and COST.search(r.stdout) and
     not r.stderr, shown(r))

r = tool('check', path('tool_mixed.bpf.o'))
case('one refused program of several: status 1', r.returncode == 1 and not r.stderr, shown(r))
case('the others are accepted',
     len(re.findall(r': accepted$', r.stdout, re.M)) == 2 and len(COST.findall(r.stdout)) == 2, shown(r))
case('the refused ones are named', re.findall(r': (\w+) \(xdp, \d+ instructions\): refused$', r.stdout, re.M) ==
     ['bad_context', 'bad_helper'], shown(r))
case('the instruction is shown, and the rule',
     re.search(r'^  0: r0 = \*\(u32 \*\)\(r1 \+400\): .*context', r.stdout, re.M), shown(r))
line = line_of('tool_mixed.bpf.c', '/* refused */')
case('its source line is shown',
     re.search(rf'tool_mixed\.bpf\.c:{line}: return \*\(volatile int \*\)\(\(char \*\)ctx \+ 400\);', r.stdout),
     shown(r))
case('a helper that is not offered is named', 'bpf_get_current_pid_tgid' in r.stdout, shown(r))

r = tool('check', '--program', 'good', path('tool_mixed.bpf.o'))
case('--program looks at that one only', r.returncode == 0 and 'bad' not in r.stdout and 'good (xdp' in r.stdout,
     shown(r))
r = tool('check', '--program', 'bad_context', path('tool_mixed.bpf.o'))
case('--program of a refused one: status 1', r.returncode == 1 and 'good' not in r.stdout, shown(r))

r = tool('check', path('tool_maps.bpf.o'))
case('a map that cannot be is named, programs without it go on',
     r.returncode == 1 and re.search(r"^  map 'huge': .*limit", r.stdout, re.M) and 'uses_none (xdp' in r.stdout and
     len(COST.findall(r.stdout)) == 1, shown(r))

r = tool('check', '--device', 'cpu', path('tool_sort.bpf.o'))
case('--device cpu', r.returncode == 0, shown(r))

GPU = re.compile(r'^  gfx1030: [\d,]+ bytes of code, \d+ VGPRs, \d+ SGPRs, [\d,]+ bytes of scratch(, \d+ spilled)?, '
                 r'[\d.]+ ms to compile$', re.M)
r = tool('check', '--target', 'gfx1030', path('tool_sort.bpf.o'))
case('--target: what it costs on a GPU that is not there', r.returncode == 0 and len(COST.findall(r.stdout)) == 1 and
     len(GPU.findall(r.stdout)) == 1, shown(r))
r = tool('check', '--target', 'gfx803', path('tool_sort.bpf.o'))
case('--target that nothing is known of: status 1', r.returncode == 1 and r.stderr, shown(r))
r = tool('check', '--device', 'amdgpu:/nowhere', path('tool_sort.bpf.o'))
case('--device amdgpu that is not there: one line, status 1', r.returncode == 1 and '/nowhere' in r.stderr and
     r.stderr.count('\n') == 1, shown(r))

examples = sorted(glob.glob(EXAMPLES + '/*.bpf.o'))
r = tool('check', *examples)
case('all examples at once are accepted', r.returncode == 0 and len(COST.findall(r.stdout)) >= len(examples) > 5,
     shown(r))
for example in examples:
    case(f'example {example.rsplit("/", 1)[1]} is accepted',
         re.search(rf'^{re.escape(example)}: \w+ \((xdp|gpgpu), [\d,]+ instructions\): accepted$', r.stdout, re.M),
         shown(r))
r = tool('check', path('tool_sort.bpf.o'), path('tool_mixed.bpf.o'), path('tool_tail.bpf.o'))
case('a refused program in one of several objects: status 1, the others are looked at',
     r.returncode == 1 and len(COST.findall(r.stdout)) == 6, shown(r))
r = tool('check', '--entries', 'huge', '16', path('tool_maps.bpf.o'))
case('--entries sets the size of a map', r.returncode == 0 and len(COST.findall(r.stdout)) == 2, shown(r))

r = tool('check', path('tool_xsk.bpf.o'))
case('a kind of map that devices do not have is named',
     r.returncode == 1 and "  map 'sockets': devices have no maps of type 17 (xskmap)\n" in r.stdout, shown(r))

fails('a device that there is not', "no device named 'abacus'", 'check', '--device', 'abacus', path('tool_sort.bpf.o'))
fails('a file that there is not', 'none.o: No such file', 'check', 'none.o')
fails('a folder', 'not a regular file', 'check', '/')
fails('no file', 'an object is needed', 'check')
fails('--entries without a number', 'NAME and a number', 'check', '--entries', 'huge')
fails('--entries with a word', "'x' is not a number", 'check', '--entries', 'huge', 'x', path('tool_maps.bpf.o'))
fails('a program that there is not', "has no program 'sart'", 'check', '--program', 'sart', path('tool_sort.bpf.o'))
with tempfile.NamedTemporaryFile(suffix='.o') as f:
    fails('an empty file', f.name, 'check', f.name)
    f.write(b'int main(void) { return 0; }\n' * 20)
    f.flush()
    fails('a file that is no object', f.name, 'check', f.name)
fails('an object of another machine', 'gpgpu-bpf:', 'check', '/proc/self/exe')
with open(path('tool_sort.bpf.o'), 'rb') as whole, tempfile.NamedTemporaryFile(suffix='.o') as f:
    f.write(whole.read()[:900])
    f.flush()
    fails('half an object', f.name, 'check', f.name)

r = tool('check', '--help')
case('--help', r.returncode == 0 and r.stdout.startswith('usage: gpgpu-bpf check') and not r.stderr, shown(r))
r = tool('check', '--nonsense', path('tool_sort.bpf.o'))
case('an option that there is not: status 1', r.returncode == 1 and not r.stdout, shown(r))
fails('a command that there is not', "'chuck' is no command", 'chuck')
r = tool()
case('no command: usage, status 1', r.returncode == 1 and r.stderr.startswith('usage:') and not r.stdout, shown(r))
done()
