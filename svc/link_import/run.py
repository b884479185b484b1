"""The import of a table of links into one account, and its dry run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from svc.actors.bulk import WantedLink, add_wanted
from svc.api.bulk import LinkRow
from svc.api.shape import parsed
from svc.errors import Forbidden, Invalid, ServiceError
from svc.store import accounts, links, users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.link_import.table import Row
    from svc.model import Account
    from svc.store.tx import Store, Tx

BATCH = 1_000


class NoAccount(ValueError):
    """It is not clear into which account to import; the message says what to do."""


@dataclass
class Report:
    """What became of the rows, or would become of them. `refused`: line, code, and why. `unreached`: not tried."""

    made: int = 0
    there: int = 0
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
    store: Store, account: Account, rows: Sequence[Row], *, limit: int, now: int, apply: bool, https: bool = False
) -> Report:
    """Make the links that are not there yet, in batches of one transaction each; only try it unless `apply`.

    `limit`: links a user may have. `https`: take addresses of http as ones of https. A batch that would pass the limit
    ends the import. What is there already with the same address is left as it is, so an import may be repeated.
    """
    report = Report()
    wanted = _right(rows, report, https=https)
    for first in range(0, len(wanted), BATCH):
        batch = wanted[first : first + BATCH]
        try:
            # What a dry run would have made counts, too: its batches are undone one by one.
            room = limit if apply else limit - report.made
            results = await _batch(store, account, [link for _, link in batch], room, now, apply=apply)
        except Forbidden as error:
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
    first_of: dict[str, tuple[int, str]] = {}
    right = []
    for row in rows:
        url = f"https://{row.url[7:]}" if https and row.url[:7].lower() == "http://" else row.url
        try:
            if row.code == "":
                raise Invalid([("code", "is missing")])  # a random one would be another at each repeat
            link = parsed(LinkRow, code=row.code, url=url)
        except Invalid as error:
            report.refused.append((row.line, row.code, _reason(error)))
            continue
        line, same = first_of.setdefault(row.code, (row.line, link.url))
        if line != row.line and same == link.url:
            report.there += 1
        elif line != row.line:
            report.refused.append((row.line, row.code, f"line {line} has the same code with another address"))
        else:
            right.append((row, WantedLink(link.url, row.code)))
    return right


async def _batch(
    store: Store, account: Account, wanted: Sequence[WantedLink], limit: int, now: int, *, apply: bool
) -> list[str | None]:
    try:
        return await store.run(_add(account, wanted, limit, now, apply=apply))
    except _Undone as undone:
        return undone.results


def _add(account: Account, wanted: Sequence[WantedLink], limit: int, now: int, *, apply: bool) -> Tx[list[str | None]]:
    """For each link why it was not made: None: it was; "": it is there. Raises _Undone unless `apply`."""
    there = yield from links.targets_of_codes(account.id, [cast("str", link.code) for link in wanted])
    missing = [link for link in wanted if there.get(cast("str", link.code)) != link.url]
    added = iter((yield from add_wanted(account, missing, limit, now)))
    results: list[str | None] = []
    for link in wanted:
        if there.get(cast("str", link.code)) == link.url:
            results.append("")
            continue
        result = next(added)
        results.append(_reason(result) if isinstance(result, ServiceError) else None)
    if not apply:
        raise _Undone(results)
    return results


def _reason(error: ServiceError) -> str:
    if isinstance(error, Invalid):
        return "; ".join(f"{path} {text}" for path, text in error.issues)
    return "the account has another link with this code" if error.code == "link_exists" else error.message


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
