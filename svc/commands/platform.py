"""The main job tried on the platform itself."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING

import trio

from svc.commands.arguments import edge_account_id

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    field = commands.add_parser(
        "field-check",
        parents=[shared],
        help="try the main job on the platform itself, with names of its own, and remove it (docs/field-check.md)",
        description="Reads a bootstrap token from standard input.",
    )
    field.add_argument("account", metavar="EDGE_ACCOUNT_ID", type=edge_account_id)
    field.add_argument("--zone", metavar="NAME", help="also make a route in this zone and send a view through it")
    field.add_argument("--use-up-the-day", action="store_true", help="write database rows until the day's are used up")
    field.add_argument("--only-remove", action="store_true", help="only remove what an earlier run left")
    field.add_argument("--through", metavar="URL", default="", help="an emulated edge, for the view")
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

    def tell(line: str) -> None:
        print(line, flush=True)

    try:
        return 0 if trio.run(field_check, config, plan, SecretStr(typed.strip()), tell) else 1
    except (OSError, ValueError) as error:
        sys.exit(f"svc: {error}")
