"""What systemd does for the service, done by a test: its socket outlives the process, which tells when it is ready."""

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

# Who hands over descriptors cannot know the process before it is there; it says itself which it is.
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
    """Sockets that listen, and the service that is started for them, again and again."""

    folder: Path
    settings: Mapping[str, str]
    sockets: list[socket.socket]
    environ: dict[str, str]
    told_at: trio.socket.SocketType
    arguments: tuple[str, ...] = ()  # of `svc serve`
    told: list[str] = field(default_factory=list)  # by the service that runs, or ran last
    process: trio.Process | None = None
    announced: list[str] = field(default_factory=list)  # the URLs on its standard output

    @property
    def url(self) -> str:
        """Of the first socket."""
        host, port = self.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def start(self, ready: str = "READY=1") -> None:
        """Start the service, and wait until it says that it is ready."""
        self.told.clear()
        # Above those that the service is to find; a copy of each.
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
        """Wait until the service has told this line. Raises AssertionError: it ended before."""
        process = self.process
        assert process is not None
        with trio.fail_after(_COMES_S):
            while line not in self.told:
                with trio.move_on_after(0.5):
                    self.told += (await self.told_at.recv(10_000)).decode().splitlines()
                assert process.poll() is None or line in self.told, (self.folder / "log").read_text()

    async def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """End the service; what it said is in `announced`, what it told at the end in `told`."""
        process = self.process
        assert process is not None
        self._drain()
        async with trio.open_nursery() as nursery:
            # The kernel keeps ten of them: who does not read keeps the service from telling that it stops.
            nursery.start_soon(self._hear)
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

    async def _hear(self) -> None:
        while True:
            self.told += (await self.told_at.recv(10_000)).decode().splitlines()

    def _drain(self) -> None:
        """Read what has been told, and do not wait."""
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
    """So many sockets on free ports, nothing is started. `abstract`: the service tells to a name in no folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"svc-{secrets.token_hex(8)}"
    held = [socket.create_server(("127.0.0.1", 0), backlog=4_096) for _ in range(sockets)]
    told_at = trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    # The path of a Unix socket has at most 107 bytes, and the folder of a test may be long.
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
