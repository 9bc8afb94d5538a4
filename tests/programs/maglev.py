#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""maglev.py EXAMPLES: that rings made by EXAMPLES/maglev are what Maglev promises, as TAP."""

import collections
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

sys.dont_write_bytecode = True
EXAMPLES = sys.argv[1]
SCRIPT = os.path.join(EXAMPLES, 'maglev')
loader = importlib.machinery.SourceFileLoader('maglev', SCRIPT)
maglev = importlib.util.module_from_spec(importlib.util.spec_from_loader('maglev', loader))
loader.exec_module(maglev)


def even():
    """Every server has its part of the places, by weight, to within a place per turn."""
    for reals in ([(n, 1) for n in range(1, 9)], [(1, 2), (2, 3), (9, 1)]):
        places = collections.Counter(maglev.ring(reals))
        total = sum(w for _, w in reals)
        for real, weight in reals:
            assert abs(places[real] - maglev.SIZE * weight / total) <= weight + 1, (real, places)


def disruption():
    """Without one of ten servers its places go to others, and few of the others' do."""
    reals = [(n, 1) for n in range(1, 11)]
    before = maglev.ring(reals)
    for gone in range(1, 11):
        after = maglev.ring([r for r in reals if r[0] != gone])
        assert gone not in after
        moved = sum(b != gone and a != b for a, b in zip(after, before))
        assert moved < maglev.SIZE / 20, (gone, moved)


def spread():
    """A server's places are not one behind the other: its neighbours are of all sorts."""
    ring = maglev.ring([(n, 1) for n in range(1, 9)])
    pairs = collections.Counter(zip(ring, ring[1:]))
    assert max(pairs.values()) < 4 * maglev.SIZE / 64, pairs.most_common(1)


def order():
    """The order in which servers are named does not matter."""
    assert maglev.ring([(3, 1), (1, 2), (2, 1)]) == maglev.ring([(1, 2), (2, 1), (3, 1)])


def config():
    """katran.conf has the rings that the commands in its comments print."""
    with open(os.path.join(EXAMPLES, 'katran.conf'), encoding='utf-8') as f:
        parts = f.read().split('# maglev ')
    assert '\nrings ' not in parts[0] and len(parts) > 1
    for part in parts[1:]:
        words, _, lines = part.partition('\n')
        out = subprocess.run([SCRIPT, *words.split()], capture_output=True, text=True, check=True)
        assert out.stdout == lines.rstrip('\n') + '\n', words


CASES = (even, disruption, spread, order, config)
print(f'1..{len(CASES)}')
failed = False
for i, case in enumerate(CASES, 1):
    try:
        case()
        print(f'ok {i} - {case.__doc__}')
    except AssertionError as e:
        failed = True
        print(f'not ok {i} - {case.__doc__}\n# {e}')
sys.exit(failed)
