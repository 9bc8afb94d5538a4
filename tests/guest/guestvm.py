# SPDX-License-Identifier: BSD-3-Clause
"""Boots the test guest in our QEMU and talks to it; what `boot` and the guest tests are made on.

    with GuestVM('build', script='tests/guest/scripts/smoke.sh') as vm:
        vm.qmp('query-status')
        status = vm.wait()

A VM is one QEMU process with the kernel, the two archives that mkinitramfs made and a third one
with the job: /job/run is the script, /job/* the files of `folder`. Three channels lead out of it:

    console   the serial port, streamed to a file object (and kept in OUT/console.log)
    out       when the script ends, the guest sends its folder /out as a tar archive with the
              status in it; a guest that dies never does, and wait() says so
    sync      the guest's host_sync sends a line and waits for the answer of on_sync(words)

The console and the sync channel are read by one thread each; QMP belongs to the caller's
thread. Everything temporary lies in one folder that close() removes.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(os.path.dirname(HERE))

# With TCG `max` is the only model that has what Debian's kernel may want; la57 slows the walk.
CPU = {'tcg': 'max,la57=off', 'kvm': 'host'}


class GuestError(Exception):
    """One line for a person."""


def cpio_entry(name, mode, data=b''):
    name = name.encode() + b'\0'
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
    head = b'070701' + b''.join(b'%08X' % f for f in fields) + name
    return head + b'\0' * (-len(head) % 4) + data + b'\0' * (-len(data) % 4)


def job_archive(script, args, folder):
    """The third archive: /job with the script, its arguments and a folder of the host's."""
    out = [cpio_entry('job', 0o40755)]
    if folder:
        for top, dirs, files in os.walk(folder):
            rel = os.path.relpath(top, folder)
            at = 'job' if rel == '.' else 'job/' + rel
            out += [cpio_entry(f'{at}/{d}', 0o40755) for d in dirs]
            for name in files:
                path = os.path.join(top, name)
                mode = 0o100755 if os.access(path, os.X_OK) else 0o100644
                with open(path, 'rb') as f:
                    out.append(cpio_entry(f'{at}/{name}', mode, f.read()))
    if script:
        with open(script, 'rb') as f:
            out.append(cpio_entry('job/run', 0o100755, f.read()))
        out.append(cpio_entry('job/args', 0o100644, ' '.join(args).encode()))
    out.append(cpio_entry('TRAILER!!!', 0))
    return b''.join(out)


