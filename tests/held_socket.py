"""A test implementation of systemd's socket activation and readiness protocol."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import trio

from edge_worker.harness.service import environment

# The new process sets LISTEN_PID to its own id, because its parent does not know the id before the start.
_AS_SYSTEMD_STARTS = """
import os, sys
for to, held in enumerate(sys.argv[1].split(",") if sys.argv[1] else (), start=3):
    os.dup2(int(held), to)
os.environ["LISTEN_PID"] = os.environ["WATCHDOG_PID"] = str(os.getpid())
os.execv(sys.executable, [sys.executable, "-m", "svc", "serve", *sys.argv[2:]])
"""
_COMES_S = 60.0


@dataclass
class Holder:
    """Listening sockets that stay open while the service is restarted."""

    folder: Path
    settings: Mapping[str, str]
    sockets: list[socket.socket]
    environ: dict[str, str]
    told_at: trio.socket.SocketType
    arguments: tuple[str, ...] = ()  # arguments of `svc serve`
    told: list[str] = field(default_factory=list)  # notifications from the service that is running or ran last
    process: trio.Process | None = None
    announced: list[str] = field(default_factory=list)  # URLs printed on standard output

    @property
    def url(self) -> str:
        """The URL of the first socket."""
        host, port = self.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def start(self, ready: str = "READY=1") -> None:
        """Start the service, and wait until it sends the notification `ready`."""
        self.told.clear()
        # Duplicate the descriptors to high numbers, so that they do not collide with those that the service expects.
        held = [os.dup(each.fileno()) for each in self.sockets]
        high = [fd + 100 for fd in held]
        for fd, above in zip(held, high, strict=True):
            os.dup2(fd, above)
            os.close(fd)
        try:
            with (self.folder / "log").open("ab") as log:
                self.process = await trio.lowlevel.open_process(
                    [sys.executable, "-c", _AS_SYSTEMD_STARTS, ",".join(map(str, high)), *self.arguments],
                    env={**environment(self.folder, self.settings), **self.environ, "LISTEN_FDS": str(len(high))},
                    stdout=subprocess.PIPE,
                    stderr=log,
                    pass_fds=high,
                )
        finally:
            for fd in high:
                os.close(fd)
        await self.hears(ready)

    async def hears(self, line: str) -> None:
        """Wait until the service has sent this notification. Raises AssertionError if the service ends before that."""
        process = self.process
        assert process is not None
        with trio.fail_after(_COMES_S):
            while line not in self.told:
                with trio.move_on_after(0.5):
                    self.told += (await self.told_at.recv(10_000)).decode().splitlines()
                assert process.poll() is None or line in self.told, (self.folder / "log").read_text()

    async def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Stop the service, and collect its printed URLs and notifications."""
        process = self.process
        assert process is not None
        self._drain()
        async with trio.open_nursery() as nursery:
            # Read notifications while the service stops. The kernel queues only ten datagrams, and the service waits if
            # the queue is full.
            nursery.start_soon(self._collect)
            process.send_signal(by)
            status = await process.wait()
            nursery.cancel_scope.cancel()
        assert status == (0 if by == signal.SIGTERM else -by), (self.folder / "log").read_text()
        assert process.stdout is not None
        said = await process.stdout.receive_some(10_000)
        await process.stdout.aclose()
        self.announced += [json.loads(line)["url"] for line in said.splitlines()]
        self.process = None
        self._drain()

    async def _collect(self) -> None:
        while True:
            self.told += (await self.told_at.recv(10_000)).decode().splitlines()

    def _drain(self) -> None:
        """Read pending notifications without waiting."""
        with suppress(BlockingIOError):
            while True:
                self.told += self.told_at._sock.recv(10_000, socket.MSG_DONTWAIT).decode().splitlines()  # type: ignore[attr-defined]


@asynccontextmanager
async def open_holder(
    folder: Path,
    settings: Mapping[str, str],
    *,
    sockets: int = 1,
    abstract: bool = True,
    watchdog_s: float | None = None,
    arguments: tuple[str, ...] = (),
) -> AsyncIterator[Holder]:
    """Open sockets on free ports without starting the service.

    `abstract`: receive notifications at an abstract Unix socket.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"svc-{secrets.token_hex(8)}"
    held = [socket.create_server(("127.0.0.1", 0), backlog=4_096) for _ in range(sockets)]
    told_at = trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    # The path of a Unix socket can have at most 107 bytes. Use a short path, because the path of a test's folder can be
    # longer.
    short = tempfile.TemporaryDirectory(prefix="svc-")
    place = f"{short.name}/{name}"
    environ = {"NOTIFY_SOCKET": f"@{name}" if abstract else place}
    if watchdog_s is not None:
        environ["WATCHDOG_USEC"] = str(int(watchdog_s * 1_000_000))
    holder = Holder(folder, settings, held, environ, told_at, arguments)
    try:
        await told_at.bind(f"\0{name}" if abstract else place)
        yield holder
    finally:
        with trio.CancelScope(shield=True):
            if holder.process is not None:
                holder.process.kill()
                await holder.process.wait()
        told_at.close()
        short.cleanup()
        for each in held:
            each.close()
