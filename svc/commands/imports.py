"""`svc import`: import short links or daily totals from other products."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from svc.commands.arguments import add_command, add_group, edge_account_id
from svc.commands.output import plural, printable
from svc.faults import first_of
from svc.imports.links.restrictions import INCLUDED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.imports.totals.run import Done


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    imports = add_group(commands, "import", "import data from another product")
    import_links = add_command(
        imports,
        shared,
        "links",
        "import short links from a CSV export (docs/use/import-links.md)",
        "Without --apply, the command only shows what it would import. You can repeat an import: existing links are"
        " skipped.",
    )
    import_links.add_argument("file", metavar="FILE", type=Path, help="the export")
    import_links.add_argument(
        "--account", metavar="ID", help="account to import into; required if the user has several"
    )
    import_links.add_argument("--user", metavar="EMAIL", help="email address of the account's user")
    import_links.add_argument(
        "--of",
        metavar="EDGE_ACCOUNT_ID",
        type=edge_account_id,
        help="if FILE is an export of this service: the Cloudflare account whose links to import"
        " (default: the account to import into)",
    )
    import_links.add_argument(
        "--include",
        metavar="KINDS",
        type=_restrictions,
        default=(),
        help="also import these kinds of links, which are skipped by default; a comma-separated list of: "
        + ", ".join(INCLUDED),
    )
    import_links.add_argument("--https", action="store_true", help="change http:// destinations to https://")
    import_links.add_argument("--dry-run", action="store_true", help="only show what would be imported (default)")
    import_links.add_argument("--apply", action="store_true", help="import the links")
    import_links.set_defaults(command=_import_links)

    import_totals = add_command(
        imports,
        shared,
        "totals",
        "import daily totals from another product, or from an export of this service (docs/use/import-totals.md)",
        "The command imports only days before the site or link was added to this service. Without --apply, the command"
        " only shows what it would import. You can repeat an import: existing days are skipped.",
    )
    import_totals.add_argument(
        "file", metavar="FILE", type=Path, help="the export: CSV, JSON or ZIP, optionally compressed with gzip"
    )
    target = import_totals.add_mutually_exclusive_group()
    target.add_argument("--site", metavar="HOST", help="site to which the totals belong, if the file does not name it")
    target.add_argument("--link", metavar="CODE", help="link to which the totals belong, if the file does not name it")
    import_totals.add_argument("--user", metavar="EMAIL", help="email address of the owner of the sites and links")
    import_totals.add_argument(
        "--account", metavar="ID", help="only this account; required if several accounts have the site or link"
    )
    import_totals.add_argument("--website", metavar="ID", help="website to import, if an Umami export has several")
    import_totals.add_argument("--replace", action="store_true", help="overwrite the numbers of an earlier import")
    import_totals.add_argument("--dry-run", action="store_true", help="only show what would be imported (default)")
    import_totals.add_argument("--apply", action="store_true", help="import the days")
    import_totals.set_defaults(command=_import_totals)


def _restrictions(text: str) -> tuple[str, ...]:
    """Parse a list of restrictions. Raises argparse.ArgumentTypeError."""
    kinds = tuple(kind.strip() for kind in text.split(","))
    for kind in kinds:
        if kind not in INCLUDED:
            raise ArgumentTypeError(f"`{printable(kind)}` must be one of {', '.join(INCLUDED)}")
    return kinds


def _import_links(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.imports.links.run import NoAccount, find_account, import_links, restriction_lines
    from svc.imports.links.staging import staging
    from svc.imports.links.table import open_seekable, read_table
    from svc.imports.reader import NotReadable
    from svc.imports.temporary import CannotWrite
    from svc.store import open_store

    if arguments.apply and arguments.dry_run:
        sys.exit("svc: --apply and --dry-run cannot be combined")

    async def run() -> int:
        now = system_clock()
        with (
            open_seekable(arguments.file) as file,
            closing(read_table(file, now)) as table,
            staging() as staged,
        ):
            columns = f"codes from column `{table.code_column}`, destinations from `{table.url_column}`"
            print(printable(columns, 1_000))
            by = ", ".join(f"`{name}`" for name in table.restrictions)
            print(f"restrictions from {printable(by, 1_000)}" if by else "no columns with link restrictions")
            if table.texts:
                texts = ", ".join(f"`{name}`" for name in table.texts)
                print(f"titles, notes and tags from {printable(texts, 1_000)}")
            if table.options:
                options = ", ".join(f"`{name}`" for name in table.options)
                print(f"rules and options from {printable(options, 1_000)}")
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
                    export_account_id=arguments.of,
                    include=arguments.include,
                )
            for line, code, reason in staged.refused():
                print(f"line {line}: {printable(code) or '(no code)'}: {printable(reason, 300)}")
        if report.skipped:
            print(
                f"{plural(report.skipped, 'row')} skipped: deleted links, or links of other Cloudflare accounts (--of)"
            )
        for sentence in restriction_lines(report):
            print(sentence)
        if report.stopped:
            print(f"stopped at {printable(report.stopped, 300)} Rows not processed: {report.unprocessed}.")
        imported = "imported" if arguments.apply else "to import"
        print(
            f"{plural(report.rows, 'row')}: {plural(report.created, 'link')} {imported}, {report.existing} already"
            f" imported, {report.refused} invalid"
        )
        if not arguments.apply:
            print("This was a dry run. To import the links, add --apply.")
        elif report.created:
            print("The service will sync the links to Cloudflare within a minute, or when it starts.")
        return 1 if report.refused or report.stopped else 0

    try:
        return trio.run(run)
    except* (NotReadable, NoAccount, CannotWrite, OSError) as group:
        sys.exit(f"svc: {arguments.file}: {printable(str(first_of(group)), 1_000)}")


def _import_totals(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import day_of, system_clock
    from svc.imports.reader import NotReadable
    from svc.imports.temporary import CannotWrite
    from svc.imports.totals.formats import read_totals
    from svc.imports.totals.run import NoTarget, import_totals
    from svc.imports.totals.source import open_source
    from svc.imports.totals.tally import Name, tally
    from svc.store import open_store

    if arguments.apply and arguments.dry_run:
        sys.exit("svc: --apply and --dry-run cannot be combined")

    async def run() -> int:
        with (
            arguments.file.open("rb") as file,
            open_source(file) as source,
            tally(day_of(system_clock())) as read,
        ):
            reading = read_totals(source, read, arguments.website)
            print(f"{reading.product}; columns used: {printable(', '.join(reading.columns), 1_000)}")
            for note in reading.notes:
                print(f"note: {printable(note, 1_000)}")
            named = None if arguments.link is None else Name("link", arguments.link)
            if arguments.site is not None:
                named = Name("site", _host(arguments.site))
            for line, reason in read.refused.first:
                print(f"line {line}: {printable(reason, 300)}" if line else printable(reason, 300))

            def show(done: Done) -> None:
                for line in result_lines(done, apply=arguments.apply, replace=arguments.replace):
                    print(printable(line, 1_000))

            async with open_store(config.store) as store:
                report = await import_totals(
                    store,
                    read,
                    account_id=arguments.account,
                    email=arguments.user,
                    named=named,
                    apply=arguments.apply,
                    now=system_clock(),
                    done=show,
                    replace=arguments.replace,
                )
        for name, days in report.missing:
            print(f"{printable(name.name, 300)} ({name.kind}): not found; {plural(days, 'day')} skipped")
        if report.stopped:
            print(f"stopped at {printable(report.stopped, 300)} The rest was not processed. You can repeat the import.")
        imported = "imported" if arguments.apply else "to import"
        print(f"{plural(report.added, 'day')} {imported}; {plural(read.refused.count, 'line')} invalid")
        if not arguments.apply:
            print("This was a dry run. To import the days, add --apply.")
        complete = not (read.refused.count or report.missing or report.stopped)
        return 0 if complete and (not report.changed or arguments.replace) else 1

    try:
        return trio.run(run)
    except* (NotReadable, NoTarget, CannotWrite, OSError) as group:
        sys.exit(f"svc: {arguments.file}: {printable(str(first_of(group)), 1_000)}")


def result_lines(done: Done, *, apply: bool, replace: bool) -> Sequence[str]:
    """Return the lines to print about a target, with the number of days that are added, skipped or replaced."""
    from svc.clock import day_of, day_text

    target, compared = done.target, done.compared
    added = f"{plural(len(compared.added), 'day')} {'imported' if apply else 'to import'}"
    if compared.added:
        added += f", {day_text(compared.added[0])} to {day_text(compared.added[-1])}, with {plural(done.views, 'view')}"
    lines = [f"{target.name} ({target.kind} {target.id}): {added}"]
    if compared.same:
        lines.append(f"{plural(len(compared.same), 'day')} already imported")
    if compared.other:
        replaced = "replaced" if apply else "to replace"
        what = replaced if replace else "not changed; use --replace to overwrite them"
        lines.append(f"{_days(compared.other)} with different numbers: {what}")
    if compared.own:
        started = day_text(day_of(target.created_at))
        lines.append(f"{_days(compared.own)} skipped: counted by this service since {started}")
    if done.elsewhere:
        lines.append(f"{plural(done.elsewhere, 'day')} skipped: stored under earlier {target.kind}s with this name")
    if done.joined > 1:
        lines.append(f"{done.joined} targets in the file have this name; their daily totals were added up")
    return [lines[0], *(f"  {line}" for line in lines[1:])]


def _days(days: Sequence[int]) -> str:
    """Return the number of days and the first days as text, such as `4 days (2026-01-01, 2026-01-02, …)`."""
    from svc.clock import day_text

    named = ", ".join(day_text(day) for day in days[:3])
    return f"{plural(len(days), 'day')} ({named}{', …' if len(days) > 3 else ''})"


def _host(text: str) -> str:
    """Return a host name in its stored form. Exit with an error if it is not valid."""
    from svc.api.ascii_forms import ascii_host

    try:
        return ascii_host(text.strip()).lower().removesuffix(".")
    except ValueError:
        sys.exit(f"svc: --site {printable(text)}: not a valid host name")
