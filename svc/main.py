"""The composition root: store, edge, supervisor, HTTP, each an `async with`; unwinding them is the shutdown.

SIGTERM or SIGINT ends it in order: no new connections, running requests have `graceful_s`, running operations
`drain_s`. A thread outside Trio ends the process hard when that takes too long: hypercorn's send is shielded, so one
client that stops reading would otherwise hold the shutdown for ever.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

import trio
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio import serve as hypercorn_serve

from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.clock import system_clock
from svc.edge.client import open_edge
from svc.http.app import Deps, create_app
from svc.mail import open_mailer
from svc.store import open_store
from svc.vault import open_vault
from svc.worker import load_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.clock import Clock
    from svc.config import Config

log = logging.getLogger(__name__)

# After the graceful and the drain time: what closing store and edge may take.
_CLOSING_S = 5.0


async def run(config: Config, announce: Callable[[str], None], clock: Clock = system_clock) -> None:
    """Serve until SIGTERM or SIGINT. `announce` gets the service's own URL once it answers.

    Raises ConfigError: key file, bundle or store cannot be used.
    """
    bundle = load_bundle()
    vault = open_vault(config.vault.key_file)
    sockets = _http_config(config).create_sockets()
    port = sockets.insecure_sockets[0].getsockname()[1]
    host = config.http.bind.rpartition(":")[0]
    base_url = config.http.base_url or f"http://{host}:{port}"
    async with open_store(config.store, serving=True) as store, open_edge(config.edge) as edge:
        context = Context(
            store=store,
            edge=edge,
            vault=vault,
            config=config,
            clock=clock,
            bundle=bundle,
            push_url=config.worker.push_url or f"{base_url}/edge/push",
        )
        async with open_mailer(config.mail) as mailer, open_supervisor(context) as supervisor:
            app = create_app(
                Deps(
                    store=store,
                    supervisor=supervisor,
                    config=config,
                    clock=clock,
                    mailer=mailer,
                    base_url=base_url,
                    bundle=bundle,
                )
            )
            server = _http_config(config)
            server.bind = [f"fd://{sockets.insecure_sockets[0].detach()}"]
            async with trio.open_nursery() as nursery:
                await nursery.start(lambda task_status: _serve(app, server, config, task_status))
                announce(f"http://{host}:{port}")
    log.info("stopped")


async def _serve(app: object, server: HypercornConfig, config: Config, task_status: trio.TaskStatus[object]) -> None:
    await hypercorn_serve(
        app,  # type: ignore[arg-type]  # quart's application is an ASGI application
        server,
        shutdown_trigger=lambda: _signalled(config),
        task_status=task_status,
    )


async def _signalled(config: Config) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            log.info("stopping", extra={"signal": signal.Signals(number).name})
            break
    limit_s = config.http.graceful_s + config.timing.drain_s + _CLOSING_S
    hard_exit = threading.Timer(limit_s, _exit_hard)
    hard_exit.daemon = True
    hard_exit.start()


def _exit_hard() -> None:
    print("svc: the shutdown took too long; ending hard", file=sys.stderr, flush=True)  # noqa: T201  # logging may hang
    os._exit(1)


def _http_config(config: Config) -> HypercornConfig:
    server = HypercornConfig()
    server.bind = [config.http.bind]
    server.graceful_timeout = config.http.graceful_s
    # Between two requests; also the time a client has to send its headers.
    server.keep_alive_timeout = 15
    # It times reads while a handler runs, too, so it lies above the longest handler (edge.connect_s).
    server.read_timeout = int(config.edge.connect_s) + 15
    server.include_server_header = False
    server.errorlog = logging.getLogger("svc.server")
    return server


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, the extras, the traceback."""

    _STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in self._STANDARD},
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def set_up_logging() -> None:
    """Log to stderr, one JSON object a line. httpx says every address at INFO: only its warnings are wanted."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "hypercorn"):
        logging.getLogger(name).setLevel(logging.WARNING)
