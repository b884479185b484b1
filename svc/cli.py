"""The commands: serve, check, field-check, import, user. Rooms are imported when a command needs them."""

from __future__ import annotations

import argparse
import getpass
import io
import json
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

import trio

from svc.config import ConfigError, load
from svc.errors import StoreUnavailable
from svc.faults import first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.config import Config
    from svc.store.tx import Tx


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 refused or failed, 2 wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # what a terminal cannot show must not end a command in the middle
        sys.stdout.reconfigure(errors="replace")
    arguments = _parser().parse_args(argv)
    try:
        config = load(_config_path(arguments.config), os.environ)
        sys.exit(arguments.command(config, arguments))
    except _TOLD as error:
        sys.exit(f"svc: {_told(error)}")
    except BaseExceptionGroup as group:  # what is raised while the store is watched
        told, others = group.split(_TOLD)
        if told is None or others is not None:
            raise
        sys.exit(f"svc: {_told(first_of(told))}")


# What ends a command with a line instead of a traceback.
_TOLD = (ConfigError, StoreUnavailable, KeyboardInterrupt)


def _told(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return error.message if isinstance(error, StoreUnavailable) else str(error)


def _config_path(given: str | None) -> Path | None:
    """The file named; else config.toml here, when there is one; else None (the defaults)."""
    if given is not None:
        return Path(given)
    return Path("config.toml") if Path("config.toml").exists() else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="svc", description="Page counters and short links on edge accounts.")
    parser.add_argument("--version", action="version", version=f"svc {version('svc')}")
    parser.set_defaults(config=None)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--config", metavar="PATH", help="the configuration; default: config.toml, if it is there")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", parents=[shared], help="run the service")
    serve.set_defaults(command=_serve)
    check = commands.add_parser("check", parents=[shared], help="check configuration, key file, bundle, store")
    check.set_defaults(command=_check)
    field = commands.add_parser(
        "field-check",
        parents=[shared],
        help="try the main job on the platform itself, with names of its own, and remove it (docs/field-check.md)",
        description="Reads a bootstrap token from standard input.",
    )
    field.add_argument("account", metavar="EDGE_ACCOUNT_ID", type=_edge_account_id)
    field.add_argument("--zone", metavar="NAME", help="also make a route in this zone and send a view through it")
    field.add_argument("--use-up-the-day", action="store_true", help="write database rows until the day's are used up")
    field.add_argument("--only-remove", action="store_true", help="only remove what an earlier run left")
    field.add_argument("--through", metavar="URL", default="", help="an emulated edge, for the view")
    field.set_defaults(command=_field_check)

    imports = commands.add_parser("import", help="bring in what another product has").add_subparsers(
        required=True, metavar="WHAT"
    )
    of_links = imports.add_parser(
        "links",
        parents=[shared],
        help="short links from a CSV export (docs/import.md)",
        description="Only says what would be made, unless --apply is given. May be repeated: what is there is skipped.",
    )
    of_links.add_argument("file", metavar="FILE", type=Path)
    of_links.add_argument(
        "--account", metavar="ID", help="the account that gets them; needed where its user has several"
    )
    of_links.add_argument("--user", metavar="EMAIL", help="the account's user")
    of_links.add_argument(
        "--of",
        metavar="EDGE_ACCOUNT_ID",
        type=_edge_account_id,
        help="of an export of this service, take the links of this edge account; without it, the account's own",
    )
    of_links.add_argument("--https", action="store_true", help="take http:// addresses as https://")
    of_links.add_argument("--dry-run", action="store_true", help="only say what would be made; this is the default")
    of_links.add_argument("--apply", action="store_true", help="make the links")
    of_links.set_defaults(command=_import_links)

    of_totals = imports.add_parser(
        "totals",
        parents=[shared],
        help="daily totals from an export of GoatCounter, Plausible, Umami or this service (docs/import.md)",
        description="Days before a site or link was added here. Only says what would be added, unless --apply is given."
        " May be repeated: what is there is skipped.",
    )
    of_totals.add_argument("file", metavar="FILE", type=Path, help="as it was exported: CSV, JSON, ZIP, or gzip of it")
    target = of_totals.add_mutually_exclusive_group()
    target.add_argument("--site", metavar="HOST", help="the site that the totals belong to, where the file names none")
    target.add_argument("--link", metavar="CODE", help="the link that the totals belong to, where the file names none")
    of_totals.add_argument("--user", metavar="EMAIL", help="whose sites and links")
    of_totals.add_argument("--account", metavar="ID", help="only this account's; needed where several have the host")
    of_totals.add_argument("--website", metavar="ID", help="the one that is meant, of an export of Umami with several")
    of_totals.add_argument("--replace", action="store_true", help="overwrite numbers that an earlier import brought")
    of_totals.add_argument("--dry-run", action="store_true", help="only say what would be added; this is the default")
    of_totals.add_argument("--apply", action="store_true", help="add the days")
    of_totals.set_defaults(command=_import_totals)

    user = commands.add_parser("user", help="manage users").add_subparsers(required=True, metavar="ACTION")
    add = user.add_parser("add", parents=[shared], help="add a user")
    add.add_argument("email")
    add.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    add.add_argument("--confirmed", action="store_true", help="the address needs no confirmation")
    add.set_defaults(command=_user_add)
    plan = user.add_parser("plan", parents=[shared], help="switch a user's plan")
    plan.add_argument("email")
    plan.add_argument("plan", choices=["free", "api"])
    plan.set_defaults(command=_user_plan)
    return parser


