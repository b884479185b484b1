"""The systemd interface: sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3).

The module also works with other supervisors that use this protocol. If the supervisor opens the sockets, they stay open
while the service restarts, so no connections are refused. Without the environment variables of the protocol, the module
does nothing.
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
# Timeout for a notification, which is one datagram on the same host.
_TELL_S = 5.0
# Interval at which the status is checked for changes if there is no watchdog.
_STATUS_EVERY_S = 15.0


@dataclass(frozen=True)
class Systemd:
    """The sockets and settings that systemd passes to the service.

    `sockets`: the listening sockets. `notify_address`: the address for notifications, or "" to send none. `watchdog_s`:
    systemd restarts the service after this time without a notification. None without a watchdog.
    """

    sockets: tuple[socket.socket, ...] = ()
    notify_address: str = ""
    watchdog_s: float | None = None

    async def notify(self, *lines: str) -> None:
        """Send a notification in the format of sd_notify(3). Failures are logged and not raised."""
        if not self.notify_address:
            return
        # A leading @ means that the name is in the abstract namespace.
        address = f"\0{self.notify_address[1:]}" if self.notify_address.startswith("@") else self.notify_address
        try:
            with trio.fail_after(_TELL_S), trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
                await to.connect(address)
                await to.send("\n".join(lines).encode())
        except (OSError, trio.TooSlowError) as error:
            log.warning("systemd notification failed", extra={"what": lines[0], "error": str(error) or "timed out"})

    async def keep_notified(self, problem: Callable[[], str | None]) -> None:
        """Notify the watchdog and report the status until cancelled. `problem` returns the current problem or None.

        The watchdog detects a blocked event loop. The service notifies the watchdog even while the store is
        unavailable, because a restart would not help in that case.
        """
        if not self.notify_address:
            return
        reported: str | None = None  # None, because no problem has been reported yet
        while True:
            current = problem()
            lines = ["WATCHDOG=1"] if self.watchdog_s is not None else []
            if current != reported:
                lines.append(f"STATUS={current or 'serving'}")
                reported = current
            if lines:
                await self.notify(*lines)
            await trio.sleep(_STATUS_EVERY_S if self.watchdog_s is None else self.watchdog_s / 2)


def from_environment(
    environ: MutableMapping[str, str], *, pid: int | None = None, first: int = _FIRST_DESCRIPTOR
) -> Systemd:
    """Read systemd's variables and remove them from the environment, so that child processes do not use them.

    `pid`: the id of this process. `first`: the first inherited descriptor.

    Raises ConfigError if an inherited descriptor is not a listening TCP socket, or a variable is not a number.
    """
    pid = os.getpid() if pid is None else pid
    taken = {name: environ.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "WATCHDOG_PID", "WATCHDOG_USEC")}
    environ.pop("LISTEN_FDNAMES", None)
    count = 0
    if taken["LISTEN_PID"] == str(pid):  # otherwise, the variables are not for this process, but for a parent process
        count = _number("LISTEN_FDS", taken["LISTEN_FDS"])
    watchdog_us = 0
    if taken["WATCHDOG_PID"] in ("", str(pid)):
        watchdog_us = _number("WATCHDOG_USEC", taken["WATCHDOG_USEC"])
    return Systemd(
        sockets=tuple(_socket(first + at) for at in range(count)),
        notify_address=environ.pop("NOTIFY_SOCKET", ""),
        watchdog_s=watchdog_us / 1_000_000 or None,
    )


def _number(name: str, value: str) -> int:
    try:
        number = int(value or 0)
    except ValueError:
        number = -1
    if number < 0:
        raise ConfigError(f"The environment variable {name} must be a number, but is {value!r}.")
    return number


def _socket(descriptor: int) -> socket.socket:
    problem = f"Descriptor {descriptor}, which systemd passed to the service, is not a listening TCP socket"
    remedy = "the socket unit needs ListenStream= with an address and a port, and Accept=no."
    try:
        listener = socket.socket(fileno=descriptor)
    except OSError as error:
        raise ConfigError(f"{problem} ({error.strerror}): {remedy}") from None
    kind = (listener.family in (socket.AF_INET, socket.AF_INET6), listener.type == socket.SOCK_STREAM)
    if not all(kind) or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        listener.detach()  # keep the descriptor open, because this process did not open it
        raise ConfigError(f"{problem}: {remedy}")
    listener.set_inheritable(False)
    return listener
