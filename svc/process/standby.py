"""`svc serve --standby`: wait while another service uses the store, then serve.

A waiting standby does not listen on its port. Load balancers can therefore detect that it does not serve requests. The
standby reports its state to systemd, and to `svc health` over a Unix socket in the abstract namespace. The socket's
name disappears with the process.
"""

from __future__ import annotations

import logging
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from svc import addresses
from svc.config import ConfigError
from svc.security.vault import open_vault
from svc.store import open_poll
from svc.store.engines.served import Away, Served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from svc.config import Config
    from svc.process.systemd import Systemd
    from svc.store import Look

log = logging.getLogger(__name__)

_POLL_EVERY_S = 0.5
# Timeout for sending the state to a client on the same host.
_ANSWER_S = 5.0
_WAITS = "standby: another svc serve uses the store"
_AWAY = "standby: the store is unavailable"
_TAKES = "standby: taking over the store"


async def stand_by(config: Config, systemd: Systemd, serve: Callable[[], Awaitable[None]]) -> None:
    """Wait until no other service uses the store, then call `serve`. Return when `serve` ends, or on SIGTERM or SIGINT.

    Raises ConfigError if the store is unavailable at the start. It also raises ConfigError if this process has a
    problem that waiting cannot solve, such as a missing key file. Exceptions raised by `serve` propagate to the caller.
    """
    standby = _Standby(config, systemd)
    async with trio.open_nursery() as nursery:
        # Notify the watchdog during the takeover, too. systemd expects this because it considers a waiting standby
        # started.
        nursery.start_soon(systemd.keep_notified, lambda: None)
        while await standby.wait_for_store():
            try:
                await serve()
                break
            except Served as error:
                log.info("standby: another standby was faster", extra={"why": str(error)})
        nursery.cancel_scope.cancel()


class _Standby:
    def __init__(self, config: Config, systemd: Systemd) -> None:
        self._config = config
        self._systemd = systemd
        self._state = ""  # the last reported state, or "" before the first one

    async def wait_for_store(self) -> bool:
        """Wait until the store is free. Return False if the process was asked to stop."""
        is_free = False
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with open_poll(self._config.store) as look, trio.open_nursery() as nursery:
                nursery.start_soon(self._stop, signals, nursery.cancel_scope)
                nursery.start_soon(self._serve_state)
                await self._wait(look)
                is_free = True
                nursery.cancel_scope.cancel()
        return is_free

    async def _stop(self, signals: AsyncIterator[int], waiting: trio.CancelScope) -> None:
        log.info("standby: stopping", extra={"signal": signal.Signals(await anext(signals)).name})
        await self._systemd.notify("STOPPING=1")
        waiting.cancel()

    async def _wait(self, look: Look) -> None:
        while True:
            try:
                if await look():
                    break
                if not self._state:
                    self._check_setup()
                await self._report(_WAITS)
            except Away as error:
                if not self._state:  # if the first poll fails, fail at startup, so that the operator notices
                    raise
                await self._report(_AWAY, why=str(error))
            await trio.sleep(_POLL_EVERY_S)
        if self._state:
            await self._report(_TAKES)

    def _check_setup(self) -> None:
        """Raise ConfigError if this process could not take over and serve."""
        key_file = self._config.vault.key_file
        if not key_file.exists():
            raise ConfigError(
                f"The key file {key_file} does not exist. A standby needs the key file of the active service."
            )
        open_vault(self._config.vault, {}, make=False)
        if self._systemd.sockets:
            log.warning(
                "systemd holds the listening socket, so clients of this standby wait instead of being sent elsewhere"
            )

    async def _report(self, state: str, **more: str) -> None:
        if state != self._state:
            self._state = state
            log.log(logging.INFO if state == _WAITS else logging.WARNING, state, extra=more)
            await self._systemd.notify("READY=1", f"STATUS={state}")

    async def _serve_state(self) -> None:
        """Report the state to clients on this host, such as `svc health`."""
        here = self._config.http.bind
        # The socket's name contains the port. If the system chooses the port, clients cannot know the name.
        if addresses.parse_bind(here)[1] == 0:
            return
        with trio.socket.socket(trio.socket.AF_UNIX) as named:
            try:
                await named.bind(addresses.standby_name(here))
            except OSError as error:
                log.warning("standby: svc health cannot query this standby", extra={"why": str(error)})
                return
            named.listen()
            await trio.serve_listeners(self._send_state, [trio.SocketListener(named)])

    async def _send_state(self, client: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError), trio.move_on_after(_ANSWER_S):
            await client.send_all(self._state.encode())
