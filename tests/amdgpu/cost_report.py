# SPDX-License-Identifier: BSD-3-Clause
"""The figures of `cost` in docs/amdgpu.md, and as a picture."""

import os

COLOURS = {'vector': '#2a6f97', 'scalar': '#89b6d0', 'memory': '#b5651d', 'LDS': '#6a4c93'}
BEGIN, END = '<!-- cost: written by tests/amdgpu/cost --report -->\n', '<!-- cost: end -->\n'


def wave(generation):
    return 64 if generation.startswith('gfx9') else 32


def lanes(row):
    """How many take part in what has lanes, on average."""
    return row['lanes'] / row['wide'] if row['wide'] else 0.0


def compiled(path):
    """{program: {generation: (VGPRs, scratch, code, waves)}} of cost.txt."""
    out = {}
    with open(path, encoding='utf-8') as f:
        for words in (x.split() for x in f if x.strip() and x[0] != '#'):
            out.setdefault(words[0].split(':')[0], {})[words[1]] = tuple(map(int, words[2:6]))
    return out


def executed_table(rows, count):
    out = ['| program | generation | instructions | vector | scalar | memory | LDS | lanes taking part | bytes loaded | stored |\n',
           '|---|---|' + '---:|' * 8 + '\n']
    for generation, name in sorted(rows, key=lambda k: (k[1], k[0].startswith('gfx1'), k[0])):
        r = rows[generation, name]
        each = [r[k] / count for k in COLOURS]
        out.append(f'| `xdp_{name}` | {generation} | {sum(each):.1f} | ' + ' | '.join(f'{x:.1f}' for x in each) +
                   f' | {lanes(r):.1f} of {wave(generation)} | {r["loaded"] / count:.0f} | {r["stored"] / count:.0f} |\n')
    return out


def compiled_table(programs):
    """Generations with the same figures share a line."""
    out = ['| program | generations | VGPRs of a lane | waves of a SIMD | scratch of a lane, bytes | code, bytes |\n',
           '|---|---|---:|---:|---:|---:|\n']
    for name, by_generation in sorted(programs.items()):
        alike = {}
        for generation, figures in by_generation.items():
            alike.setdefault(figures, []).append(generation)
        for (vgprs, scratch, code, waves), generations in alike.items():
            out.append(f'| `{name}` | {", ".join(generations)} | {vgprs} | {waves} | {scratch} | {code:,} |\n')
    return out


def text(x, y, what, more=''):
    return f'<text x="{x:.1f}" y="{y:.1f}"{" " + more if more else ""}>{what}</text>'


def rect(x, y, width, height, fill):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def bars(rows, programs, count, left, top, width):
    """Stacked bars, those of a program together. Return: (lines, bottom)."""
    order = sorted(rows, key=lambda k: (k[1], k[0].startswith('gfx1'), k[0]))
    longest = max(sum(rows[k][c] for c in COLOURS) for k in order) / count
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if longest / s <= 8)
    bottom = top + 24 * len(order) + 10 * len({n for _, n in order})
    out = []
    for tick in range(0, int(longest) + 1, step):
        x = left + width * tick / longest
        out += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="#ddd"/>',
                text(x, top - 6, tick, 'text-anchor="middle" fill="#555"')]
    y, last = top, None
    for generation, name in order:
        r, x = rows[generation, name], left
        y += 10 if name != last else 0
        out.append(text(left - 8, y + 14, f'{name + ", " if name != last else ""}{generation}', 'text-anchor="end"'))
        for kind, colour in COLOURS.items():
            part = width * r[kind] / count / longest
            if part:
                out.append(rect(x, y, part, 18, colour))
            x += part
        waves = programs.get(f'xdp_{name}', {}).get(generation)
        out.append(text(x + 6, y + 14, f'{lanes(r):.0f} of {wave(generation)} lanes' +
                        (f', {waves[3]} wave{"s" if waves[3] > 1 else ""} of a SIMD' if waves else ''),
                        'font-size="11" fill="#555"'))
        y, last = y + 24, name
    return out, bottom


def picture(rows, programs, count):
    lines, bottom = bars(rows, programs, count, 140, 80, 540)
    height, x = bottom + 40, 140
    for kind, colour in COLOURS.items():
        if any(r[kind] for r in rows.values()):
            lines += [rect(x, height - 26, 12, 12, colour), text(x + 18, height - 16, kind)]
            x += 90
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 {height}" font-family="sans-serif" font-size="13">\n'
            f'<!-- SPDX-License-Identifier: BSD-3-Clause -->\n<rect width="880" height="{height}" fill="#fff"/>\n' +
            text(140, 40, 'Instructions of a wave for one packet', 'font-weight="bold"') + '\n' + '\n'.join(lines) + '\n</svg>\n')


def report(rows, count, costs, docs):
    programs = compiled(costs)
    with open(os.path.join(docs, 'amdgpu-cost.svg'), 'w', encoding='utf-8') as f:
        f.write(picture(rows, programs, count))
    page = os.path.join(docs, 'amdgpu.md')
    with open(page, encoding='utf-8') as f:
        before, rest = f.read().split(BEGIN)
    new = ''.join([f'{count:,} frames, 128 a launch.\n\n', *executed_table(rows, count), '\n', *compiled_table(programs)])
    with open(page, 'w', encoding='utf-8') as f:
        f.write(before + BEGIN + '\n' + new + '\n' + END + rest.split(END)[1])
