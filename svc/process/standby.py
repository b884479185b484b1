"""`svc serve --standby`: waits while another service has the store, and serves when that one has gone.

While it waits it listens on no port, so whoever distributes requests sees at once that it does not serve. That it lives
is told to systemd, and to `svc health` through a socket that has a name and no file, and ends with the process.
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
from svc.store import open_look
from svc.store.engines.served import Away, Served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from svc.config import Config
    from svc.process.systemd import Systemd
    from svc.store import Look

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.5
# An answer of a few words to the same machine.
_ANSWER_S = 5.0
_WAITS = "standby: another svc serve has the store"
_AWAY = "standby: the store is away"
_TAKES = "standby: takes the store over"


async def stand_by(config: Config, systemd: Systemd, serve: Callable[[], Awaitable[None]]) -> None:
    """Call `serve` once no other service has the store; return when it has ended, or on SIGTERM or SIGINT.

    Raises ConfigError: what `serve` raises; at the start a store that is away; at any time what would keep this process
    from serving, and that waiting does not mend.
    """
    standby = _Standby(config, systemd)
    async with trio.open_nursery() as beside:
        # systemd takes one that waits for started, so its watchdog also asks while the store is being taken.
        beside.start_soon(systemd.keep_told, lambda: None)
        while await standby.turn_comes():
            try:
                await serve()
                break
            except Served as error:
                log.info("standby: another one was quicker", extra={"why": str(error)})
        beside.cancel_scope.cancel()


class _Standby:
    def __init__(self, config: Config, systemd: Systemd) -> None:
        self._config = config
        self._systemd = systemd
        self._state = ""  # in words; "": it has not had to wait

    async def turn_comes(self) -> bool:
        """Wait until the store is free: True; False: the process is to end."""
        comes = False
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with open_look(self._config.store) as look, trio.open_nursery() as beside:
                beside.start_soon(self._stop, signals, beside.cancel_scope)
                beside.start_soon(self._answer)
                await self._wait(look)
                comes = True
                beside.cancel_scope.cancel()
        return comes

    async def _stop(self, signals: AsyncIterator[int], waiting: trio.CancelScope) -> None:
        log.info("standby: stops", extra={"signal": signal.Signals(await anext(signals)).name})
        await self._systemd.tell("STOPPING=1")
        waiting.cancel()

    async def _wait(self, look: Look) -> None:
        while True:
            try:
                if await look():
                    break
                if not self._state:
                    self._look_ahead()
                await self._say(_WAITS)
            except Away as error:
                if not self._state:  # an operator who starts it wants to know
                    raise
                await self._say(_AWAY, why=str(error))
            await trio.sleep(_LOOK_EVERY_S)
        if self._state:
            await self._say(_TAKES)

    def _look_ahead(self) -> None:
        """What would keep this one from serving is told now, and not when it is needed. Raises ConfigError."""
        key_file = self._config.vault.key_file
        if not key_file.exists():
            raise ConfigError(f"There is no key file {key_file}: a standby needs that of the service it waits for.")
        open_vault(self._config.vault, {}, make=False)
        if self._systemd.sockets:
            log.warning("systemd listens: who connects to the standby waits until it serves, and is not sent elsewhere")

    async def _say(self, state: str, **more: str) -> None:
        if state != self._state:
            self._state = state
            log.log(logging.INFO if state == _WAITS else logging.WARNING, state, extra=more)
            await self._systemd.tell("READY=1", f"STATUS={state}")

    async def _answer(self) -> None:
        """Tell everybody on this machine who connects what it does."""
        here = self._config.http.bind
        if addresses.parse_bind(here)[1] == 0:  # nobody could know the name
            return
        with trio.socket.socket(trio.socket.AF_UNIX) as named:
            try:
                await named.bind(addresses.standby_name(here))
            except OSError as error:
                log.warning("svc health is not told of this standby", extra={"why": str(error)})
                return
            named.listen()
            await trio.serve_listeners(self._tell, [trio.SocketListener(named)])

    async def _tell(self, asker: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError), trio.move_on_after(_ANSWER_S):
            await asker.send_all(self._state.encode())
