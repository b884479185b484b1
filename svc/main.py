"""Startup and shutdown: the store, Cloudflare client, supervisor and HTTP server are nested context managers.

SIGTERM, SIGINT or SIGHUP starts a graceful shutdown. The service stops accepting connections. Running requests have
`graceful_s` to finish, and running operations have `drain_s`. A thread ends the process if the shutdown takes longer.
"""

from __future__ import annotations

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
from svc.edge.visits import Visitor
from svc.http.metrics_page import open_metrics_page
from svc.http.serving.app import create_app
from svc.http.serving.deps import Deps
from svc.http.serving.server import serve
from svc.http.serving.web import load_web
from svc.identity.operator import load_identity
from svc.mail.outbox import open_outbox
from svc.metrics import Metrics, counting_log_lines
from svc.process.garbage import exclude_startup_objects
from svc.process.systemd import Systemd
from svc.security.vault import open_vault
from svc.store import open_store, users
from svc.store.sealed_secrets import sealed_secrets
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from svc.clock import Clock
    from svc.config import Config
    from svc.http.serving.web import Web
    from svc.identity.operator import Identity
    from svc.store.tx import Store
    from svc.worker.bundle import WorkerBundle

log = logging.getLogger(__name__)

# The time allowed for closing the store and connections after `graceful_s` and `drain_s` have passed.
_CLOSING_S = 5.0


@dataclass(frozen=True)
class Started:
    """Facts about a service that has just started."""

    url: str  # local URL
    base_url: str  # public URL
    web: bool  # True if the web application is served
    first: bool  # True if there are no users yet


@dataclass(frozen=True)
class Service:
    """A service that has been opened. It listens, but accepts connections only while `serve` runs."""

    store: Store
    started: Started
    serve: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]  # serves until its argument returns


