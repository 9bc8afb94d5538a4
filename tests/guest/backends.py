# SPDX-License-Identifier: BSD-3-Clause
"""What a guest's devices run on: the object for QEMU, and what has to be in QEMU's environment.

    cpu          the host's processors
    amdgpu       an AMD GPU of the host's
    amdgpu-sim   the software AMD GPU (tests/amdgpu-sim), which only the worker has preloaded
"""

import os

DEVICES = ('cpu', 'amdgpu', 'amdgpu-sim')
SIM_SIZE = 'units 1'                # of each array: a small card, since it does one thing at a time
SIM_COMPLAINS = 'amdgpu-sim: '      # with this begins a line when something is wrong, or was told to be


class Backend:
    """One backend object. Its `args` are QEMU's, its `env` is added to QEMU's environment."""

    def __init__(self, build, device='cpu', generation=None, node=None, commands=(), worker=None, name='gpu0'):
        """`generation`, `commands`: for the software GPU; `node`: the render node (None: the first there is)."""
        self.device = device
        self.env = {}
        self.worker = worker or os.path.join(os.path.abspath(build), 'tests/amdgpu-sim/gpgpu-worker')
        if device == 'cpu':
            words = ['gpgpu-backend-cpu', f'id={name}']
        else:
            words = ['gpgpu-backend-amdgpu', f'id={name}']
            if device == 'amdgpu-sim':
                words += [f'node={node or "/dev/dri/renderD128"}', f'worker={self.worker}']
                commands = [SIM_SIZE, os.environ.get('AMDGPU_SIM'), generation and f'generation {generation}',
                            node and f'node {node}', *commands]
                self.env['AMDGPU_SIM'] = '; '.join(c for c in commands if c)
            elif node:
                words.append(f'node={node}')
        self.args = ['-object', ','.join(words)]


def add_options(parser):
    """The options of a program that lets a person choose."""
    parser.add_argument('--device', choices=DEVICES, default='cpu', help='what the devices run on')
    parser.add_argument('--generation', help='of the software AMD GPU (gfx900, gfx1030, ...)')
    parser.add_argument('--node', help='render node of the AMD GPU')
