#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write an assembler file that holds files' bytes, one behind the other, between NAME and NAME_end."""
import sys

*sources, output, name = sys.argv[1:]
with open(output, 'w') as out:
    out.write(f'''/* Generated from {' '.join(sources)}. */
\t.section .rodata
\t.balign 16
\t.globl {name}
\t.globl {name}_end
{name}:
''')
    for source in sources:
        out.write(f'\t.incbin "{source}"\n')
    out.write(f'''{name}_end:
\t.byte 0
\t.section .note.GNU-stack, "", @progbits
''')
