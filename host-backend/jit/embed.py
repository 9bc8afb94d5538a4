#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write an assembler file that holds a file's bytes between NAME and NAME_end."""
import sys

source, output, name = sys.argv[1:]
with open(output, 'w') as out:
    out.write(f'''/* Generated from {source}. */
\t.section .rodata
\t.balign 16
\t.globl {name}
\t.globl {name}_end
{name}:
\t.incbin "{source}"
{name}_end:
\t.byte 0
\t.section .note.GNU-stack, "", @progbits
''')
