"""The import of a table of links into one account, and its dry run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic_core import from_json

from svc.actors.bulk import WantedLink, add_wanted
from svc.api.bulk import LinkRow
from svc.api.links import rules_of
from svc.api.shape import parsed
from svc.errors import Invalid, Issue, ServiceError
from svc.store import accounts, links, users
from svc.store.events import by_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.link_import.table import Row
    from svc.model import Account, Link
    from svc.store.tx import Store, Tx

BATCH = 1_000


class NoAccount(ValueError):
    """It is not clear into which account to import; the message says what to do."""


@dataclass
class Report:
    """What became of the rows, or would become of them. `refused`: line, code, and why. `stopped`: why it ended
    before the end, at a batch that was not made; `unreached`: how many rows were not tried.

    `left_out`: rows of an export of this service that are deleted links, or of another edge account.
    """

    made: int = 0
    there: int = 0
    left_out: int = 0
    refused: list[tuple[int, str, str]] = field(default_factory=list)
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
    rows: Sequence[Row],
    *,
    limit: int,
    now: int,
    apply: bool,
    https: bool = False,
    of: str | None = None,
) -> Report:
    """Make the links that are not there yet, in batches of one transaction each; only try it unless `apply`.

    `limit`: links a user may have. `https`: take addresses of http as ones of https. `of`: the edge account whose links
    are taken of an export that names them; None: the account's own. A batch that is refused as a whole ends the import:
    it would pass the limit, the account or its link host has gone meanwhile, the store is away.
    What is there already with the same address and rules is left as it is, so an import may be repeated.
    """
    edge_account_id = of or account.edge_account_id
    taken = [row for row in rows if not row.deleted and row.edge_account_id in (None, edge_account_id)]
    report = Report(left_out=len(rows) - len(taken))
    wanted = _right(taken, report, https=https)
    for first in range(0, len(wanted), BATCH):
        batch = wanted[first : first + BATCH]
        try:
            # What a dry run would have made counts, too: its batches are undone one by one.
            room = limit if apply else limit - report.made
            results = await _batch(store, account, batch, room, now, apply=apply)
        except ServiceError as error:
            report.unreached = len(wanted) - first
            report.stopped = f"line {batch[0][0].line}: {error.message}"
            break
        for (row, _), result in zip(batch, results, strict=True):
            if result is None:
                report.made += 1
            elif result == "":
                report.there += 1
            else:
                report.refused.append((row.line, row.code, result))
    report.refused.sort()
    return report


def _right(rows: Sequence[Row], report: Report, *, https: bool) -> list[tuple[Row, WantedLink]]:
    """The rows that could be links; the others are reported."""
    first_of: dict[str, tuple[int, WantedLink]] = {}
    right = []
    for row in rows:
        url = f"https://{row.url[7:]}" if https and row.url[:7].lower() == "http://" else row.url
        try:
            if row.code == "":
                raise Invalid([Issue("code", "is missing", "required")])  # a random one would be another at each repeat
            link = parsed(LinkRow, code=row.code, url=url, rules=_rules(row))
        except Invalid as error:
            report.refused.append((row.line, row.code, _reason(error)))
            continue
        wanted = WantedLink(link.url, row.code, rules_of(link.rules))
        line, same = first_of.setdefault(row.code, (row.line, wanted))
        if line == row.line:
            right.append((row, wanted))
        elif same == wanted:
            report.there += 1
        else:
            what = "another address" if same.url != wanted.url else "other rules"
            report.refused.append((row.line, row.code, f"line {line} has the same code with {what}"))
    return right


def _rules(row: Row) -> object:
    """The rules as they would come in a body. Raises Invalid."""
    try:
        return from_json(row.rules) if row.rules else []
    except ValueError:
        raise Invalid([Issue("rules", "must be a JSON list", "not_list")]) from None


async def _batch(
    store: Store, account: Account, batch: Sequence[tuple[Row, WantedLink]], limit: int, now: int, *, apply: bool
) -> list[str | None]:
    try:
        return await store.run(_add(account, batch, limit, now, apply=apply))
    except _Undone as undone:
        return undone.results


def _add(
    account: Account, batch: Sequence[tuple[Row, WantedLink]], limit: int, now: int, *, apply: bool
) -> Tx[list[str | None]]:
    """For each link why it was not made: None: it was; "": it is there. Raises _Undone unless `apply`."""
    there = yield from links.links_of_codes(account.id, [row.code for row, _ in batch])
    met = [_met(row, link, there.get(row.code)) for row, link in batch]
    missing = [link for (_, link), why in zip(batch, met, strict=True) if why is None]
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


def _met(row: Row, wanted: WantedLink, link: Link | None) -> str | None:
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


def accounts_meant(account_id: str | None, email: str | None) -> Tx[list[Account]]:
    """The account named, if it is that user's, or all accounts of the user."""
    user_id = None
    if email is not None:
        found = yield from users.find_user(email)
        if found is None:
            return []
        user_id = found[0].id
    if account_id is not None:
        account = yield from accounts.account_by_id(account_id)
        return [] if account is None or user_id not in (None, account.user_id) else [account]
    return [] if user_id is None else (yield from accounts.list_accounts(user_id))
