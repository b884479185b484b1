"""What systemd hands to the service, and what it is told: sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3).

Whoever does as systemd does is served the same: a socket that is held by somebody else outlives the process, so that a
restart refuses nobody. Without any of the variables nothing here does anything.
"""

from __future__ import annotations

import logging
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from svc.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

log = logging.getLogger(__name__)

_FIRST_DESCRIPTOR = 3
# What is told is one datagram to the same machine.
_TELL_S = 5.0
# Without a watchdog, how often it is looked whether the status is another.
_STATUS_EVERY_S = 15.0


@dataclass(frozen=True)
class Systemd:
    """`sockets`: what to listen on; `tell_at`: the address of who wants to be told, "" for nobody; `watchdog_s`: who
    is silent for so long is taken for hung, and started again."""

    sockets: tuple[socket.socket, ...] = ()
    tell_at: str = ""
    watchdog_s: float | None = None

    async def tell(self, *lines: str) -> None:
        """Tell it, as sd_notify(3) has it. Raises nothing: the service goes on, whoever does not listen."""
        if not self.tell_at:
            return
        # What begins with @ is a name that is in no folder.
        address = f"\0{self.tell_at[1:]}" if self.tell_at.startswith("@") else self.tell_at
        try:
            with trio.fail_after(_TELL_S), trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
                await to.connect(address)
                await to.send("\n".join(lines).encode())
        except (OSError, trio.TooSlowError) as error:
            log.warning("systemd could not be told", extra={"what": lines[0], "error": str(error)})

    async def keep_told(self, trouble: Callable[[], str | None]) -> None:
        """Tell that the service lives, which it does while this task has its turns, and what `trouble` it has.

        Until it is cancelled. A store that is away is told and does not end the watchdog's patience: a restart would
        not bring it back.
        """
        if not self.tell_at:
            return
        told: str | None = None  # none, as was said when it was ready
        while True:
            now = trouble()
            lines = ["WATCHDOG=1"] if self.watchdog_s is not None else []
            if now != told:
                lines.append(f"STATUS={now or 'serving'}")
                told = now
            if lines:
                await self.tell(*lines)
            await trio.sleep(_STATUS_EVERY_S if self.watchdog_s is None else self.watchdog_s / 2)


def from_environment(
    environ: MutableMapping[str, str], *, pid: int | None = None, first: int = _FIRST_DESCRIPTOR
) -> Systemd:
    """What the environment of this process says, taken out of it: it is for no other process.

    `pid`: this process; `first`: the first descriptor that is handed over.

    Raises ConfigError: a descriptor that was handed over is no TCP socket that listens, or a number is none.
    """
    pid = os.getpid() if pid is None else pid
    taken = {name: environ.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "WATCHDOG_PID", "WATCHDOG_USEC")}
    environ.pop("LISTEN_FDNAMES", None)
    count = 0
    if taken["LISTEN_PID"] == str(pid):  # else it was for a process that started this one
        count = _number("LISTEN_FDS", taken["LISTEN_FDS"])
    watchdog_us = 0
    if taken["WATCHDOG_PID"] in ("", str(pid)):
        watchdog_us = _number("WATCHDOG_USEC", taken["WATCHDOG_USEC"])
    return Systemd(
        sockets=tuple(_socket(first + at) for at in range(count)),
        tell_at=environ.pop("NOTIFY_SOCKET", ""),
        watchdog_s=watchdog_us / 1_000_000 or None,
    )


def _number(name: str, value: str) -> int:
    try:
        number = int(value or 0)
    except ValueError:
        number = -1
    if number < 0:
        raise ConfigError(f"The environment variable {name} is {value!r}, and must be a number.")
    return number


def _socket(descriptor: int) -> socket.socket:
    trouble = f"Descriptor {descriptor}, which systemd has handed over, is no TCP socket that listens"
    remedy = "the socket unit needs ListenStream= with an address and a port, and Accept=no."
    try:
        found = socket.socket(fileno=descriptor)
    except OSError as error:
        raise ConfigError(f"{trouble} ({error.strerror}): {remedy}") from None
    kind = (found.family in (socket.AF_INET, socket.AF_INET6), found.type == socket.SOCK_STREAM)
    if not all(kind) or not found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        found.detach()  # it is not ours
        raise ConfigError(f"{trouble}: {remedy}")
    found.set_inheritable(False)
    return found
