"""The import of a table of links into one account, and its dry run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic_core import from_json

from svc.actors.requests.bulk import WantedLink, add_wanted
from svc.api.bulk import LinkRow
from svc.api.links import rules_of
from svc.api.shape import parsed
from svc.errors import Invalid, Issue, ServiceError
from svc.imports.accounts import accounts_meant
from svc.imports.links.restrictions import RESTRICTIONS
from svc.imports.links.staging import Staged
from svc.store import links
from svc.store.events import by_operator

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from svc.imports.links.staging import Staging
    from svc.imports.links.table import Row
    from svc.model import Account, Link
    from svc.store.tx import Store, Tx

BATCH = 1_000


class NoAccount(ValueError):
    """It is not clear into which account to import; the message says what to do."""


@dataclass
class Report:
    """What became of the rows, or would become of them, as numbers; the staging has each refused row and the reason.

    `left_out`: rows of an export of this service that are deleted links, or of another edge account. `restricted`: rows
    that are not imported because another product restricted their links, by restriction; `included`: such rows that
    were asked for; `expiring`: rows that are imported without their expiry date. `stopped`: why the import ended before
    the end, at a batch that was not made; `unreached`: how many rows were not tried.
    """

    rows: int = 0
    made: int = 0
    there: int = 0
    left_out: int = 0
    restricted: Counter[str] = field(default_factory=Counter)
    included: Counter[str] = field(default_factory=Counter)
    expiring: int = 0
    refused: int = 0
    unreached: int = 0
    stopped: str = ""


class _Undone(Exception):  # it ends a dry run's transaction, and is no error
    def __init__(self, results: list[str | None]) -> None:
        super().__init__("a dry run")
        self.results = results


async def find_account(store: Store, account_id: str | None, email: str | None) -> Account:
    """The account that is meant: the one named, or the only one of a user. Raises NoAccount."""
    found = await store.read(accounts_meant(account_id, email))
    if len(found) == 1:
        if found[0].link_host is None:
            raise NoAccount(f"the account {found[0].id} has no link host yet: set one first")
        return found[0]
    if account_id is None and email is None:
        raise NoAccount("name the account by --account, or its user by --user")
    if not found:
        raise NoAccount("there is no such account")
    named = ", ".join(f"{account.id} ({account.name})" for account in found)
    raise NoAccount(f"the user has several accounts; name one by --account: {named}")


async def import_links(
    store: Store,
    account: Account,
    rows: Iterable[Row],
    staging: Staging,
    *,
    limit: int,
    now: int,
    apply: bool,
    https: bool = False,
    of: str | None = None,
    include: Collection[str] = (),
) -> Report:
    """Make the links that are not there yet, in batches of one transaction each; only try it unless `apply`.

    All rows are read into the empty `staging` before the first batch. `limit`: links a user may have. `https`: take
    addresses of http as ones of https. `of`: the edge account whose links are taken of an export that names them; None:
    the account's own. `include`: restrictions of another product whose rows are imported all the same. A batch that is
    refused as a whole ends the import: it would pass the limit, the account or its link host has gone meanwhile, the
    store is away. What is there already with the same address and rules is left as it is, so an import may be repeated.
    """
    report = Report()
    edge_account_id = of or account.edge_account_id
    for row in rows:
        report.rows += 1
        if row.deleted or row.edge_account_id not in (None, edge_account_id):
            report.left_out += 1
            continue
        try:
            _stage(row, staging, report, https=https, include=include)
        except Invalid as error:
            _refuse(staging, report, row.line, row.code, _reason(error))
    for batch in staging.batches(BATCH):
        wanted = [_wanted(staged) for staged in batch]
        try:
            # What a dry run would have made counts, too: its batches are undone one by one.
            room = limit if apply else limit - report.made
            results = await _batch(store, account, batch, wanted, room, now, apply=apply)
        except ServiceError as error:
            report.unreached = staging.count_from(batch[0].line)
            report.stopped = f"line {batch[0].line}: {error.message}"
            break
        for staged, result in zip(batch, results, strict=True):
            if result is None:
                report.made += 1
            elif result == "":
                report.there += 1
            else:
                _refuse(staging, report, staged.line, staged.code, result)
    return report


def _stage(row: Row, staging: Staging, report: Report, *, https: bool, include: Collection[str]) -> None:
    """Store a row that could be a link, or count why it is none. Raises Invalid."""
    if row.fault:
        _refuse(staging, report, row.line, row.code, row.fault)
        return
    if kept_back := [kind for kind in row.restricted.kinds if kind not in include]:
        report.restricted[kept_back[0]] += 1
        return
    if row.restricted.unreadable is not None and row.restricted.unreadable[0] not in include:
        kind, column, value = row.restricted.unreadable
        reason = f"{column} is `{value[:40]}`, which is not a date like 2026-12-31; --include {kind} ignores it"
        _refuse(staging, report, row.line, row.code, reason)
        return
    if row.code == "":
        raise Invalid([Issue("code", "is missing", "required")])  # a random one would be another at each repeat
    url = f"https://{row.url[7:]}" if https and row.url[:7].lower() == "http://" else row.url
    link = parsed(LinkRow, code=row.code, url=url, rules=_rules(row.rules))
    staged = Staged(row.line, row.code, link.url, row.rules)
    same = staging.add(staged)
    if same is None:
        report.included.update(row.restricted.kinds[:1])
        report.expiring += row.restricted.expires
    elif _wanted(same) == _wanted(staged):
        report.there += 1
    else:
        what = "another address" if same.url != staged.url else "other rules"
        _refuse(staging, report, row.line, row.code, f"line {same.line} has the same code with {what}")


def _refuse(staging: Staging, report: Report, line: int, code: str, reason: str) -> None:
    report.refused += 1
    staging.refuse(line, code, reason)


def _wanted(row: Staged) -> WantedLink:
    if not row.rules:
        return WantedLink(row.url, row.code)
    rules = parsed(LinkRow, code=row.code, url=row.url, rules=_rules(row.rules)).rules
    return WantedLink(row.url, row.code, rules_of(rules))


def _rules(text: str | None) -> object:
    """The rules as they would come in a body. Raises Invalid."""
    try:
        return from_json(text) if text else []
    except ValueError:
        raise Invalid([Issue("rules", "must be a JSON list", "not_list")]) from None


def restrictions_of(report: Report) -> list[str]:
    """Sentences about the links that another product restricted."""
    told = [f"{_rows(count)} left out: {_by_product(kind)}" for kind, count in _ordered(report.restricted)]
    if report.restricted:
        kinds = ",".join(kind for kind, _ in _ordered(report.restricted))
        told.append(f"To import such rows as well, add --include {kinds}: their links then work for everybody.")
    for kind, count in _ordered(report.included):
        none = ". Their links ask for no password: links here have none" if kind == "password" else ""
        told.append(f"{_rows(count)} included: {_by_product(kind)}{none}")
    if report.expiring:
        told.append(f"{_rows(report.expiring)} with an expiry date in the future: their links do not expire here")
    return told


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return [(kind, counts[kind]) for kind in RESTRICTIONS if counts[kind]]


def _by_product(kind: str) -> str:
    return f"{RESTRICTIONS[kind]} in the other product"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


async def _batch(
    store: Store,
    account: Account,
    batch: Sequence[Staged],
    wanted: Sequence[WantedLink],
    limit: int,
    now: int,
    *,
    apply: bool,
) -> list[str | None]:
    try:
        return await store.run(_add(account, batch, wanted, limit, now, apply=apply))
    except _Undone as undone:
        return undone.results


def _add(
    account: Account, batch: Sequence[Staged], wanted: Sequence[WantedLink], limit: int, now: int, *, apply: bool
) -> Tx[list[str | None]]:
    """For each link why it was not made: None: it was; "": it is there. Raises _Undone unless `apply`."""
    there = yield from links.links_of_codes(account.id, [row.code for row in batch])
    met = [_met(row, link, there.get(row.code)) for row, link in zip(batch, wanted, strict=True)]
    missing = [link for link, why in zip(wanted, met, strict=True) if why is None]
    added = iter((yield from add_wanted(account, missing, limit, now)))
    results: list[str | None] = []
    for why in met:
        if why is not None:
            results.append(why)
            continue
        result = next(added)
        results.append(_reason(result) if isinstance(result, ServiceError) else None)
    if not apply:
        raise _Undone(results)
    made = sum(why is None for why in results)
    yield by_operator(account.user_id, "link.create", now, account.id, account.edge_account_id, made)
    return results


def _met(row: Staged, wanted: WantedLink, link: Link | None) -> str | None:
    """What stands in the way of a link: "" when it is there already, None when nothing does."""
    if link is None:
        return None
    if link.url != wanted.url:
        return "the account has another link with this code"
    # A file of another product has no rules: what the link has got since is its user's.
    return "" if row.rules is None or link.rules == wanted.rules else "the account has this link with other rules"


def _reason(error: ServiceError) -> str:
    if isinstance(error, Invalid):
        return "; ".join(f"{issue.path} {issue.message}" for issue in error.issues)
    return error.message
