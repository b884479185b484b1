"""`svc field-check`: test the service against the real Cloudflare platform."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING

import trio

from svc.commands.arguments import add_command, edge_account_id

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    field = add_command(
        commands,
        shared,
        "field-check",
        "test connecting, counting and reports in a real account, then clean up (docs/develop/field-check.md)",
        "The command reads a bootstrap token from standard input.",
    )
    field.add_argument("account", metavar="EDGE_ACCOUNT_ID", type=edge_account_id, help="the Cloudflare account's ID")
    field.add_argument(
        "--zone", metavar="NAME", help="also create a route in this zone and send a page view through it"
    )
    field.add_argument(
        "--use-up-the-day", action="store_true", help="write database rows until the daily limit is reached"
    )
    field.add_argument("--only-remove", action="store_true", help="only remove the resources of an earlier run")
    field.add_argument(
        "--through", metavar="URL", default="", help="send the page view to the emulated platform at this URL"
    )
    field.set_defaults(command=_field_check)


def _field_check(config: Config, arguments: argparse.Namespace) -> int:
    from pydantic import SecretStr

    from svc.field_check.run import Plan, field_check

    plan = Plan(
        edge_account_id=arguments.account,
        zone=arguments.zone,
        through=arguments.through,
        uses_up_the_day=arguments.use_up_the_day,
        only_removes=arguments.only_remove,
    )
    typed = getpass.getpass("Bootstrap token: ") if sys.stdin.isatty() else sys.stdin.readline()

    def show(line: str) -> None:
        print(line, flush=True)

    try:
        return 0 if trio.run(field_check, config, plan, SecretStr(typed.strip()), show) else 1
    except (OSError, ValueError) as error:
        sys.exit(f"svc: {error}")
