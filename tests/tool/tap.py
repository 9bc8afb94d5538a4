# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of gpgpu-bpf share: cases as TAP, running the command, captures."""
import os
import struct
import subprocess
import sys

TOOL, OBJECTS, EXAMPLES = sys.argv[1:4]
number = 0


def case(name, good, why=''):
    global number
    number += 1
    for line in str(why).split('\n') if why and not good else []:
        print('# ' + line)
    print(f'{"ok" if good else "not ok"} {number} {name}', flush=True)


def done():
    print(f'1..{number}')


def tool(*args, stdin=''):
    r = subprocess.run([TOOL, *args], input=stdin, capture_output=True, text=True, errors='replace', check=False)
    # What a sanitizer says of itself when packets take turns.
    r.stderr = ''.join(line for line in r.stderr.splitlines(True) if 'ASan doesn\'t fully support' not in line)
    return r


def shown(r):
    return f'status {r.returncode}\n{r.stdout}{r.stderr}'


def fails(name, text, *args, stdin=''):
    """One line on standard error that says TEXT, status 1, nothing on standard output."""
    r = tool(*args, stdin=stdin)
    lines = r.stderr.rstrip('\n').split('\n')
    case(name, r.returncode == 1 and len(lines) == 1 and text in r.stderr and not r.stdout, shown(r))
    return r


def path(name):
    return os.path.join(OBJECTS, name)


def line_of(source, text):
    """Number of the line of a test's object that has TEXT."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, 'objects', source)) as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


def write_pcap(to, frames):
    with open(to, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        for i, frame in enumerate(frames):
            f.write(struct.pack('<IIII', 1000 + i, i, len(frame), len(frame)) + frame)


def read_pcap(name):
    with open(name, 'rb') as f:
        data = f.read()
    frames, at = [], 24
    while at < len(data):
        seconds, nanos, size, _ = struct.unpack_from('<IIII', data, at)
        frames.append((seconds, nanos, data[at + 16:at + 16 + size]))
        at += 16 + size
    return frames
