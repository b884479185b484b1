"""Finds the workerd binary, starts it with listening sockets of this process, monitors it, and ends it."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Callable

# Names of the npm packages that contain the binary, one per platform.
SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
MACHINES = {"x86_64": "64", "AMD64": "64", "aarch64": "arm64", "arm64": "arm64"}
START_S = 20
STOP_S = 3
KEPT_LINES = 500
_POLL_S = 0.001  # on an idle host, the first or second poll is sufficient


class StartFailed(Exception):
    """Raised if workerd ends before it listens, because its configuration or a script is invalid.

    The message is the output of workerd.
    """


def binary() -> Path:
    """Return the path of the installed workerd. Raises FileNotFoundError with the command that installs it."""
    name = f"workerd-{SYSTEMS[platform.system()]}-{MACHINES[platform.machine()]}"
    path = Path(__file__).parents[2] / "node_modules" / "@cloudflare" / name / "bin" / "workerd"
    if not path.exists():
        raise FileNotFoundError(f"workerd is not installed (package @cloudflare/{name}). Run: make build")
    return path


def listening_socket(port: int = 0) -> socket.socket:
    """Open a listening socket on the loopback interface. It outlives the processes that accept connections on it."""
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    listener.setblocking(False)
    if sys.platform == "linux":
        # The kernel hands over a connection only after its request has arrived. A process that is shutting down
        # therefore holds no connection without a request.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
    return listener


def port_of(listener: socket.socket) -> int:
    """Return the port of a listening socket."""
    return int(listener.getsockname()[1])


def _end_with_parent() -> Callable[[], None] | None:
    """Return a function to run in the child. On Linux, it makes the kernel end the child when this process ends."""
    if sys.platform != "linux":
        return None
    prctl, set_death_signal = ctypes.CDLL(None).prctl, 1
    return lambda: prctl(set_death_signal, signal.SIGKILL)


class Workerd:
    """A running workerd. Created by `start`."""

    def __init__(self, process: subprocess.Popen[bytes], control: trio.lowlevel.FdStream) -> None:
        self._process, self._control = process, control
        self.ended = trio.Event()
        self.lines: list[str] = []
        self._terminated = False

    @classmethod
    async def start(
        cls, config: Path, sockets: dict[str, socket.socket], nursery: trio.Nursery, log: Callable[[str], None]
    ) -> Workerd:
        """Start workerd, and wait until it listens on all sockets.

        `log` is called with each line of workerd's output. Raises StartFailed with the output if workerd exits instead.
        """
        read_end, write_end = os.pipe()
        arguments = [str(binary()), "serve", "--experimental", f"--control-fd={write_end}"]
        arguments += [f"--socket-fd={name}={listener.fileno()}" for name, listener in sockets.items()]
        # Start workerd from this thread, not from one of Trio's worker threads, because Linux sends the child's death
        # signal when the thread that created the child ends.
        process = subprocess.Popen(  # noqa: S603, ASYNC220 (a fixed binary; it takes a millisecond)
            [*arguments, str(config)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=[write_end, *(listener.fileno() for listener in sockets.values())],
            start_new_session=True,  # Ctrl-C reaches only this process, which then shuts the child down cleanly
            preexec_fn=_end_with_parent(),
        )  # fmt: skip
        os.close(write_end)
        workerd = cls(process, trio.lowlevel.FdStream(read_end))
        started = trio.Event()
        nursery.start_soon(workerd._read_output, log, started)
        try:
            with trio.fail_after(START_S):
                await workerd._until_listening(set(sockets))
        except BaseException:
            process.kill()
            raise
        finally:
            started.set()
        nursery.start_soon(workerd._watch)
        return workerd

    async def _until_listening(self, wanted: set[str]) -> None:
        text = b""
        while wanted:
            chunk = await self._control.receive_some()
            if not chunk:
                self._process.wait()
                await self.ended.wait()
                raise StartFailed("\n".join(self.lines))
            *lines, text = (text + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event.get("event") == "listen":
                    wanted.discard(event["socket"])

    async def _read_output(self, log: Callable[[str], None], started: trio.Event) -> None:
        """Read workerd's output until it ends."""
        assert self._process.stdout is not None
        text = b""
        async with trio.lowlevel.FdStream(os.dup(self._process.stdout.fileno())) as output:
            self._process.stdout.close()
            async for chunk in output:
                *lines, text = (text + chunk).split(b"\n")
                for line in lines:
                    self.lines.append(line.decode(errors="replace"))
                    del self.lines[:-KEPT_LINES]
                    if started.is_set():
                        log(self.lines[-1])
        self.ended.set()

    async def _watch(self) -> None:
        """Reap the process when its end of the control pipe is closed.

        Raises RuntimeError if workerd has ended for a reason other than a call of `stop` or `terminate`.
        """
        async for _ in self._control:
            pass
        status = self._process.wait()
        if not self._terminated:
            raise RuntimeError(f"workerd ended unexpectedly with status {status}")

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def terminate(self) -> None:
        """Ask workerd to stop accepting connections, and to exit after it has responded to all open requests."""
        self._terminated = True
        self._process.terminate()

    async def stop_listening(self, listener: socket.socket) -> None:
        """Terminate workerd, and wait until it no longer listens on `listener`. The socket stays open in another
        process.
        """
        self.terminate()
        file = f"socket:[{os.fstat(listener.fileno()).st_ino}]"
        while self._has(file):  # noqa: ASYNC110 (there is no event for it)
            await trio.sleep(_POLL_S)

    def _has(self, file: str) -> bool:
        """Return True if, according to Linux, the process has this file open. Return False on other systems."""
        try:
            return any(str(link.readlink()) == file for link in Path(f"/proc/{self.pid}/fd").iterdir())
        except OSError:  # the process has ended or closed a file in the meantime
            return self._process.poll() is None and Path("/proc/self/fd").exists()

    async def stop(self) -> None:
        """End workerd gracefully, or by force after 3 s."""
        self.terminate()
        with trio.move_on_after(STOP_S):
            await trio.to_thread.run_sync(self._process.wait, abandon_on_cancel=True)
        if self._process.poll() is None:
            self._process.kill()
            await trio.to_thread.run_sync(self._process.wait)
