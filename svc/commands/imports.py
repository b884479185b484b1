"""Bringing in what another product has."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from svc.commands.arguments import edge_account_id
from svc.commands.output import printable
from svc.faults import first_of
from svc.imports.links.restrictions import RESTRICTIONS

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.imports.totals.run import Done


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
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
        type=edge_account_id,
        help="of an export of this service, take the links of this edge account; without it, the account's own",
    )
    of_links.add_argument(
        "--include",
        metavar="KINDS",
        type=_restrictions,
        default=(),
        help="import links that another product restricted, a list such as `expired,archived`; of: "
        + ", ".join(RESTRICTIONS),
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


def _restrictions(text: str) -> tuple[str, ...]:
    """The restrictions in a list. Raises argparse.ArgumentTypeError."""
    kinds = tuple(kind.strip() for kind in text.split(","))
    for kind in kinds:
        if kind not in RESTRICTIONS:
            raise ArgumentTypeError(f"`{printable(kind)}` is none of {', '.join(RESTRICTIONS)}")
    return kinds


def _import_links(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.imports.links.run import NoAccount, find_account, import_links, restrictions_of
    from svc.imports.links.staging import staging
    from svc.imports.links.table import opened, read_table
    from svc.imports.reader import NotReadable
    from svc.store import open_store

    if arguments.apply and arguments.dry_run:
        sys.exit("svc: --apply and --dry-run exclude each other")

    async def run() -> int:
        now = system_clock()
        with opened(arguments.file) as file, staging() as staged:
            table = read_table(file, now)
            columns = f"codes from `{table.code_column}`, addresses from `{table.url_column}`"
            print(printable(columns, 1_000))
            by = ", ".join(f"`{name}`" for name in table.restrictions)
            print(f"restrictions from {printable(by, 1_000)}" if by else "no column tells which links are restricted")
            async with open_store(config.store) as store:
                account = await find_account(store, arguments.account, arguments.user)
                report = await import_links(
                    store,
                    account,
                    table.rows,
                    staged,
                    limit=config.limits.links,
                    now=now,
                    apply=arguments.apply,
                    https=arguments.https,
                    of=arguments.of,
                    include=arguments.include,
                )
            for line, code, reason in staged.refused():
                print(f"line {line}: {printable(code) or '(no code)'}: {printable(reason, 300)}")
        if report.left_out:
            print(f"{report.left_out} rows were left out: deleted links, or of another edge account (--of takes those)")
        for told in restrictions_of(report):
            print(told)
        if report.stopped:
            print(f"stopped at {printable(report.stopped, 300)} {report.unreached} rows from there on were not tried.")
        made = "were made" if arguments.apply else "would be made"
        print(
            f"{report.rows} rows: {report.made} links {made}, {report.there} are there already,"
            f" {report.refused} cannot be taken"
        )
        if not arguments.apply:
            print("This was a dry run: nothing was made. --apply makes them.")
        elif report.made:
            print("A running service writes them to the edge within a minute; another does when it starts.")
        return 1 if report.refused or report.stopped else 0

    try:
        return trio.run(run)
    except* (NotReadable, NoAccount, OSError) as group:
        sys.exit(f"svc: {arguments.file}: {printable(str(first_of(group)), 1_000)}")


def _import_totals(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import day_of, system_clock
    from svc.imports.reader import NotReadable
    from svc.imports.totals.formats import read_totals
    from svc.imports.totals.run import NoTarget, import_totals, lines_of
    from svc.imports.totals.source import opened
    from svc.imports.totals.tally import Name, tally
    from svc.store import open_store

    if arguments.apply and arguments.dry_run:
        sys.exit("svc: --apply and --dry-run exclude each other")

    async def run() -> int:
        with opened(arguments.file) as source, tally(day_of(system_clock())) as read:
            reading = read_totals(source, read, arguments.website)
            print(f"{reading.product}; read are its columns {printable(', '.join(reading.columns), 1_000)}")
            for note in reading.notes:
                print(f"note: {printable(note, 1_000)}")
            named = None if arguments.link is None else Name("link", arguments.link)
            if arguments.site is not None:
                named = Name("site", _host(arguments.site))
            for line, reason in read.refused.first:
                print(f"line {line}: {printable(reason, 300)}" if line else printable(reason, 300))

            def tell(done: Done) -> None:
                for told in lines_of(done, apply=arguments.apply, replace=arguments.replace):
                    print(printable(told, 1_000))

            async with open_store(config.store) as store:
                report = await import_totals(
                    store,
                    read,
                    account_id=arguments.account,
                    email=arguments.user,
                    named=named,
                    apply=arguments.apply,
                    now=system_clock(),
                    done=tell,
                    replace=arguments.replace,
                )
        for name, days in report.missing:
            print(f"{printable(name.name, 300)} ({name.kind}): not in these accounts; its {days} days were left out")
        if report.stopped:
            print(
                f"stopped at {printable(report.stopped, 300)} What comes from there on was not tried;"
                " the import may be repeated."
            )
        would = "were" if arguments.apply else "would be"
        print(f"{report.added} days {would} added; {read.refused.count} lines cannot be taken")
        if not arguments.apply:
            print("This was a dry run: nothing was added. --apply adds them.")
        whole = not (read.refused.count or report.missing or report.stopped)
        return 0 if whole and (not report.changed or arguments.replace) else 1

    try:
        return trio.run(run)
    except* (NotReadable, NoTarget, OSError) as group:
        sys.exit(f"svc: {arguments.file}: {printable(str(first_of(group)), 1_000)}")


def _host(text: str) -> str:
    """A host as it is stored."""
    from svc.api.ascii_forms import ascii_host

    try:
        return ascii_host(text.strip()).lower().removesuffix(".")
    except ValueError:
        sys.exit(f"svc: --site {printable(text)}: no host name")
