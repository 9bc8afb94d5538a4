#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""check.py SPEC HEADER: the tables of the specification against the wire header, as TAP.

Every command, status and reason of the header must be in the text with its number and the other
way round, every structure must be named with its size, and a row of a table that gives an offset must be a
member of a structure of the same section, at that offset, of that type, under that name.
"""

import re
import sys

SIZES = {'__u8': 'u8', '__le16': 'le16', '__le32': 'le32', '__le64': 'le64'}
cases = 0
failed = False


def case(name, complaints):
    global cases, failed
    cases += 1
    failed |= bool(complaints)
    for line in complaints:
        print('# ' + line)
    print(f'{"not ok" if complaints else "ok"} {cases} - {name}')


def enum(header, prefix):
    return {m[1]: int(m[2], 0) for m in
            re.finditer(rf'VIRTIO_GPGPU_({prefix}_\w+)\s*=\s*(\w+)', header)}


def structures(header):
    """Name -> size, {(offset, member): type}, from the assertions and the declarations."""
    found = {}
    bare = re.sub(r'/\*.*?\*/', '', header, flags=re.S)
    for name, body in re.findall(r'struct virtio_gpgpu_(\w+) \{(.*?)\n\};', bare, re.S):
        types = {}
        for kind, member, count in re.findall(r'(struct \w+|__\w+)\s+(\w+)(\[\w+\])?;', body):
            if count:
                m = re.search(rf'#define {count[1:-1]}\s+(\d+)', header)
                count = f'[{m[1]}]' if m else count
            types[member] = SIZES.get(kind, kind) + count
        size = int(re.search(rf'_SIZE\({name}, (\d+)\)', header)[1])
        offsets = re.findall(rf'_OFF\({name}, (\w+), (\d+)\)', header)
        found[name] = size, {(int(o), m): types[m] for m, o in offsets}
    return found


def main():
    with open(sys.argv[1]) as f:
        spec = f.read()
    with open(sys.argv[2]) as f:
        header = f.read()
    structs = structures(header)

    bad = []
    for name, number in enum(header, 'CMD').items():
        name = name[4:]
        if not re.search(rf'\b{name} \(0x{number:04x}\b', spec):
            bad.append(f'{name} (0x{number:04x}) is not in the text')
    for name, number in re.findall(r'\b([A-Z_]{3,}) \((0x0\w+)\b', spec):
        if enum(header, 'CMD').get('CMD_' + name) != int(number, 0):
            bad.append(f'{name} ({number}) is not in the header')
    case('commands and their numbers', bad)

    annex = spec[spec.index('\n## Annex A'):]
    for prefix, what in ('S', 'statuses'), ('R', 'reasons'):
        theirs = {name: number for name, number in enum(header, prefix).items() if name != 'S_COUNT'}
        told = {name: int(number) for number, name in re.findall(rf'\| (\d+) \| ({prefix}_\w+) \|', annex)}
        bad = [f'{name}: {theirs.get(name)} in the header, {told.get(name)} in the annex'
               for name in sorted(theirs.keys() | told.keys()) if theirs.get(name) != told.get(name)]
        used = set(re.findall(rf'\b({prefix}_[A-Z]\w+)', spec)) - theirs.keys() - {'S_', 'R_'}
        bad += [f'{name} is used in the text and not in the header' for name in sorted(used)]
        case(what, bad)

    bad = [f'feature {name} is not in the text with bit {bit}' for name, bit in
           re.findall(r'#define (VIRTIO_GPGPU_F_\w+)\s+(\d+)', header)
           if not re.search(rf'\| {bit} \| {name} \|', spec)]
    case('feature bits', bad)

    # The header's and the job's rows count from the request's start, like those of the structures that hold them.
    rows = 0
    bad = []
    for section in re.split(r'\n## ', spec):
        mine = [structs[n] for n in set(re.findall(r'struct\s+virtio_gpgpu_(\w+)', section)) if n in structs]
        mine += [structs[n] for n in ('config', 'req_hdr', 'caps', 'job', 'fence', 'arg', 'packet_desc', 'packet_result',
                                      'resp_packets')]
        for offset, kind, field in re.findall(r'\n\| (\d+) \| ((?:u8|le\d+)(?:\[\d+\])?) \| `([\w.]+)`', section):
            rows += 1
            field = field.split('.')[-1]
            places = {(int(offset), field)}
            # `struct virtio_gpgpu_job` lies behind the request header, and so do its rows.
            if field in ('timeline', 'num_fences', 'seq'):
                places.add((int(offset) - 32, field))
            if not any(s[1].get(place) == kind for s in mine for place in places):
                bad.append(f'section {section.split(chr(10))[0]}: {field} at {offset}, {kind}')
    if rows < 100:
        bad.append(f'only {rows} rows were found')
    case(f'{rows} fields: offset, type and name', bad)

    bad = []
    for name, (size, _) in structs.items():
        said = re.search(rf'struct\s+virtio_gpgpu_{name}`,\s+(\d+)\s+bytes', spec)
        if said and int(said[1]) != size:
            bad.append(f'{name} has {size} bytes, not {said[1]}')
        if name.startswith(('req_', 'resp_', 'event')) and not re.search(rf'virtio_gpgpu_{name}\b', spec):
            bad.append(f'{name} is not in the text')
    case('structures and their sizes', bad)
    print(f'1..{cases}')
    sys.exit(failed)


main()
