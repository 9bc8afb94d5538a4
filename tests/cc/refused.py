#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""refused.py GPGPU-CC INCLUDE FOLDER: every source of the folder is refused, as its comments say, as TAP.

A comment "refused: WORDS" asks for an error of the line that it is on (or, alone on a line, of the next) with these words. No
other line may have an error, and no object may be left.
"""

import os
import re
import subprocess
import sys
import tempfile


def wanted(source):
    """Line -> words."""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        match = re.search(r'/\* refused: (.*?) \*/', line)
        if match:
            found[number + (not line[:match.start()].strip())] = match[1]
    return found


def complaints(tool, include, path, output):
    run = subprocess.run([tool, '-I' + include, path, '-o', output], capture_output=True, text=True, check=False)
    want = wanted(open(path, encoding='utf-8').read())
    got = {}
    for line in run.stderr.splitlines():
        match = re.match(re.escape(path) + r':(\d+):(?:\d+:)? error: (.*)', line)
        if match:
            got.setdefault(int(match[1]), []).append(match[2])
        elif ' error: ' in line:
            yield f'no place: {line}'
    if run.returncode != 1:
        yield f'status {run.returncode}'
    if os.path.exists(output):
        yield 'it left an object'
    if not want:
        yield 'it does not say what is refused'
    for number in sorted(set(want) | set(got)):
        if number not in want:
            yield f'line {number}: {got[number]}'
        elif not any(want[number] in text for text in got.get(number, [])):
            yield f'line {number}: {got.get(number)}, not: {want[number]}'


def main():
    tool, include, folder = sys.argv[1:4]
    failed = False
    names = sorted(name for name in os.listdir(folder) if name.endswith('.c'))
    with tempfile.TemporaryDirectory() as work:
        for number, name in enumerate(names, 1):
            bad = list(complaints(tool, include, os.path.join(folder, name), os.path.join(work, 'out.o')))
            for line in bad:
                print('# ' + line)
            print(f'{"not ok" if bad else "ok"} {number} - {name}')
            failed |= bool(bad)
    print(f'1..{len(names)}')
    return failed or not names


if __name__ == '__main__':
    sys.exit(main())