async def run(
    config: Config,
    announce: Callable[[str], None],
    clock: Clock = system_clock,
    bundle: WorkerBundle | None = None,
    systemd: Systemd = Systemd(),  # noqa: B008  # frozen and empty
    greet: Callable[[Started], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP arrives.

    `announce`: called with the local URL when the service is ready.
    `bundle`: the Worker to install. The default is the Worker in the package.
    `systemd`: the sockets passed by systemd. If there are any, they replace `[http] bind`.
    `greet`: called after `announce`.

    Raises Served and ConfigError; see `open_service`. Also raises ConfigError if another service takes over the store.
    """
    async with open_service(config, clock, bundle or load_bundle(), systemd) as service, trio.open_nursery() as beside:
        exclude_startup_objects()
        with trio.open_signal_receiver(*_shutdown_signals()) as signals:
            announce(service.started.url)
            greet(service.started)
            await systemd.notify("READY=1", "STATUS=serving")
            beside.start_soon(systemd.keep_notified, lambda: service.store.condition.problem)
            await service.serve(partial(_wait_for_signal, signals, config, systemd))
            beside.cancel_scope.cancel()
    log.info("stopped")


@asynccontextmanager
async def open_service(config: Config, clock: Clock, bundle: WorkerBundle, systemd: Systemd) -> AsyncIterator[Service]:
    """Open the store, the Cloudflare client, the outbox, the supervisor and the application, in this order.

    Raises Served if another service is using the store. Raises ConfigError if the key file, logo, address or store
    cannot be used.
    """
    identity = load_identity(config.web)
    metrics = Metrics()
    async with (
        open_store(config.store, serving=True, metrics=metrics) as store,
        open_edge(config.edge, metrics=metrics) as edge,
    ):
        vault = open_vault(config.vault, await store.read(sealed_secrets()))
        # Listen only after the store has been acquired. If the port is 0, the URL is known only after binding.
        listeners, host, port = _systemd_listeners(systemd) or await _listen("http", config.http.bind)
        url = f"http://{host}:{port}"
        base_url = config.http.base_url or url
        push_url = config.push_url(base_url)
        problem = config.push_url_problem(push_url)
        if problem is not None:
            log.warning("workers cannot be installed", extra={"why": problem})
        context = Context(
            store=store,
            edge=edge,
            vault=vault,
            config=config,
            clock=clock,
            bundle=bundle,
            push_url=push_url,
            metrics=metrics,
            visitor=Visitor(config.edge.emulated_edge),
        )
        async with (
            _metrics_page(config, store, clock, metrics, bundle),
            open_outbox(store, config, clock, base_url, metrics=metrics, identity=identity),
            open_supervisor(context) as supervisor,
        ):
            web = _web(base_url, config.web.demonstration, identity)
            first = await store.read(users.has_no_users())
            app = create_app(Deps(context, supervisor, base_url, web, identity))

            async def serve_until(until: Callable[[], Awaitable[None]]) -> None:
                await serve(
                    app,
                    listeners,
                    connections=config.http.connections,
                    graceful_s=config.http.graceful_s,
                    metrics=metrics,
                    until=until,
                )

            yield Service(store, Started(url, base_url, web is not None, first), serve_until)


def _shutdown_signals() -> list[signal.Signals]:
    """Return the signals that end the service.

    SIGHUP, which is sent when a terminal closes, is not one of them if `nohup` started the service.
    """
    hung_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGTERM, signal.SIGINT, *hung_up]


def _web(base_url: str, demonstration: str, identity: Identity) -> Web | None:
    """Return the web application, or None if it is missing. The API is served in both cases."""
    try:
        return load_web(base_url, demonstration=demonstration, identity=identity)
    except ConfigError as error:
        log.warning("web application not served", extra={"why": str(error)})
        return None


@asynccontextmanager
async def _metrics_page(
    config: Config, store: Store, clock: Clock, metrics: Metrics, bundle: WorkerBundle
) -> AsyncIterator[None]:
    """Serve the metrics on `[metrics] bind`, if set. Raises ConfigError if the address cannot be bound."""
    with counting_log_lines(metrics):
        if not config.metrics.bind:
            yield
            return
        listeners, host, port = await _listen("metrics", config.metrics.bind)
        async with open_metrics_page(store, clock, metrics, listeners, bundle=bundle.sha256):
            log.info("metrics served", extra={"url": f"http://{host}:{port}/metrics"})
            yield


def _systemd_listeners(systemd: Systemd) -> tuple[list[trio.SocketListener], str, int] | None:
    """Return listeners for the sockets passed by systemd, and the first socket's host and port.

    Returns None if systemd passed no sockets.
    """
    if not systemd.sockets:
        return None
    listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in systemd.sockets]
    addresses = [each.getsockname()[:2] for each in systemd.sockets]
    hosts = [f"[{host}]" if ":" in host else host for host, _ in addresses]
    binds = [f"{host}:{port}" for host, (_, port) in zip(hosts, addresses, strict=True)]
    log.info("using systemd sockets, ignoring [http] bind", extra={"addresses": binds})
    return listeners, hosts[0], addresses[0][1]


async def _listen(section: str, bind: str) -> tuple[list[trio.SocketListener], str, int]:
    """Listen on a section's `bind` address. Return the listeners, the host as configured, and the port.

    If the port is 0, only one socket is kept, because each socket would get a different port.
    Raises ConfigError if the address is in use or does not belong to this host.
    """
    host, port = parse_bind(bind)
    try:
        listeners = await trio.open_tcp_listeners(port, host=host.strip("[]"))
    except OSError as error:
        raise ConfigError(f"[{section}] bind: cannot listen on {bind}: {error.strerror or error}") from None
    for listener in [] if port else listeners[1:]:
        await listener.aclose()
    listeners = listeners if port else listeners[:1]
    return listeners, host, listeners[0].socket.getsockname()[1]


async def _wait_for_signal(signals: AsyncIterator[int], config: Config, systemd: Systemd) -> None:
    try:
        log.info("stopping", extra={"signal": signal.Signals(await anext(signals)).name})
        await systemd.notify("STOPPING=1", "STATUS=stopping: finishing running requests")
    finally:  # also if another service has taken over the store, which cancels this wait
        _limit_shutdown_time(config)


def _limit_shutdown_time(config: Config) -> None:
    limit_s = config.http.graceful_s + config.timing.drain_s + _CLOSING_S
    hard_exit = threading.Timer(limit_s, _exit_hard)
    hard_exit.daemon = True
    hard_exit.start()


def _exit_hard() -> None:
    print("svc: shutdown timed out; exiting", file=sys.stderr, flush=True)  # noqa: T201  # logging may hang
    os._exit(1)
