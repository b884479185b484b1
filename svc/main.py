"""The composition root: store, edge, supervisor, HTTP, each an `async with`; unwinding them is the shutdown.

SIGTERM or SIGINT ends it in order: no new connections, running requests have `graceful_s`, running operations
`drain_s`. A thread outside Trio ends the process hard when that takes too long, whatever holds it up.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import trio

from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.addresses import parse_bind
from svc.clock import system_clock
from svc.config import ConfigError
from svc.edge.client import open_edge
from svc.http.metrics_page import open_metrics_page
from svc.http.serving.app import create_app
from svc.http.serving.deps import Deps
from svc.http.serving.server import serve
from svc.http.serving.web import load_web
from svc.mail.outbox import open_outbox
from svc.metrics import Metrics, counting_log_lines
from svc.process.systemd import Systemd
from svc.security.vault import open_vault
from svc.store import open_store, users
from svc.store.working_tokens import sealed_tokens
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from svc.clock import Clock
    from svc.config import Config
    from svc.http.serving.web import Web
    from svc.store.tx import Store
    from svc.worker.bundle import WorkerBundle

log = logging.getLogger(__name__)

# After the graceful and the drain time: what closing store and edge may take.
_CLOSING_S = 5.0


@dataclass(frozen=True)
class Started:
    """What is known of a service that has just started."""

    url: str  # its own
    base_url: str  # that of its users
    web: bool  # whether it has a web application
    first: bool  # nobody has ever used it


async def run(
    config: Config,
    announce: Callable[[str], None],
    clock: Clock = system_clock,
    bundle: WorkerBundle | None = None,
    systemd: Systemd = Systemd(),  # noqa: B008  # it is frozen, and empty
    greet: Callable[[Started], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP. `announce` gets the service's own URL once it answers; `bundle`: the
    worker to install, by default the one in the package; `systemd`: whose sockets take the place of `[http] bind`;
    `greet` is called after `announce`.

    Raises Served: another service has the store; ConfigError: key file, bundle or store cannot be used, or another
    service has taken over the store.
    """
    bundle = bundle or load_bundle()
    metrics = Metrics()
    async with (
        open_store(config.store, serving=True, metrics=metrics) as store,
        open_edge(config.edge, metrics=metrics) as edge,
    ):
        vault = open_vault(config.vault, await store.read(sealed_tokens()))
        # Who has the store may listen. With port 0 only the socket knows where the workers are to push.
        listeners, host, port = _handed(systemd) or await _listen("http", config.http.bind)
        base_url = config.http.base_url or f"http://{host}:{port}"
        push_url = config.push_url(base_url)
        trouble = config.push_trouble(push_url)
        if trouble is not None:
            log.warning("no worker can be installed", extra={"why": trouble})
        context = Context(
            store=store,
            edge=edge,
            vault=vault,
            config=config,
            clock=clock,
            bundle=bundle,
            push_url=push_url,
            metrics=metrics,
        )
        async with (
            _metrics_page(config, store, clock, metrics, bundle),
            open_outbox(store, config, clock, base_url, metrics=metrics),
            open_supervisor(context) as supervisor,
            trio.open_nursery() as beside,
        ):
            web = _web(base_url)
            first = await store.read(users.nobody_yet())
            app = create_app(Deps(context, supervisor, base_url, web))
            _leave_out_of_collections()
            with trio.open_signal_receiver(*_endings()) as signals:
                announce(f"http://{host}:{port}")
                greet(Started(f"http://{host}:{port}", base_url, web is not None, first))
                await systemd.tell("READY=1", "STATUS=serving")
                beside.start_soon(systemd.keep_told, lambda: store.condition.trouble)
                await serve(
                    app,
                    listeners,
                    connections=config.http.connections,
                    graceful_s=config.http.graceful_s,
                    metrics=metrics,
                    until=partial(_signalled, signals, config, systemd),
                )
                beside.cancel_scope.cancel()
    log.info("stopped")


def _endings() -> list[signal.Signals]:
    """The signals that end the service: also of a terminal that is closed, unless `nohup` says otherwise."""
    hung_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGTERM, signal.SIGINT, *hung_up]


def _web(base_url: str) -> Web | None:
    """The web application; None: it is not there, and the API is served all the same."""
    try:
        return load_web(base_url)
    except ConfigError as error:
        log.warning("no web application is served", extra={"why": str(error)})
        return None


def _leave_out_of_collections() -> None:
    """Let the garbage collector pass over all that is there now: it stays until the end.

    A full collection would look at each of these 85,000 objects, and hold up every request for 70 ms.
    """
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _metrics_page(
    config: Config, store: Store, clock: Clock, metrics: Metrics, bundle: WorkerBundle
) -> AsyncIterator[None]:
    """Serve the metrics where `[metrics] bind` says so. Raises ConfigError: it cannot be listened on."""
    with counting_log_lines(metrics):
        if not config.metrics.bind:
            yield
            return
        listeners, host, port = await _listen("metrics", config.metrics.bind)
        async with open_metrics_page(store, clock, metrics, listeners, bundle=bundle.sha256):
            log.info("metrics are served", extra={"url": f"http://{host}:{port}/metrics"})
            yield


def _handed(systemd: Systemd) -> tuple[list[trio.SocketListener], str, int] | None:
    """The sockets that systemd has handed over, and host and port of the first; None: there are none."""
    if not systemd.sockets:
        return None
    listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in systemd.sockets]
    addresses = [each.getsockname()[:2] for each in systemd.sockets]
    hosts = [f"[{host}]" if ":" in host else host for host, _ in addresses]
    told = [f"{host}:{port}" for host, (_, port) in zip(hosts, addresses, strict=True)]
    log.info("systemd listens; [http] bind is not used", extra={"addresses": told})
    return listeners, hosts[0], addresses[0][1]


async def _listen(section: str, bind: str) -> tuple[list[trio.SocketListener], str, int]:
    """Sockets on the address of a section's `bind`, its host as it stands there, and the port.

    One socket only where the port is free to choose, since each would choose another.
    Raises ConfigError: the address is taken, or not of this machine.
    """
    host, port = parse_bind(bind)
    try:
        listeners = await trio.open_tcp_listeners(port, host=host.strip("[]"))
    except OSError as error:
        raise ConfigError(f"[{section}] bind: {bind} cannot be listened on: {error.strerror or error}") from None
    for listener in [] if port else listeners[1:]:
        await listener.aclose()
    listeners = listeners if port else listeners[:1]
    return listeners, host, listeners[0].socket.getsockname()[1]


async def _signalled(signals: AsyncIterator[int], config: Config, systemd: Systemd) -> None:
    try:
        log.info("stopping", extra={"signal": signal.Signals(await anext(signals)).name})
        await systemd.tell("STOPPING=1", "STATUS=stopping: requests that have begun are answered")
    finally:  # also when something else ends the process: another service has taken over the store
        _limit_the_end(config)


def _limit_the_end(config: Config) -> None:
    limit_s = config.http.graceful_s + config.timing.drain_s + _CLOSING_S
    hard_exit = threading.Timer(limit_s, _exit_hard)
    hard_exit.daemon = True
    hard_exit.start()


def _exit_hard() -> None:
    print("svc: the shutdown took too long; ending hard", file=sys.stderr, flush=True)  # noqa: T201  # logging may hang
    os._exit(1)
