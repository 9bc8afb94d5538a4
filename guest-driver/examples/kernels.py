#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""kernels.py OBJECT: libgpgpu from Python, by ctypes: shows what kernels an object has and what they take.

    kernels.py saxpy.bpf.o
    kernels.py saxpy.bpf.o --saxpy 5        and runs saxpy over so many numbers on the first device

LIBGPGPU in the environment names the library; otherwise it is looked for where libraries are.
"""
import ctypes
import os
import struct
import sys

VALUE, BUFFER, BUFFER_RO = 1, 2, 3
KERNEL, SHARED = 2, 1


class ArgInfo(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('kind', ctypes.c_uint32), ('size', ctypes.c_uint32),
                ('is_number', ctypes.c_bool), ('is_signed', ctypes.c_bool), ('is_float', ctypes.c_bool)]


class ProgramInfo(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('section', ctypes.c_char_p), ('kind', ctypes.c_uint32),
                ('num_insns', ctypes.c_uint32), ('num_args', ctypes.c_uint32), ('loaded', ctypes.c_bool),
                ('compile_ns', ctypes.c_uint64), ('code_bytes', ctypes.c_uint32)]


class Arg(ctypes.Structure):
    _fields_ = [('kind', ctypes.c_uint32), ('buffer', ctypes.c_void_p), ('value', ctypes.c_uint64),
                ('size', ctypes.c_uint64)]


class Error(Exception):
    """What the library says in words, and its negative errno."""


def load_library():
    lib = ctypes.CDLL(os.environ.get('LIBGPGPU', 'libgpgpu.so.0'))
    lib.gpgpu_error_message.restype = ctypes.c_char_p
    pointer = ctypes.c_void_p
    lib.gpgpu_object_program.restype = lib.gpgpu_object_next_program.restype = pointer
    # Without these a pointer would be cut to an int.
    lib.gpgpu_open.argtypes = [ctypes.c_char_p, pointer]
    lib.gpgpu_object_open.argtypes = [ctypes.c_char_p, pointer]
    lib.gpgpu_object_load.argtypes = lib.gpgpu_object_next_program.argtypes = [pointer, pointer]
    lib.gpgpu_object_program.argtypes = [pointer, ctypes.c_char_p]
    lib.gpgpu_program_get_info.argtypes = [pointer, ctypes.POINTER(ProgramInfo)]
    lib.gpgpu_program_arg.argtypes = [pointer, ctypes.c_uint32, ctypes.POINTER(ArgInfo)]
    lib.gpgpu_arg_set_int.argtypes = [pointer, pointer, ctypes.c_char_p, ctypes.c_int64]
    lib.gpgpu_arg_set_double.argtypes = [pointer, pointer, ctypes.c_char_p, ctypes.c_double]
    lib.gpgpu_arg_set_value.argtypes = [pointer, pointer, ctypes.c_char_p, ctypes.c_uint64]
    lib.gpgpu_arg_set_buffer.argtypes = [pointer, pointer, ctypes.c_char_p, pointer]
    lib.gpgpu_buffer_create.argtypes = [pointer, ctypes.c_uint64, ctypes.c_uint32, pointer]
    lib.gpgpu_buffer_map.argtypes = [pointer, pointer]
    lib.gpgpu_dispatch.argtypes = [pointer, pointer, pointer, pointer, ctypes.c_uint32, pointer, pointer]
    lib.gpgpu_job_wait.argtypes = [pointer, ctypes.c_int64, pointer, pointer, ctypes.c_uint32]
    for call in ('gpgpu_object_close', 'gpgpu_buffer_destroy', 'gpgpu_job_destroy', 'gpgpu_close'):
        getattr(lib, call).argtypes = [pointer]
        getattr(lib, call).restype = None
    return lib


def check(lib, result):
    if result < 0:
        raise Error(lib.gpgpu_error_message().decode(), result)
    return result


def open_object(lib, path):
    obj = ctypes.c_void_p()
    check(lib, lib.gpgpu_object_open(path.encode(), ctypes.byref(obj)))
    return obj


def kernels(lib, obj):
    """Name, program and arguments of each kernel of an object."""
    prog = None
    while True:
        prog = lib.gpgpu_object_next_program(obj, prog)
        if not prog:
            return
        info = ProgramInfo()
        lib.gpgpu_program_get_info(prog, ctypes.byref(info))
        if info.kind != KERNEL:
            continue
        args = [ArgInfo() for _ in range(info.num_args)]
        for i, arg in enumerate(args):
            check(lib, lib.gpgpu_program_arg(prog, i, ctypes.byref(arg)))
        yield info.name.decode(), prog, args


def words(arg):
    number = f'{"f" if arg.is_float else "s" if arg.is_signed else "u"}{arg.size * 8}'
    what = number if arg.is_number else f'{arg.size} bytes' if arg.size else 'bytes'
    kind = {VALUE: '', BUFFER: 'buffer of ', BUFFER_RO: 'buffer, only read, of '}[arg.kind]
    return f'{arg.name.decode()}: {kind}{what}'


def saxpy(lib, obj, prog, n):
    """y = 2 * x + y for x = 0, 1, 2...; y = 0.5."""
    dev = ctypes.c_void_p()
    check(lib, lib.gpgpu_open(None, ctypes.byref(dev)))
    check(lib, lib.gpgpu_object_load(obj, dev))
    args, job, buffers, parts = (Arg * 3)(), ctypes.c_void_p(), [], {}
    for name, numbers in (('x', range(n)), ('y', [0.5] * n)):
        buf, at = ctypes.c_void_p(), ctypes.c_void_p()
        check(lib, lib.gpgpu_buffer_create(dev, 4 * n, SHARED, ctypes.byref(buf)))
        check(lib, lib.gpgpu_buffer_map(buf, ctypes.byref(at)))
        check(lib, lib.gpgpu_arg_set_buffer(prog, args, name.encode(), buf))
        parts[name] = (ctypes.c_float * n).from_address(at.value)
        parts[name][:] = list(numbers)
        buffers.append(buf)
    check(lib, lib.gpgpu_arg_set_value(prog, args, b'a', struct.unpack('<I', struct.pack('<f', 2))[0]))
    check(lib, lib.gpgpu_dispatch(prog, (ctypes.c_uint32 * 3)(n, 1, 1), None, args, 3, None, ctypes.byref(job)))
    check(lib, lib.gpgpu_job_wait(job, -1, None, None, 0))
    print(*parts['y'])
    lib.gpgpu_job_destroy(job)
    for buf in buffers:
        lib.gpgpu_buffer_destroy(buf)
    lib.gpgpu_close(dev)


def main():
    lib = load_library()
    try:
        obj = open_object(lib, sys.argv[1])
        for name, prog, args in kernels(lib, obj):
            print(f'{name}({"; ".join(words(a) for a in args)})')
            if sys.argv[2:3] == ['--saxpy'] and name == 'saxpy':
                saxpy(lib, obj, prog, int(sys.argv[3]))
        lib.gpgpu_object_close(obj)
    except Error as e:
        sys.exit(f'kernels.py: {e.args[0]}')


if __name__ == '__main__':
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    main()
