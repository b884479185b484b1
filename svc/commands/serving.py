"""`svc serve` and `svc check`: run the service, and check its setup."""

from __future__ import annotations

import json
import logging
import sys
from functools import partial
from typing import TYPE_CHECKING

import trio

from svc.commands.arguments import add_command, config_option
from svc.commands.output import ignoring_closed_pipe

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config

log = logging.getLogger(__name__)


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    serve = add_command(commands, shared, "serve", "run the service")
    serve.add_argument(
        "--standby",
        action="store_true",
        help="if another svc serve process is using the store, wait until it exits, then take over",
    )
    serve.set_defaults(command=_serve)
    check = add_command(
        commands,
        shared,
        "check",
        "check the configuration, store, key file, mail server, public URL and more",
        "For each problem, the command prints how to fix it.",
    )
    check.set_defaults(command=_check)


def _serve(config: Config, arguments: argparse.Namespace) -> int:
    from svc.commands.welcome import welcome
    from svc.logs import set_up_logging
    from svc.main import Started, run
    from svc.process.standby import stand_by
    from svc.process.systemd import from_environment

    def announce(url: str) -> None:
        with ignoring_closed_pipe():
            print(json.dumps({"ready": True, "url": url}), flush=True)

    def greet(started: Started) -> None:
        """Print the welcome lines if stderr is a terminal. Otherwise, log them, but only until a user exists."""
        option = config_option(arguments.config)
        lines = welcome(config, started.url, started.base_url, web=started.web, option=option)
        if sys.stderr.isatty():
            print("\n".join(lines), file=sys.stderr, flush=True)
        elif started.first:
            for line in lines:
                log.info(line)

    set_up_logging(arguments.environ.get("JOURNAL_STREAM", ""))
    systemd = from_environment(arguments.environ)
    serve = partial(run, config, announce, systemd=systemd, greet=greet)
    trio.run(partial(stand_by, config, systemd, serve) if arguments.standby else serve)
    return 0


def _check(config: Config, arguments: argparse.Namespace) -> int:
    """Print a line for each checked part. Return the exit status: 1 if a part fails, otherwise 0."""
    from svc.commands.check import check

    findings = trio.run(check, config, arguments.config)
    for finding in findings:
        print(f"{finding.verdict:4} {finding.part}: {finding.text}")
    return 1 if any(finding.verdict == "FAIL" for finding in findings) else 0
