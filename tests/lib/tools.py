#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools.py GPGPU ORACLE EXAMPLES: the commands with bad input, and the oracle against files of our own; TAP.

No device is needed: what is refused is refused before one is opened, or because there is none. The oracle's part
needs bpf(); where it is not permitted its cases are skipped.
"""
import os
import struct
import subprocess
import sys
import tempfile

GPGPU, ORACLE, EXAMPLES = sys.argv[1:4]
SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONF = os.path.join(SRC, 'guest-driver/examples')
number = 0


def case(name, good, why=''):
    global number
    number += 1
    for line in why.split('\n') if why and not good else []:
        print('# ' + line)
    print(f'{"ok" if good else "not ok"} {number} {name}', flush=True)


def skip(name, why):
    global number
    number += 1
    print(f'ok {number} {name} # SKIP {why}')


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, errors='replace', check=False)


def refused(name, text, *args):
    """One line on standard error that says TEXT, status 1, nothing on standard output."""
    r = run(*args)
    lines = r.stderr.rstrip('\n').split('\n')
    case(name, r.returncode == 1 and len(lines) == 1 and text in r.stderr and not r.stdout,
         f'status {r.returncode}\n{r.stdout}{r.stderr}')


def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def ipv4(src, dst, proto, payload, options=b'', flags=0):
    head = struct.pack('!BBHHHBBH4s4s', 0x45 + len(options) // 4, 0, 20 + len(options) + len(payload), 1, flags,
                       64, proto, 0, bytes(src), bytes(dst)) + options
    return head[:10] + struct.pack('!H', checksum(head)) + head[12:] + payload


def ipv6(src, dst, proto, payload):
    return struct.pack('!IHBB16s16s', 0x60000000, len(payload), proto, 64, src, dst) + payload


def ports(source, dest, more=30):
    return struct.pack('!HH', source, dest) + bytes(more)


def ethernet(proto, payload, tags=()):
    frame = bytes.fromhex('0200000000020200000000aa')
    for kind, vid in tags:
        frame += struct.pack('!HH', kind, vid)
    return (frame + struct.pack('!H', proto) + payload).ljust(60, b'\0')


CLIENT, SERVER = (10, 7, 0, 1), (10, 7, 0, 2)
CLIENT6 = bytes.fromhex('fd000007' + '00' * 11 + '01')
SERVER6 = bytes.fromhex('fd000007' + '00' * 11 + '02')
FRAMES = [
    ethernet(0x800, ipv4(CLIENT, SERVER, 6, ports(40000 + i, 80))) for i in range(20)
] + [
    ethernet(0x800, ipv4(CLIENT, SERVER, 17, ports(5000, 53))),
    ethernet(0x800, ipv4(CLIENT, SERVER, 17, ports(5000, 5201), options=bytes(8))),
    ethernet(0x800, ipv4(CLIENT, SERVER, 17, ports(5000, 53), flags=0x2000)),
    ethernet(0x800, ipv4(CLIENT, SERVER, 17, bytes(40), flags=0x00b9)),
    ethernet(0x800, ipv4((10, 7, 9, 2), (10, 7, 9, 1), 1, bytes(40)), tags=[(0x8100, 7), (0x8100, 9)]),
    ethernet(0x800, ipv4((192, 0, 2, 1), SERVER, 6, ports(1, 2))),
    ethernet(0x86dd, ipv6(CLIENT6, SERVER6, 6, ports(40000, 80))),
    ethernet(0x86dd, ipv6(CLIENT6, SERVER6, 17, ports(40000, 5202))),
    ethernet(0x86dd, ipv6(CLIENT6, SERVER6, 0, bytes([58, 0]) + bytes(6) + bytes(40))),
    ethernet(0x86dd, ipv6(CLIENT6, SERVER6, 44, bytes([17, 0, 0, 1]) + bytes(4) + ports(1, 53))),
    ethernet(0x86dd, ipv6(CLIENT6, SERVER6, 44, bytes([17, 0, 0, 8]) + bytes(44))),
    ethernet(0x806, bytes(28)),
    ethernet(0x800, bytes(4)),
    ethernet(0x86dd, b''),
]


def pcap(path, frames, cut=0, link=1):
    data = struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, link)
    for i, f in enumerate(frames):
        data += struct.pack('<IIII', i, 0, len(f), len(f)) + f
    with open(path, 'wb') as out:
        out.write(data[:len(data) - cut])


def lines_of(path):
    with open(path) as f:
        return f.read().split('\n')


def oracle_cases(work):
    """The oracle with answers worked out by hand, right ones and wrong ones."""
    capture, results, maps = (os.path.join(work, n) for n in ('in.pcap', 'results', 'maps'))
    firewall = os.path.join(EXAMPLES, 'xdp_firewall.bpf.o')
    balancer = os.path.join(EXAMPLES, 'xdp_lb.bpf.o')
    pcap(capture, FRAMES)
    r = run(ORACLE, '--config', os.path.join(CONF, 'firewall.conf'), firewall, capture)
    names = ['firewall runs', 'right verdicts agree', 'a wrong verdict is found', 'a missing frame is found',
             'a surplus line is found', 'balancer runs', 'bytes that differ are found', 'maps that differ are found',
             'frames that are too long are refused']
    if r.returncode and 'not permitted' in r.stderr:
        for n in names:
            skip(n, 'bpf() is not permitted')
        return
    names = iter(names)
    case(next(names), r.returncode == 0 and 'nothing to compare' in r.stdout, r.stdout + r.stderr)

    # What the rules of firewall.conf say to each of FRAMES.
    want = (['PASS'] * 20 + ['PASS', 'DROP', 'PASS', 'PASS', 'DROP', 'DROP', 'PASS', 'PASS', 'PASS', 'PASS', 'PASS',
                             'PASS', 'DROP', 'DROP'])
    text = [f'{i + 1} {v} {len(f)} 0 0' for i, (v, f) in enumerate(zip(want, FRAMES))]

    def verdicts(text):
        with open(results, 'w') as f:
            f.write('\n'.join(text) + '\n')
        return run(ORACLE, '--config', os.path.join(CONF, 'firewall.conf'), '--results', results, firewall, capture)

    r = verdicts(text)
    case(next(names), r.returncode == 0 and 'equal to BPF_PROG_TEST_RUN' in r.stdout, r.stdout + r.stderr)
    r = verdicts(text[:5] + [text[5].replace('PASS', 'DROP')] + text[6:])
    case(next(names), r.returncode == 1 and 'frame 6: the device says DROP, the kernel PASS' in r.stderr,
         r.stdout + r.stderr)
    r = verdicts(text[:-1])
    case(next(names), r.returncode == 1, r.stdout + r.stderr)
    r = verdicts(text + ['35 PASS 60 0 0'])
    case(next(names), r.returncode == 1, r.stdout + r.stderr)

    r = run(ORACLE, '--config', os.path.join(CONF, 'lb.conf'), balancer, capture)
    case(next(names), r.returncode == 0 and 'TX' in r.stdout, r.stdout + r.stderr)
    r = run(ORACLE, '--config', os.path.join(CONF, 'lb.conf'), '--out', capture, balancer, capture)
    case(next(names), r.returncode == 1 and 'frame 1: 68 bytes from the device, 88 ' in r.stderr, r.stdout + r.stderr)
    with open(maps, 'w') as f:
        f.write('reals 01000000 00000000\n')
    r = run(ORACLE, '--config', os.path.join(CONF, 'lb.conf'), '--maps', maps, balancer, capture)
    case(next(names), r.returncode == 1 and 'only in the kernel\'s maps' in r.stderr, r.stdout + r.stderr)
    pcap(capture, [bytes(4000)])
    refused(next(names), 'frame 1 has 4000 bytes', ORACLE, firewall, capture)


def run_cases():
    """What gpgpu run finds wrong before it opens a device; when nothing is, it does not find the device."""
    saxpy, life = (os.path.join(EXAMPLES, n + '.bpf.o') for n in ('saxpy', 'life'))
    good = ['x=f32:1,2', 'y=f32:2*0', 'a=f32:3']
    for name, text, *args in [
        ('run: nothing is wrong but the device', '/nowhere', *good, 'y>f32:text@out'),
        ('run: an argument is missing', "'a' of kernel 'saxpy' (a value) is not given", *good[:2]),
        ('run: an unknown argument', "no argument 'z'", 'z=1'),
        ('run: an argument twice', 'given twice', 'x=+8', 'x=+8'),
        ('run: no form at all', 'not of the form', 'x'),
        ('run: a buffer as a number', 'is a buffer', 'x=1'),
        ('run: a value as a buffer', 'is not an integer', 'a=@x'),
        ('run: a value that is too large', 'does not fit type u64', 'a=-1'),
        ('run: an integer that is none', "'1.5' is not an integer", 'x=1.5,2'),
        ('run: a pattern that is none', "'wave' is no pattern", 'x=5*wave'),
        ('run: a value is written', 'is a value and cannot be written', *good, 'a>@x'),
        ('run: a format that is none', "'gif' is no format", *good, 'y>gif@x'),
        ('run: half of a range', 'FORMAT:WIDTH:BLACK:WHITE', *good, 'y>pgm:2:0@x'),
        ('run: a picture in colour of words', 'is of bytes, not of u32', *good, 'y>png-rgb:1@x'),
    ]:
        refused(name, text, GPGPU, 'run', saxpy, '--grid', '2', '--device', '/nowhere', *args)
    refused('run: a byte that is too large', '300 does not fit type u8', GPGPU, 'run', life, '--grid', '2,2',
            'from=4*300', 'to=+4')
    refused('run: a seed that is none', "--seed: 'x' is not a number", GPGPU, 'run', life, '--seed', 'x')
    r = run(GPGPU, 'run', '--help')
    case('run: help', r.returncode == 0 and 'png-rgb' in r.stdout, r.stderr)


def main():
    work = tempfile.mkdtemp()
    run_cases()
    capture, cut, wrong = (os.path.join(work, n) for n in ('in.pcap', 'cut.pcap', 'wifi.pcap'))
    out = os.path.join(work, 'out.pcap')
    firewall = os.path.join(EXAMPLES, 'xdp_firewall.bpf.o')
    pcap(capture, FRAMES)
    pcap(cut, FRAMES, cut=10)
    pcap(wrong, FRAMES, link=105)

    refused('no such command', "'fly' is no command", GPGPU, 'fly')
    refused('no such device', 'No such file', GPGPU, 'info', '--device', '/nowhere')
    refused('not a device', 'not a GPGPU device', GPGPU, 'info', '--device', '/dev/null')
    refused('no grid', '--grid', GPGPU, 'run', os.path.join(EXAMPLES, 'saxpy.bpf.o'))
    refused('grid of nothing', 'not between', GPGPU, 'run', '--grid', '0', 'x.o')
    refused('grid of four dimensions', 'more than three', GPGPU, 'run', '--grid', '1,1,1,1', 'x.o')
    refused('pkt without files', 'are needed', GPGPU, 'pkt', firewall)
    refused('missing capture', 'No such file', GPGPU, 'pkt', firewall, '/nowhere', out)
    refused('not a capture', 'not a capture', GPGPU, 'pkt', firewall, firewall, out)
    refused('capture of something else', 'not of Ethernet', GPGPU, 'pkt', firewall, wrong, out)
    refused('odd stride', 'multiple of 64', GPGPU, 'pkt', '--stride', '100', firewall, capture, out)
    refused('headroom without room', 'not below', GPGPU, 'pkt', '--headroom', '2048', firewall, capture, out)
    refused('unknown order', 'none of any', GPGPU, 'pkt', '--order', 'random', firewall, capture, out)
    refused('config without program', 'needs --program', GPGPU, 'bench', '--config', 'x')
    refused('oracle: cut short', 'truncated', ORACLE, firewall, cut)
    refused('oracle: missing object', 'No such file', ORACLE, '/nowhere.o', capture)
    refused('oracle: no such program', 'no such XDP program', ORACLE, firewall + ':nothing', capture)
    refused('oracle: a kernel is no XDP program', 'no such XDP program', ORACLE,
            os.path.join(EXAMPLES, 'saxpy.bpf.o'), capture)
    case('nothing is left behind', sorted(os.listdir(work)) == ['cut.pcap', 'in.pcap', 'wifi.pcap'],
         str(os.listdir(work)))
    r = run(GPGPU, '--help')
    case('help', r.returncode == 0 and 'pkt' in r.stdout)
    oracle_cases(work)
    print(f'1..{number}')
    for f in os.listdir(work):
        os.unlink(os.path.join(work, f))
    os.rmdir(work)


main()
