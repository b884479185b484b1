"""Starts the emulator and the service, either as new processes or as forks of a prepared process.

Loading either program takes a second of CPU time, which is more than most tests need. Within `forking`, a process that
has loaded both is kept ready. Each program is then a fork of this process, with separate arguments, environment and
output. `python -m edge_worker.programs` starts the forking process, whose code is at the end of this file.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[1]
_MAX_BYTES = 100_000  # maximum size of a request, which is one packet of the socket
_NUMBER_BYTES = 4
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class Fork:
    """A forked program, with the part of the `trio.Process` interface that is needed."""

    def __init__(self, pid: int, stdout: trio.lowlevel.FdStream, ending: int) -> None:
        self.pid, self.stdout = pid, stdout
        self.returncode: int | None = None
        self._ending = ending

    def poll(self) -> int | None:
        """Return the exit status, or None while the program is running."""
        if self.returncode is None:
            with suppress(BlockingIOError):
                self.returncode = _number(os.read(self._ending, _NUMBER_BYTES))
                os.close(self._ending)
        return self.returncode

    async def wait(self) -> int:
        """Wait until the program has ended, and return its exit status."""
        status = self.poll()
        while status is None:
            await trio.lowlevel.wait_readable(self._ending)
            status = self.poll()
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


async def open_program(
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stderr: int | None = None,
    folder: Path | None = None,
) -> trio.Process | Fork:
    """Start `python <arguments>` (`-m module …` or `-c source …`) with a pipe as its standard output.

    `stdin`, `stderr`: a file descriptor; `stderr` can also be subprocess.STDOUT. `folder`: its working directory
    (default: that of this process). Without `environ`, the program inherits the environment of this process.
    """
    if not _READY:
        return await trio.lowlevel.open_process(
            [sys.executable, *arguments],
            env=environ, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, cwd=folder,
        )  # fmt: skip
    order = {
        "arguments": list(arguments),
        "environ": dict(os.environ if environ is None else environ),
        "folder": str(folder or Path.cwd()),
    }
    return await _READY[-1].fork(order, _STDIN if stdin is None else stdin, _STDERR if stderr is None else stderr)


async def run_program(
    arguments: Sequence[str], *, environ: Mapping[str, str] | None = None, folder: Path | None = None, text: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run `python <arguments>` until it ends. Return its exit status and its output as bytes.

    `text`: the program's standard input.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(text.encode())
        given.seek(0)
        process = await open_program(
            arguments, environ=environ, stdin=given.fileno(), stderr=errors.fileno(), folder=folder
        )
        assert process.stdout is not None
        try:
            async with process.stdout as output:
                printed = b"".join([chunk async for chunk in output])
            status = await process.wait()
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
        errors.seek(0)
        return subprocess.CompletedProcess(arguments, status, printed, errors.read())


async def first_line(process: trio.Process | Fork) -> bytes:
    """Wait for a program's first line of output. Return it without its line break, or b"" if the program ends first.

    Output after the first line may be lost.
    """
    assert process.stdout is not None
    line = b""
    while b"\n" not in line:
        received = await process.stdout.receive_some()
        if not received:
            return b""
        line += received
    return line.partition(b"\n")[0]


async def end_program(process: trio.Process | Fork) -> int:
    """Send SIGTERM to a program and wait until it has ended. Return its exit status."""
    assert process.stdout is not None
    process.terminate()
    status = await process.wait()
    await process.stdout.aclose()
    return status


@contextmanager
def forking(*modules: str) -> Iterator[None]:
    """Start programs as forks of a process that has loaded `modules`. The forking process starts when the first program
    does.
    """
    _READY.append(_Ready(modules))
    try:
        yield
    finally:
        _READY.pop().end()


class _Ready:
    """The forking process, as seen by its parent."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def fork(self, order: Mapping[str, object], stdin: int, stderr: int) -> Fork:
        control = self._control or self._begun()
        stdout, their_stdout = os.pipe()
        ending, their_ending = os.pipe()
        try:
            errors = their_stdout if stderr == subprocess.STDOUT else stderr
            socket.send_fds(control, [json.dumps(order).encode()], [stdin, their_stdout, errors, their_ending])
        finally:
            os.close(their_stdout)
            os.close(their_ending)
        os.set_blocking(ending, False)
        with trio.CancelScope(shield=True):  # a process that was started must be ended, even if this task is canceled
            await trio.lowlevel.wait_readable(ending)
        return Fork(_number(os.read(ending, _NUMBER_BYTES)), trio.lowlevel.FdStream(stdout), ending)

    def _begun(self) -> socket.socket:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno()), *self._modules]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=ROOT)
        return self._control

    def end(self) -> None:
        if self._control is not None and self._process is not None:
            self._control.close()
            self._process.wait()


# The forking processes of nested `forking` blocks. The last entry belongs to the innermost block.
_READY: list[_Ready] = []


def _number(read: bytes) -> int:
    """Return the number that the forking process has sent. Raises RuntimeError if the forking process has ended."""
    if len(read) != _NUMBER_BYTES:
        raise RuntimeError("the process that forks programs has ended")
    return int.from_bytes(read, "little", signed=True)


# --------------------------------------------------------------------------------------------- in the forking process


def _ordered(control: socket.socket) -> list[str]:
    """Fork for each request until the parent sends no more. In a fork, return the arguments of the program to run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the parent, which ends the programs
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, _MAX_BYTES, 4)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # reap children, so that their CPU time counts toward this process
        if not order:
            sys.exit()
        *streams, ending = descriptors
        # An intermediate process waits for the program to end and reports its exit status.
        if os.fork() == 0:
            control.close()
            pid = os.fork()
            if pid == 0:
                os.close(ending)
                return _begin(json.loads(order), streams)
            for stream in streams:
                os.close(stream)
            os.write(ending, pid.to_bytes(_NUMBER_BYTES, "little"))
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with suppress(BrokenPipeError):
                os.write(ending, status.to_bytes(_NUMBER_BYTES, "little", signed=True))
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _begin(order: dict[str, Any], streams: Sequence[int]) -> list[str]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, number in zip(streams, (_STDIN, _STDOUT, _STDERR), strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # the inherited sys.stdout may have been opened for a seekable file
    sys.stdout = os.fdopen(_STDOUT, "w", closefd=False)
    os.environ.clear()
    os.environ.update(order["environ"])
    os.chdir(order["folder"])
    arguments: list[str] = order["arguments"]
    return arguments


def _run(arguments: list[str]) -> None:
    kind, what, *more = arguments
    sys.argv = [kind, *more]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})


def _load(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)
        if name.endswith(".__main__"):
            del sys.modules[name]  # the module is executed as a program, so it must not be imported already
    gc.freeze()  # forks then do not copy memory pages that they only read


if __name__ == "__main__":
    _load(sys.argv[2:])
    _run(_ordered(socket.socket(fileno=int(sys.argv[1]))))
