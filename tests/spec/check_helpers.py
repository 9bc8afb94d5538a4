#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_helpers.py DOCS HELPERS WIRE: docs/helpers.md against the table of helpers and the wire header, as TAP.

Every map type of the wire and every helper of the table has exactly one row, with a column for each device, and no
row is of anything else; which programs may call a helper, and why one is refused, is said in the same words.
"""

import re
import sys

cases = 0
failed = False


def case(name, complaints):
    global cases, failed
    cases += 1
    failed |= bool(complaints)
    for line in complaints:
        print('# ' + line)
    print(f'{"not ok" if complaints else "ok"} {cases} - {name}')


def rows(docs, title):
    """Cells of the table under a heading: first cell's names -> other cells."""
    section = re.search(rf'^## {title}$(.*?)(?=^## |\Z)', docs, re.M | re.S)[1]
    found = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if not line.startswith('| `'):
            continue
        for name in re.findall(r'`([^`]+)`', cells[0]):
            for full in ([name.replace('<n>', n) for n in ('32', '64')] if '<n>' in name else [name]):
                found.append((full, cells[1:]))
    return found


def compare(what, documented, wanted):
    names = [name for name, _ in documented]
    bad = [f'{name} has {names.count(name)} rows' for name in sorted(set(names)) if names.count(name) != 1]
    bad += [f'{name} is not in the docs' for name in sorted(wanted - set(names))]
    bad += [f'{name} is not in the {what}' for name in sorted(set(names) - wanted)]
    return bad


def devices(documented, before):
    """Cells of the devices: "x" or "not yet", and a note."""
    return [f'{name}: {cells}' for name, cells in documented
            if len(cells) != before + 4 or any(c not in ('x', 'not yet') for c in cells[before:before + 3])]


def table(source):
    """Helper -> which programs may call it, from the C source."""
    body = re.search(r'struct gp_helper helpers\[\] = \{(.*?)^\};', source, re.M | re.S)[1]
    floats = re.search(r'#define FLOAT\(bits\).*?(?=\n\n)', source, re.S)[0]
    names = {1: 'xdp', 2: 'gpgpu', 3: 'both'}
    found = {}
    for name, where in re.findall(r'(?:ROW|KERNEL|\{ BPF_FUNC_)\(?(\w+), ([XDPGRI |]+),', body):
        found[f'bpf_{name}'] = names[('XDP' in where) + 2 * ('GRID' in where)]
    for name in re.findall(r'OURS\((\w+)', body):
        found[f'gp_{name}'] = 'gpgpu'
    for bits in re.findall(r'FLOAT\((\d+)\)', body):
        for name in re.findall(r'OURS\((\w+)##bits', floats):
            found[f'gp_{name}{bits}'] = 'gpgpu'
    return found


def refusals(source):
    texts = dict(re.findall(r'(\w+)\[\] =\s*"([^"]*)"', source))
    found = {}
    for name, why in re.findall(r'\{ BPF_FUNC_(\w+),\s+("[^"]*"|\w+) \}', source):
        found[f'bpf_{name}'] = why[1:-1] if why[0] == '"' else texts[why]
    return found


def main():
    docs, source, wire = (open(path).read() for path in sys.argv[1:4])
    helpers = table(source)
    kernels = rows(docs, 'Helpers of the kernel')
    ours = rows(docs, 'Helpers of our own')
    maps = rows(docs, 'Maps')
    refused = rows(docs, 'What is refused, and why')

    types = {m.lower() for m in re.findall(r'VIRTIO_GPGPU_MAP_(?!F_)(\w+)\s+= \d+', wire)}
    case('every type of map', compare('wire header', maps, types) + devices(maps, 0))
    named = set(re.findall(r'VIRTIO_GPGPU_MAP_\w+, "(\w+)"', source))
    case('types have names', [f'{name} has no name' for name in sorted(types - named)] +
         [f'{name} is no type' for name in sorted(named - types)])
    case('every helper of the kernel', compare('table', kernels, {n for n in helpers if n.startswith('bpf_')}) +
         devices(kernels, 1))
    case('every helper of our own', compare('table', ours, {n for n in helpers if n.startswith('gp_')}) +
         devices(ours, 1))
    case('who may call', [f'{name}: {helpers[name]}' for name, cells in kernels + ours
                          if name in helpers and cells[0] != helpers[name]])
    why = refusals(source)
    case('every refusal', compare('table', refused, set(why)) +
         [f'{name}: {why[name]}' for name, cells in refused if name in why and cells != [why[name]]] +
         [f'{name} is there and refused' for name in sorted(set(why) & set(helpers))])
    case('there is something to compare', [] if len(helpers) > 60 and len(types) > 15 and len(why) > 20 else
         [f'{len(helpers)} helpers, {len(types)} types, {len(why)} refusals'])
    print(f'1..{cases}')
    return failed


if __name__ == '__main__':
    sys.exit(main())
