"""Imports a table of links into one account, or performs a dry run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pydantic_core import from_json, to_json

from svc.actors.requests.bulk import add_wanted
from svc.api.links import LinkRow
from svc.api.shape import parsed
from svc.clock import iso
from svc.errors import Invalid, Issue, ServiceError
from svc.imports.accounts import accounts_meant
from svc.imports.links.options import fields_of
from svc.imports.links.restrictions import RESTRICTIONS
from svc.imports.links.staging import Staged
from svc.model import WantedLink
from svc.store import links
from svc.store.events import by_operator

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from svc.imports.links.staging import Staging
    from svc.imports.links.table import Row
    from svc.model import Account, Link
    from svc.store.tx import Store, Tx

BATCH = 1_000
# The fields of a link that the Worker uses, apart from its code.
_FIELDS = ("url", "rules", "forward_query", "starts_at", "ends_at", "after_url", "split")


class NoAccount(ValueError):
    """Raised if the options do not select one account with a link host. The message says what to do."""


@dataclass
class Report:
    """The number of rows for each result of the import or dry run.

    `created`: rows whose links are created. `existing`: rows whose links already exist, or that repeat an earlier row.

    `skipped`: rows in an export of this service that contain a deleted link or a link of another Cloudflare account.
    `restricted`: for each restriction, the rows that are skipped because another product restricted the link.
    `included`: for each restriction, the restricted rows that are imported because of `--include`.
    `dated`: rows of another product that are imported with a start or expiry date.
    `shortened`: rows that are imported with a shorter title or note, or with fewer or shorter tags.
    `refused`: rejected rows, which the staging database stores with the reasons.
    `stopped`: the reason why the import stopped at a batch, or "". That batch was not written.
    `unprocessed`: rows in that batch and in all later batches.
    """

    rows: int = 0
    created: int = 0
    existing: int = 0
    skipped: int = 0
    restricted: Counter[str] = field(default_factory=Counter)
    included: Counter[str] = field(default_factory=Counter)
    dated: int = 0
    shortened: int = 0
    refused: int = 0
    unprocessed: int = 0
    stopped: str = ""


class _RolledBack(Exception):  # rolls back the transaction of a dry run; not an error
    def __init__(self, results: list[str | None]) -> None:
        super().__init__("dry run")
        self.results = results


async def find_account(store: Store, account_id: str | None, email: str | None) -> Account:
    """Return the selected account, or the only account of the selected user. Raises NoAccount."""
    accounts = await store.read(accounts_meant(account_id, email))
    if len(accounts) == 1:
        if accounts[0].link_host is None:
            raise NoAccount(f"the account {accounts[0].id} has no link host; set one first")
        return accounts[0]
    if account_id is None and email is None:
        raise NoAccount("select the account with --account, or its user with --user")
    if not accounts:
        raise NoAccount("no such account")
    named = ", ".join(f"{account.id} ({account.name})" for account in accounts)
    raise NoAccount(f"the user has several accounts; select one with --account: {named}")


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
    export_account_id: str | None = None,
    include: Collection[str] = (),
) -> Report:
    """Create the missing links in batches of one transaction each. Without `apply`, roll back each transaction.

    All rows are read into the empty `staging` before the first batch. `limit`: the maximum number of links
    per user, unless the operator has set another limit for this user.
    `https`: change http destinations to https. `export_account_id`: if the export contains several Cloudflare accounts,
    the id of the account whose links are imported; None means the id of `account`. `include`: other products'
    restrictions to ignore.

    The import stops if a whole batch fails. This happens if the batch would exceed the limit, if the account or its
    link host was removed, or if the store is unavailable. Links that exist with the same destination, rules and options
    are not changed, so an import can be repeated.
    """
    report = Report()
    edge_account_id = export_account_id or account.edge_account_id
    for row in rows:
        report.rows += 1
        if row.deleted or row.edge_account_id not in (None, edge_account_id):
            report.skipped += 1
            continue
        try:
            _stage(row, staging, report, https=https, include=include)
        except Invalid as error:
            _refuse(staging, report, row.line, row.code, _reason(error))
    for batch in staging.batches(BATCH):
        wanted = [_wanted(staged) for staged in batch]
        try:
            # In a dry run, each batch is rolled back, but the links in earlier batches must count toward the limit.
            unstored = 0 if apply else report.created
            results = await _batch(store, account, batch, wanted, limit, now, unstored, apply=apply)
        except ServiceError as error:
            report.unprocessed = staging.count_from(batch[0].line)
            report.stopped = f"line {batch[0].line}: {error.message}"
            break
        for staged, result in zip(batch, results, strict=True):
            if result is None:
                report.created += 1
            elif result == "":
                report.existing += 1
            else:
                _refuse(staging, report, staged.line, staged.code, result)
    return report


def _stage(row: Row, staging: Staging, report: Report, *, https: bool, include: Collection[str]) -> None:
    """Store a row with a valid link, or record why it is skipped. Raises Invalid."""
    if row.fault:
        _refuse(staging, report, row.line, row.code, row.fault)
        return
    if excluded := [kind for kind in row.restricted.kinds if kind not in include]:
        report.restricted[excluded[0]] += 1
        return
    if row.restricted.unreadable is not None and row.restricted.unreadable[0] not in include:
        kind, column, value = row.restricted.unreadable
        reason = f"{column} is `{value[:40]}`, which is not a date (expected YYYY-MM-DD); --include {kind} ignores it"
        _refuse(staging, report, row.line, row.code, reason)
        return
    if row.code == "":
        raise Invalid([Issue("code", "is missing", "required")])  # each import would create another random code
    url = f"https://{row.url[7:]}" if https and row.url[:7].lower() == "http://" else row.url
    own = row.options if row.rules is None else {"rules": row.rules, **row.options}
    dates = {name: iso(at) for name in ("starts_at", "ends_at") if (at := getattr(row.restricted, name)) is not None}
    fields = {**fields_of(own), **dates}
    link = parsed(LinkRow, code=row.code, url=url, **fields)
    texts, tags = row.texts, " ".join(row.texts.tags)
    options = to_json(fields).decode()
    staged = Staged(row.line, row.code, link.url, options, " ".join(own), texts.title, texts.note, tags)
    same = staging.add(staged)
    if same is None:
        report.included.update(row.restricted.kinds[:1])
        report.dated += bool(dates)
        report.shortened += texts.shortened
    elif difference := _difference(_wanted(same), _wanted(staged), _FIELDS):
        _refuse(staging, report, row.line, row.code, f"line {same.line} has the same code with {difference}")
    else:
        report.existing += 1


def _refuse(staging: Staging, report: Report, line: int, code: str, reason: str) -> None:
    report.refused += 1
    staging.refuse(line, code, reason)


def _wanted(row: Staged) -> WantedLink:
    fields = {} if row.fields == "{}" else from_json(row.fields)
    link = parsed(LinkRow, code=row.code, url=row.url, **fields).to_model() if fields else WantedLink(row.url, row.code)
    return replace(link, title=row.title, note=row.note, tags=tuple(row.tags.split()))


def _difference(link: WantedLink, other: WantedLink | Link, fields: Iterable[str]) -> str:
    """Return a description of the first of these fields that differs between the links, or "" if none differs."""
    for name in fields:
        if getattr(link, name) != getattr(other, name):
            return {"url": "another destination", "rules": "other rules"}.get(name, f"another value of {name}")
    return ""


def restriction_lines(report: Report) -> list[str]:
    """Return lines of text about rows with restrictions or future dates, and rows whose texts were shortened."""
    lines = [f"{_rows(count)} skipped: {_by_product(kind)}" for kind, count in _ordered(report.restricted)]
    if report.restricted:
        kinds = ",".join(kind for kind, _ in _ordered(report.restricted))
        lines.append(f"To import these rows without the restrictions, add --include {kinds}.")
    for kind, count in _ordered(report.included):
        note = ". The links work without a password here" if kind == "password" else ""
        lines.append(f"{_rows(count)} included: {_by_product(kind)}{note}")
    if report.dated:
        lines.append(f"{_rows(report.dated)} with a future start or expiry date, which the service applies")
    if report.shortened:
        lines.append(f"{_rows(report.shortened)} with a title, note or tags that were shortened")
    return lines


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
    unstored: int,
    *,
    apply: bool,
) -> list[str | None]:
    try:
        return await store.run(_add(account, batch, wanted, limit, now, unstored, apply=apply))
    except _RolledBack as result:
        return result.results


def _add(
    account: Account,
    batch: Sequence[Staged],
    wanted: Sequence[WantedLink],
    limit: int,
    now: int,
    unstored: int,
    *,
    apply: bool,
) -> Tx[list[str | None]]:
    """Create the links that do not exist.

    For each link, return None if it was created, "" if it already existed, or the error.

    Without `apply`, raises _RolledBack with these results.
    """
    existing = yield from links.links_of_codes(account.id, [row.code for row in batch])
    conflicts = [_conflict(row, link, existing.get(row.code)) for row, link in zip(batch, wanted, strict=True)]
    missing = [link for link, why in zip(wanted, conflicts, strict=True) if why is None]
    added = iter((yield from add_wanted(account, missing, limit, now, unstored=unstored)))
    results: list[str | None] = []
    for why in conflicts:
        if why is not None:
            results.append(why)
            continue
        result = next(added)
        results.append(_reason(result) if isinstance(result, ServiceError) else None)
    if not apply:
        raise _RolledBack(results)
    made = sum(why is None for why in results)
    yield by_operator(account.user_id, "link.create", now, account.id, account.edge_account_id, made)
    return results


def _conflict(row: Staged, wanted: WantedLink, link: Link | None) -> str | None:
    """Return the reason why a link cannot be created ("" if it exists already), or None if it can be created."""
    if link is None:
        return None
    if link.url != wanted.url:
        return "the account has another link with this code"
    # Compare only the fields for which the file has a column. Other fields keep the values that the user has set.
    difference = _difference(wanted, link, row.columns.split())
    return f"the account has this link with {difference}" if difference else ""


def _reason(error: ServiceError) -> str:
    if isinstance(error, Invalid):
        return "; ".join(f"{issue.path} {issue.message}" for issue in error.issues)
    return error.message
