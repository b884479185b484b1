"""The content of an email report that is read from the store: totals, series, links, notes, and completeness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.clock import day_of
from svc.model import Counts
from svc.store import accounts, notes, sites, totals, users
from svc.store.mailings import get_mailing
from svc.store.tx import Tx, sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import Account, Mailing, Note
    from svc.store.report_periods import ReportPeriod
    from svc.store.tx import Row

MAX_SITES = 20
MAX_LINKS = 5
MAX_NOTES = 10

_Table = Literal["sites", "links"]
_NAMES: Mapping[_Table, str] = {"sites": "t.host", "links": "t.code"}
_EXISTING: Mapping[_Table, str] = {"sites": "t.state <> 'deleted'", "links": "t.state = 'active'"}
_COLUMNS = ("views", "bots", "visitors")
# SQL expressions that sum the columns of the table `days d` over the period and over the previous period. $2 is the
# first day of the period.
_SUMS = ", ".join(
    f"cast(coalesce(sum(case when d.day {which} $2 then d.{column} end), 0) as bigint) as {column}{suffix}"
    for suffix, which in (("", ">="), ("_before", "<"))
    for column in _COLUMNS
)


@dataclass(frozen=True)
class Entry:
    """A site or link with its counts. `before`: the counts in the previous period; None if nothing was counted then."""

    name: str
    counts: Counts
    before: Counts | None


@dataclass(frozen=True)
class StoredReport:
    """The content of a report that is read from the store.

    `total`: the counts of the site or of all sites. `days`: the views on each day of the period. `sites`: the sites
    with the most views, for a report about an account. `links`: the account's links with the most clicks, with their
    short URLs. `notes`: at most `MAX_NOTES` + 1 notes. `missing_days`: the number of days for which the account's
    Worker has not sent all counts yet.
    """

    mailing: Mailing
    account: Account
    name: str
    total: Entry
    days: tuple[int, ...]
    sites: tuple[Entry, ...]
    number_of_sites: int
    links: tuple[Entry, ...]
    notes: tuple[Note, ...]
    missing_days: int


def read_report(target: str, period: ReportPeriod, now: int) -> Tx[StoredReport | None]:
    """Return the content of a report that is read from the store; None if no report may be sent.

    No report may be sent if the site was deleted or disabled, if the user is disabled or is being deleted, or if no
    recipient has confirmed.
    """
    rows = yield sql("select user_id from mailings where target = $1", target)
    user = (yield from users.get_user(rows[0]["user_id"])) if rows else None
    if user is None or user.disabled_at is not None:
        return None
    mailing = yield from get_mailing(user.id, target)
    if mailing is None or not any(one.state == "confirmed" for one in mailing.recipients):
        return None
    account = yield from accounts.get_account(user.id, mailing.account_id)
    if account is None:
        return None
    if mailing.target_kind == "account":
        name = account.name
        number, entries, total = yield from _entries("sites", account, period, MAX_SITES)
        series = yield from _series("t.account_id = $3 and t.state <> 'deleted'", account.id, period)
    else:
        site = yield from sites.get_site(user.id, target)
        if site is None or site.state == "deleted" or site.disabled is not None:
            return None
        name, number, entries = site.host, 0, []
        total = yield from _site_total(target, period)
        series = yield from _series("t.id = $3", target, period)
    _, links, _ = yield from _entries("links", account, period, MAX_LINKS)
    found = yield from notes.list_notes(sorted({target, account.id}), period.first, period.last, MAX_NOTES + 1)
    return StoredReport(
        mailing=mailing,
        account=account,
        name=name,
        total=Entry(name, *total),
        days=tuple(series.get(day, 0) for day in range(period.first, period.last + 1)),
        sites=tuple(entries),
        number_of_sites=number,
        links=tuple(one for one in links if one.counts.views or one.before),
        notes=tuple(found),
        missing_days=(yield from _missing_days(account, period, day_of(now))),
    )


_Both = tuple[Counts, Counts | None]


def _site_total(target: str, period: ReportPeriod) -> Tx[_Both]:
    [row] = yield sql(
        f"select {_SUMS}, count(case when d.day < $2 then 1 end) as days_before from days d"  # noqa: S608  # SQL of this file
        " where d.target = $1 and d.day >= $3 and d.day <= $4",
        target,
        period.first,
        period.first_before,
        period.last,
    )
    return _both(row)


def _entries(table: _Table, account: Account, period: ReportPeriod, most: int) -> Tx[tuple[int, list[Entry], _Both]]:
    """Return the number of an account's sites or links, the entries with the most views, and the sums of all counts."""
    counted = (
        f"select t.id, {_NAMES[table]} as name, {_SUMS}, count(case when d.day < $2 then 1 end) as days_before"  # noqa: S608  # SQL of this file
        f" from {table} t left join days d on d.target = t.id and d.day >= $3 and d.day <= $4"
        f" where t.account_id = $1 and {_EXISTING[table]} group by t.id, {_NAMES[table]}"
    )
    sums = ", ".join(
        f"cast(sum({column}) over () as bigint) as all_{column}"
        for column in (*_COLUMNS, *(f"{column}_before" for column in _COLUMNS), "days_before")
    )
    rows = yield sql(
        f"select counted.*, count(*) over () as number, {sums} from ({counted}) counted"  # noqa: S608  # SQL of this file
        " order by views desc, name, id limit $5",
        account.id,
        period.first,
        period.first_before,
        period.last,
        most,
    )
    if not rows:
        return 0, [], (Counts(), None)
    prefix = "" if table == "sites" or account.link_host is None else f"{account.link_host.host}/"
    entries = [Entry(f"{prefix}{row['name']}", *_both(row)) for row in rows]
    return rows[0]["number"], entries, _both(rows[0], "all_")


def _both(row: Row, prefix: str = "") -> _Both:
    """Return a row's counts in the period, and those in the previous period or None if nothing was counted then."""
    now, before = (Counts(*(row[f"{prefix}{column}{suffix}"] for column in _COLUMNS)) for suffix in ("", "_before"))
    return now, before if row[f"{prefix}days_before"] else None


def _series(condition: str, value: str, period: ReportPeriod) -> Tx[dict[int, int]]:
    rows = yield sql(
        "select d.day, cast(sum(d.views) as bigint) as views from sites t join days d on d.target = t.id"  # noqa: S608  # conditions of this file
        f" and d.day >= $1 and d.day <= $2 where {condition} group by d.day",
        period.first,
        period.last,
        value,
    )
    return {row["day"]: row["views"] for row in rows}


def _missing_days(account: Account, period: ReportPeriod, today: int) -> Tx[int]:
    """Return the number of days for which the account's Worker has not sent all counts yet.

    Days for which the service no longer accepts counts are not included.
    """
    first = max(period.first, day_of(account.created_at), today - totals.OLDEST_DAYS)
    final = yield from totals.final_days(account.id, first, period.last)
    return sum(day not in final for day in range(first, period.last + 1))