class QMP:
    """QEMU's monitor, one command at a time; events are kept in `events`."""

    def __init__(self, path, timeout):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.file = self.sock.makefile('rw', encoding='utf-8')
        self.events = []
        self._read()
        self('qmp_capabilities')

    def _read(self):
        line = self.file.readline()
        if not line:
            raise GuestError('QEMU closed its monitor')
        return json.loads(line)

    def __call__(self, command, **arguments):
        """The result of a command; keyword `x_y` is argument `x-y`."""
        arguments = {k.replace('_', '-'): v for k, v in arguments.items()}
        self.file.write(json.dumps({'execute': command, 'arguments': arguments}) + '\n')
        self.file.flush()
        while True:
            answer = self._read()
            if 'event' in answer:
                self.events.append(answer)
            elif 'error' in answer:
                raise GuestError(f"{command}: {answer['error']['desc']}")
            else:
                return answer.get('return')

    def wait_event(self, name, timeout=30):
        """The next event of that name, also one that was met before."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for e in self.events:
                if e['event'] == name:
                    self.events.remove(e)
                    return e
            self.sock.settimeout(max(0.1, end - time.monotonic()))
            try:
                answer = self._read()
            except TimeoutError:
                break
            if 'event' in answer:
                self.events.append(answer)
        raise GuestError(f'no event {name} within {timeout} s')


class GuestVM:
    def __init__(self, build, script=None, args=(), folder=None, out=None, accel=None,
                 devices=('virtio-gpgpu-pci',), qemu_args=(), memory='768M', cpus=2, timeout=120,
                 console=None, on_sync=None, append='', machine='q35', sandbox=False,
                 interactive=False, wrapper=(), env=None):
        self.build = os.path.abspath(build)
        self.out = out
        self.deadline = time.monotonic() + timeout
        self.timeout = timeout
        self.console = console
        self.on_sync = on_sync
        self.env = {**os.environ, **(env or {})}
        self.tmp = tempfile.mkdtemp(prefix='gpgpu-guest-')
        self.process = None
        self._qmp = None
        self.threads = []
        try:
            self._start(script, args, folder, accel or os.environ.get('ACCEL', 'tcg'), devices,
                        qemu_args, memory, cpus, append, machine, sandbox, interactive, wrapper)
        except BaseException:
            self.close()
            raise

    def path(self, name):
        return os.path.join(self.tmp, name)

    def _start(self, script, args, folder, accel, devices, qemu_args, memory, cpus, append,
               machine, sandbox, interactive, wrapper):
        guest = os.path.join(self.build, 'guest')
        qemu = os.path.join(self.build, 'qemu/build/qemu-system-x86_64')
        for f in (qemu, os.path.join(guest, 'ours.cpio')):
            if not os.path.exists(f):
                raise GuestError(f'{f} is not built; see make help')
        if accel not in CPU:
            raise GuestError(f'ACCEL={accel}: tcg or kvm')
        with open(self.path('initrd'), 'wb') as initrd:
            for name in ('base.cpio', 'ours.cpio'):
                with open(os.path.join(guest, name), 'rb') as f:
                    shutil.copyfileobj(f, initrd, 1 << 20)
            if script or folder:
                initrd.write(job_archive(script, args, folder))
        self.command = [
            *wrapper, qemu, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
            '-machine', machine, '-accel', accel, '-cpu', CPU[accel],
            '-smp', str(cpus), '-m', memory,
            '-L', '/usr/share/seabios', '-L', '/usr/share/qemu',
            '-kernel', os.path.join(guest, 'vmlinuz'), '-initrd', self.path('initrd'),
            '-append', 'console=ttyS0 quiet panic=-1 mitigations=off nokaslr '
                       'random.trust_cpu=on tsc=reliable no_timer_check ' + append,
            '-qmp', 'unix:' + self.path('qmp') + ',server=on,wait=off',
            '-device', 'virtio-serial-pci,id=ports',
            '-chardev', 'file,id=out,path=' + self.path('out.tar'),
            '-device', 'virtserialport,bus=ports.0,chardev=out,name=gpgpu.out',
            '-chardev', 'socket,id=sync,server=on,wait=off,path=' + self.path('sync'),
            '-device', 'virtserialport,bus=ports.0,chardev=sync,name=gpgpu.sync',
            '-serial', 'mon:stdio' if interactive else 'stdio',
        ]
        if sandbox:
            self.command += ['-sandbox', 'on,spawn=deny,obsolete=deny,elevateprivileges=deny']
        self.command += list(qemu_args)
        for d in devices:
            self.command += ['-device', d]
        if interactive:
            self.process = subprocess.Popen(self.command, env=self.env)
            return
        self.errors = open(self.path('stderr'), 'w+', encoding='utf-8', errors='replace')
        self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self._thread(self._read_console)
        self._wait_socket('sync')
        if self.on_sync:
            self._thread(self._serve_sync)

    def _thread(self, target):
        t = threading.Thread(target=target, daemon=True)
        t.start()
        self.threads.append(t)

    def _wait_socket(self, name):
        while not os.path.exists(self.path(name)):
            if self.process.poll() is not None:
                raise GuestError(f'QEMU did not start: {self.stderr()}')
            if time.monotonic() > self.deadline:
                raise GuestError('QEMU did not start in time')
            time.sleep(0.01)

    def stderr(self):
        self.errors.flush()
        self.errors.seek(0)
        text = self.errors.read().strip()
        return text or f'exit status {self.process.returncode}'

    def _read_console(self):
        with open(self.path('console.log'), 'wb') as log:
            while True:
                data = os.read(self.process.stdout.fileno(), 65536)
                if not data:
                    return
                log.write(data)
                log.flush()
                if self.console:
                    self.console.write(data.decode(errors='replace').replace('\r', ''))
                    self.console.flush()

    def _serve_sync(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path('sync'))
        with sock, sock.makefile('rw', encoding='utf-8', errors='replace') as f:
            try:
                for line in f:
                    try:
                        answer = self.on_sync(line.split()) or 'ok'
                    except Exception as e:  # whatever it is, the guest must not wait for ever
                        self.sync_error = e
                        answer = f'fail {e}'
                    f.write(answer.replace('\n', ' ') + '\n')
                    f.flush()
            except OSError:
                pass

    @property
    def qmp(self):
        if not self._qmp:
            self._wait_socket('qmp')
            self._qmp = QMP(self.path('qmp'), max(1, self.deadline - time.monotonic()))
        return self._qmp

    def console_text(self):
        with open(self.path('console.log'), encoding='utf-8', errors='replace') as f:
            return f.read().replace('\r', '')

    def wait(self):
        """The status of the guest's script; its output folder is then in `out`."""
        try:
            self.process.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self._collect()
            raise GuestError(f'the guest did not finish within {self.timeout} s') from None
        for t in self.threads[:1]:
            t.join(5)
        status = self._collect()
        if self.process.returncode != 0:
            raise GuestError(f'QEMU died: {self.stderr()}')
        if status is None:
            raise GuestError('the guest died before it said how its script ended')
        return status

    def _collect(self):
        """Unpacks what the guest sent; the status in it, or None."""
        if self.out:
            os.makedirs(self.out, exist_ok=True)
            shutil.copy(self.path('console.log'), self.out)
        status = None
        try:
            with tarfile.open(self.path('out.tar')) as tar:
                for m in tar:
                    name = os.path.normpath(m.name)
                    if name == '.status':
                        status = int(tar.extractfile(m).read())
                    elif self.out and m.isfile() and not name.startswith(('/', '..')):
                        to = os.path.join(self.out, name)
                        os.makedirs(os.path.dirname(to), exist_ok=True)
                        with open(to, 'wb') as f:
                            shutil.copyfileobj(tar.extractfile(m), f)
        except (tarfile.TarError, FileNotFoundError, ValueError):
            return None
        return status

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.tmp, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def fail(text):
    sys.exit(f'error: {text}')
