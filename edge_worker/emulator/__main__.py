"""`python -m edge_worker.emulator`: run the emulated Cloudflare platform until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import trio

from edge_worker.emulator.control import fire_due
from edge_worker.emulator.faults import Faults
from edge_worker.emulator.platform import Minting, Platform
from edge_worker.emulator.runtime.runtime import open_runtime
from edge_worker.emulator.runtime.workerd import listening_socket, port_of
from edge_worker.emulator.server import Origin, make_app, serve_on
from edge_worker.emulator.state import load, save

if TYPE_CHECKING:
    from edge_worker.emulator.server import Pages

KEPT_LOG_LINES = 1000


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m edge_worker.emulator", description=__doc__)
    parser.add_argument("--api-port", type=int, default=0, help="port of the API and control interface (0: a free one)")
    parser.add_argument("--edge-port", type=int, default=0, help="port of the edge (0: a free one)")
    parser.add_argument("--state", type=Path, help="folder for data that survives a restart")
    parser.add_argument("--run-crons", action="store_true", help="fire crons every minute, not only on request")
    parser.add_argument("--no-runtime", action="store_true", help="store uploads without running them")
    parser.add_argument("--token-delay-ms", type=int, default=200, help="time during which a new token is rejected")
    parser.add_argument(
        "--token-spread-ms", type=int, default=2000, help="time after that delay during which some calls are rejected"
    )
    parser.add_argument(
        "--minting", choices=get_args(Minting), default="all_zones", help="permissions that a token can grant"
    )
    parser.add_argument("--slow-one-in", type=int, default=50, help="one in N API responses is slow (0: none)")
    parser.add_argument("--refuse-one-in", type=int, default=200, help="one in N calls is rejected with 403 (0: none)")
    parser.add_argument("--rate-limit", type=int, default=1200, help="calls per token in five minutes (0: no limit)")
    parser.add_argument("--slow-ms", type=int, default=150, help="delay of a slow response")
    parser.add_argument("--no-firewall", action="store_true", help="accept bodies that resemble an attack")
    parser.add_argument("--local-egress", action="store_true", help="let Workers reach addresses of this machine")
    parser.add_argument("--cron-delay-s", type=float, default=900, help="a new cron starts within this time")
    parser.add_argument("--cron-missed-one-in", type=int, default=200, help="one in N runs is skipped (0: none)")
    options = parser.parse_args()
    if options.no_runtime and options.run_crons:
        parser.error("--run-crons cannot be combined with --no-runtime")
    return options


async def _run_crons(platform: Platform) -> None:
    """At the start of each minute of the real clock, fire the crons that are due at the emulated time."""
    async with trio.open_nursery() as nursery:
        while True:
            await trio.sleep(60 - time.time() % 60)
            nursery.start_soon(fire_due, platform, platform.now() // 60_000 * 60_000, True)


async def main(options: argparse.Namespace, folder: Path) -> None:
    """Run the emulator with its files in `folder` until a signal arrives."""
    world_file = folder / "world.json"
    world = load(world_file)
    api, edge, origin = listening_socket(options.api_port), listening_socket(options.edge_port), listening_socket()
    api_url, edge_url = (f"http://127.0.0.1:{port_of(listener)}" for listener in (api, edge))
    logs: list[str] = []
    pages: Pages = {}

    def log(line: str) -> None:
        logs.append(line)
        del logs[:-KEPT_LOG_LINES]
        sys.stderr.write(f"{line}\n")

    def real_now() -> int:
        return int(time.time() * 1000)

    def now() -> int:
        return real_now() + round(world.offset_s * 1000)

    def changed() -> None:
        if options.state is not None:
            save(world, world_file)

    ports = {"emulator_port": port_of(api), "origin_port": port_of(origin)}
    # Install the signal handler before anything starts. A program that reads the first line of output may terminate the
    # emulator immediately, and even then the runtimes must be shut down cleanly.
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with (
            open_runtime(
                world,
                folder,
                edge,
                now=now,
                log=log,
                local_egress=options.local_egress,
                runs_scripts=not options.no_runtime,
                **ports,
            ) as runtime,
            trio.open_nursery() as nursery,
        ):
            platform = Platform(
                world, runtime, Faults(), edge_url, real_now,
                options.token_delay_ms, options.token_spread_ms, options.minting, options.slow_one_in, options.slow_ms,
                options.refuse_one_in, firewall=not options.no_firewall, rate_limit=options.rate_limit,
                cron_delay_s=options.cron_delay_s, cron_missed_one_in=options.cron_missed_one_in, logs=logs,
            )  # fmt: skip
            if options.no_runtime:
                edge.close()  # close the listening socket, so that later visitors are refused instead of waiting
            app = make_app(platform, pages, changed)
            nursery.start_soon(serve_on, api, app)
            nursery.start_soon(serve_on, origin, Origin(pages))
            if options.run_crons:
                nursery.start_soon(_run_crons, platform)
            ready = {"ready": True, "api": f"{api_url}/client/v4", "edge": edge_url, "control": f"{api_url}/_control"}
            sys.stdout.write(json.dumps(ready) + "\n")
            sys.stdout.flush()
            async for _ in signals:
                break
            nursery.cancel_scope.cancel()
    changed()


def run() -> None:
    """Run the emulator with the options on the command line."""
    options = arguments()
    # workerd needs a file descriptor per connection, and a benchmark exceeds the usual soft limit of 1,024.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536) if most > 0 else 65_536, most))
    if options.state is not None:
        options.state.mkdir(parents=True, exist_ok=True)
        trio.run(main, options, options.state.resolve())
        return
    with tempfile.TemporaryDirectory(prefix="emulator-", ignore_cleanup_errors=True) as folder:
        trio.run(main, options, Path(folder).resolve())


if __name__ == "__main__":
    run()