def _edge_account_id(text: str) -> str:
    if re.fullmatch(r"[0-9a-f]{32}", text) is None:
        raise argparse.ArgumentTypeError("an account's id has 32 hexadecimal digits")
    return text


def _serve(config: Config, _arguments: argparse.Namespace) -> int:
    from svc.logs import set_up_logging
    from svc.main import run

    def announce(url: str) -> None:
        print(json.dumps({"ready": True, "url": url}), flush=True)

    set_up_logging()
    trio.run(run, config, announce)
    return 0


def _check(config: Config, _arguments: argparse.Namespace) -> int:
    """Each part in turn, so that all that is wrong is seen at once."""
    from svc.check import check

    findings = trio.run(check, config)
    for finding in findings:
        print(f"{'ok  ' if finding.ok else 'FAIL'} {finding.part}: {finding.text}")
    return 0 if all(finding.ok for finding in findings) else 1


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


def _import_links(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.link_import.run import NoAccount, find_account, import_links
    from svc.link_import.table import NotATable, read_table
    from svc.store import open_store

    if arguments.apply and arguments.dry_run:
        sys.exit("svc: --apply and --dry-run exclude each other")

    async def run() -> int:
        table = read_table(arguments.file.read_bytes())
        print(f"{len(table.rows)} rows; codes from `{table.code_column}`, addresses from `{table.url_column}`")
        async with open_store(config.store) as store:
            account = await find_account(store, arguments.account, arguments.user)
            limit = config.limits.links
            report = await import_links(
                store,
                account,
                table.rows,
                limit=limit,
                now=system_clock(),
                apply=arguments.apply,
                https=arguments.https,
                of=arguments.of,
            )
        for line, code, reason in report.refused:
            print(f"line {line}: {_printable(code)}: {reason}")
        if report.left_out:
            print(f"{report.left_out} rows were left out: deleted links, or of another edge account (--of takes those)")
        if report.stopped:
            print(f"stopped at {report.stopped} {report.unreached} rows from there on were not tried.")
        made = "were made" if arguments.apply else "would be made"
        print(f"{report.made} links {made}, {report.there} are there already, {len(report.refused)} cannot be taken")
        if not arguments.apply:
            print("This was a dry run: nothing was made. --apply makes them.")
        elif report.made:
            print("A running service writes them to the edge within a minute; another does when it starts.")
        return 1 if report.refused or report.stopped else 0

    try:
        return trio.run(run)
    except* (NotATable, NoAccount, OSError) as group:
        sys.exit(f"svc: {arguments.file}: {first_of(group)}")


def _import_totals(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import day_of, system_clock
    from svc.store import open_store
    from svc.totals_import.formats import read_totals
    from svc.totals_import.run import NoTarget, import_totals, lines_of
    from svc.totals_import.source import NotReadable, opened
    from svc.totals_import.tally import Name, tally

    if arguments.apply and arguments.dry_run:
        sys.exit("svc: --apply and --dry-run exclude each other")

    async def run() -> int:
        with opened(arguments.file) as source, tally(day_of(system_clock())) as read:
            reading = read_totals(source, read, arguments.website)
            print(f"{reading.product}; read are its columns {', '.join(reading.columns)}")
            for note in reading.notes:
                print(f"note: {note}")
            named = None if arguments.link is None else Name("link", arguments.link)
            if arguments.site is not None:
                named = Name("site", _host(arguments.site))
            async with open_store(config.store) as store:
                report = await import_totals(
                    store,
                    read,
                    account_id=arguments.account,
                    email=arguments.user,
                    named=named,
                    apply=arguments.apply,
                    now=system_clock(),
                    replace=arguments.replace,
                )
        for line, reason in read.refused.first:
            print(f"line {line}: {_printable(reason, 300)}" if line else _printable(reason, 300))
        for done in report.done:
            for told in lines_of(done, apply=arguments.apply, replace=arguments.replace):
                print(told)
        for name, days in report.missing:
            print(f"{name.name} ({name.kind}): not in these accounts; its {days} days were left out")
        if report.stopped:
            print(f"stopped at {report.stopped} What comes from there on was not tried; the import may be repeated.")
        added = sum(len(done.compared.added) for done in report.done)
        changed = sum(len(done.compared.other) for done in report.done)
        would = "were" if arguments.apply else "would be"
        print(f"{added} days {would} added; {read.refused.count} lines cannot be taken")
        if not arguments.apply:
            print("This was a dry run: nothing was added. --apply adds them.")
        whole = not (read.refused.count or report.missing or report.stopped)
        return 0 if whole and (not changed or arguments.replace) else 1

    try:
        return trio.run(run)
    except* (NotReadable, NoTarget, OSError) as group:
        sys.exit(f"svc: {arguments.file}: {_printable(str(first_of(group)), 1_000)}")


def _host(text: str) -> str:
    """A host as it is stored."""
    from svc.api.ascii_forms import ascii_host

    try:
        return ascii_host(text.strip()).lower().removesuffix(".")
    except ValueError:
        sys.exit(f"svc: --site {_printable(text)}: no host name")


def _printable(text: str, most: int = 60) -> str:
    """What a file holds, for a terminal."""
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text[:most])
    return shown or "(no code)"


def _user_add(config: Config, arguments: argparse.Namespace) -> int:
    from svc.api.auth import SignUp
    from svc.api.shape import parsed
    from svc.clock import system_clock
    from svc.errors import Invalid
    from svc.passwords import hash_password
    from svc.store import open_store, users
    from svc.store.events import by_operator

    password = sys.stdin.readline().rstrip("\n") if arguments.password_stdin else getpass.getpass("Password: ")
    try:
        sign_up = parsed(SignUp, email=arguments.email.strip(), password=password)
    except Invalid as error:
        for issue in cast("list[dict[str, str]]", (error.details or {})["issues"]):
            print(f"svc: {issue['path']} {issue['message']}", file=sys.stderr)
        return 1

    async def add() -> bool:
        password_hash = hash_password(sign_up.password.get_secret_value())
        async with open_store(config.store) as store:
            return await store.run(made(password_hash, system_clock()))

    def made(password_hash: str, now: int) -> Tx[bool]:
        user = yield from users.add_user(sign_up.email, password_hash, now, confirmed=arguments.confirmed)
        if user is not None:
            yield by_operator(user.id, "user.sign_up", now)
        return user is not None

    if not trio.run(add):
        print(f"svc: there is a user {sign_up.email} already", file=sys.stderr)
        return 1
    return 0


def _user_plan(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.store import open_store, users
    from svc.store.events import by_operator

    async def switch() -> bool:
        async with open_store(config.store) as store:
            return await store.run(switched(system_clock()))

    def switched(now: int) -> Tx[bool]:
        user_ids = yield from users.set_plan(arguments.email, arguments.plan)
        for user_id in user_ids:
            yield by_operator(user_id, "plan.change", now)
        return bool(user_ids)

    if not trio.run(switch):
        print(f"svc: there is no user {arguments.email}", file=sys.stderr)
        return 1
    return 0
