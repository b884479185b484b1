"""Transactions that find the email reports that are due, and queue them.

A report is due on the day after its period, once the account's Worker has sent all counts of the period's last day. If
the counts do not arrive, the report is due `LATEST_MINUTES` after the end of its period. The day of the next report is
moved forward in the transaction that queues the emails, so no report is lost or sent twice. After an outage of the
service, only the latest period is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc.clock import DAY_MS
from svc.store import outbox
from svc.store.report_periods import next_due_day
from svc.store.tx import Tx, sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.model import JsonObject, MailingKind
    from svc.store.report_periods import ReportPeriod

_MINUTE_MS = 60_000
# If counts are still missing this many minutes after the end of a report's period, the report is sent without them.
# Each report adds its own offset of up to an hour.
LATEST_MINUTES = 25 * 60
# By kind of report: the column with the day of the next report, and the column with the day on which the last report
# was due.
_COLUMNS: Mapping[MailingKind, str] = {"weekly": "weekly_day", "monthly": "monthly_day"}
_SENT: Mapping[MailingKind, str] = {"weekly": "weekly_sent", "monthly": "monthly_sent"}


def due(period: ReportPeriod, now: int, most: int, skipped: Sequence[str] = ()) -> Tx[list[str]]:
    """Return the ids of at most `most` sites and accounts whose report about the period is due, except `skipped`."""
    column = _COLUMNS[period.kind]
    minutes = (now - period.due_day * DAY_MS) // _MINUTE_MS
    rows = yield sql(
        f"select m.target from mailings m where m.{column} <= $1 and m.minute <= $2 and (m.minute <= $3 or exists"  # noqa: S608  # a column of this file
        " (select 1 from final_days f where f.account_id = m.account_id and f.day = $4))"
        f" and not m.target = any($5) order by m.{column}, m.minute, m.target limit $6",
        period.due_day,
        minutes,
        minutes - LATEST_MINUTES,
        period.last,
        tuple(skipped),
        most,
    )
    return [row["target"] for row in rows]


def enqueue(target: str, period: ReportPeriod, report: JsonObject | None, now: int) -> Tx[int | None]:
    """Queue the emails with a report, and set the day of the next report.

    `report`: the content; None if there is nothing to send. Returns the number of emails; None if this report is no
    longer due, because another task has queued it or the user has turned these reports off.
    """
    column, sent = _COLUMNS[period.kind], _SENT[period.kind]
    following = next_due_day(period.kind, period.due_day)
    rows = yield sql(
        f"update mailings set {column} = $2, {sent} = $3 where target = $1 and {column} <= $3"  # noqa: S608  # columns of this file
        f" and ({sent} is null or {sent} <> $3) returning user_id",
        target,
        following,
        period.due_day,
    )
    if not rows:
        # If the clock was set back and then forward again, the report is due a second time, and must not be sent again.
        yield sql(
            f"update mailings set {column} = $2 where target = $1 and {column} <= $3",  # noqa: S608  # a column of this file
            target,
            following,
            period.due_day,
        )
        return None
    recipients: Sequence[Any] = ()
    if report is not None:
        recipients = yield sql(
            "select id, email, language from mailing_recipients"
            " where mailing = $1 and state = 'confirmed' and listed = 1 order by position, id",
            target,
        )
    for each in recipients:
        yield from outbox.post(
            "report",
            each["email"],
            now,
            now + outbox.TOLD_WITHIN_MS,
            user_id=rows[0]["user_id"],
            facts={"recipient": each["id"], "report": report},
            language=each["language"],
        )
    return len(recipients)


def has_wrong_days(kind: MailingKind, today: int) -> Tx[bool]:
    """Return True if a report's next due day is more than two periods from now.

    Such a day was stored while the host's clock was wrong.
    """
    column = _COLUMNS[kind]
    rows = yield sql(f"select 1 from mailings where {column} > $1 limit 1", _last_possible_day(kind, today))  # noqa: S608  # a column of this file
    return bool(rows)


def correct_days(kind: MailingKind, today: int) -> Tx[None]:
    """Replace wrong due days (see `has_wrong_days`) with the next possible day.

    Otherwise, these reports would not be sent before the wrong day.
    """
    column = _COLUMNS[kind]
    yield sql(
        f"update mailings set {column} = $1 where {column} > $2",  # noqa: S608  # a column of this file
        next_due_day(kind, today),
        _last_possible_day(kind, today),
    )


def _last_possible_day(kind: MailingKind, today: int) -> int:
    return next_due_day(kind, next_due_day(kind, today))
