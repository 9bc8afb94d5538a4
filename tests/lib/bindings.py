#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""bindings.py LIBRARY HEADER MAP CLANG BINDING.CC KERNELS.PY EXAMPLES: the library as others see it; TAP.

What it exports is what its header declares and its version script lists, each with a version; C++ and Python can use it. No
device is needed.
"""
import os
import re
import subprocess
import sys
import tempfile

LIBRARY, HEADER, MAP, CLANG, BINDING, KERNELS, EXAMPLES = sys.argv[1:8]
number = 0


def case(name, good, why=''):
    global number
    number += 1
    for line in why.rstrip('\n').split('\n') if why and not good else []:
        print('# ' + line)
    print(f'{"ok" if good else "not ok"} {number} {name}', flush=True)


def run(*args, **env):
    return subprocess.run(args, capture_output=True, text=True, check=False, env={**os.environ, **env})


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def same(name, a, b):
    case(name, a == b, f'only in one: {sorted(a ^ b)}')


def main():
    saxpy = os.path.join(EXAMPLES, 'saxpy.bpf.o')
    declared = set(re.findall(r'^[a-z][\w ]*[ *](gpgpu_\w+)\(', read(HEADER), re.M))
    listed = set(re.findall(r'^\t(gpgpu_\w+);', read(MAP), re.M))
    symbols = run('nm', '-D', '--defined-only', '--with-symbol-versions', LIBRARY).stdout
    exported = dict(re.findall(r' [TDRB] (\w+)@@(\w+\.\d+)$', symbols, re.M))
    same('what the header declares is in the version script', declared, listed)
    same('and is what the library exports', declared, set(exported))
    case('each of it has a version', set(exported.values()) == {'GPGPU_0.1'}, symbols)
    soname = re.search(r'SONAME\s+(\S+)', run('objdump', '-p', LIBRARY).stdout)
    case('the library has a name to link by', bool(soname) and soname.group(1) == 'libgpgpu.so.0')

    with tempfile.TemporaryDirectory() as work:
        program, folder = os.path.join(work, 'binding'), os.path.dirname(os.path.abspath(LIBRARY))
        flags = ['-I' + os.path.dirname(HEADER), '-Wall', '-Wextra', '-Wpedantic', '-Werror']
        r = run(CLANG, '-x', 'c++', '-std=c++17', '-fno-exceptions', '-fno-rtti', *flags, '-c', BINDING,
                '-o', program + '.o')
        case('C++ takes the header, and the sizes are those that were', r.returncode == 0, r.stderr)
        # Linked as C: there is nothing of C++ in it but the language.
        r = run(CLANG, program + '.o', LIBRARY, '-Wl,-rpath,' + folder, '-o', program)
        case('what C++ makes links', r.returncode == 0, r.stderr)
        r = run(program, saxpy)
        case('and runs', r.returncode == 0 and r.stdout == 'saxpy from C++\n', r.stdout + r.stderr)

    r = run(sys.executable, KERNELS, saxpy, LIBGPGPU=LIBRARY)
    case('Python reads an object', r.stdout == 'saxpy(x: buffer, only read, of u32; y: buffer of u32; a: u64)\n',
         r.stdout + r.stderr)
    r = run(sys.executable, KERNELS, LIBRARY, LIBGPGPU=LIBRARY)
    case('and has an error in words', r.returncode == 1 and 'not a BPF object' in r.stderr, r.stdout + r.stderr)
    r = run(sys.executable, KERNELS, saxpy, '--saxpy', '4', LIBGPGPU=LIBRARY)
    case('it runs a kernel, or says that there is no device',
         r.stdout.endswith('\n0.5 2.5 4.5 6.5\n') if r.returncode == 0 else 'no GPGPU device' in r.stderr
         or 'permission denied' in r.stderr, r.stdout + r.stderr)
    print(f'1..{number}')


main()
