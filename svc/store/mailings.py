"""Transactions on the settings of email reports.

`recipients` has the transactions on the recipients of reports, and `mailing_schedule` those that send reports.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svc.clock import day_of
from svc.errors import Conflict, NotFound
from svc.model import Language, Mailing
from svc.store.locks import lock_account, lock_user
from svc.store.recipients import Wanted, recipient_of, store_recipients
from svc.store.report_periods import next_due_day
from svc.store.totals import pushed_as_of
from svc.store.tx import UNCHANGED, Row, Tx, sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc.model import MailingKind, MailingTarget, User

# Reports are spread over this many minutes, because all of them would otherwise be due at the same time.
_MINUTES = 60
PAGE = 500


@dataclass(frozen=True)
class Settings:
    """The settings of email reports as the user specified them."""

    weekly: bool
    monthly: bool
    recipients: Sequence[Wanted]
    alerts: bool = False


def new_mailing(user_id: int, account_id: str, target_kind: MailingTarget, target: str, now: int) -> Mailing:
    """Return the settings of a site or account for which none are stored: no reports, no recipients."""
    minute = zlib.crc32(target.encode()) % _MINUTES
    return Mailing(target, target_kind, user_id, account_id, None, None, minute, now)


def get_mailing(user_id: int, target: str) -> Tx[Mailing | None]:
    """Return the settings of email reports about a site or account of this user; None if none are stored."""
    rows = yield sql("select * from mailings where target = $1 and user_id = $2", target, user_id)
    return (yield from _with_recipients(rows))[0] if rows else None


def mailings_page(user_id: int, made_until: int, after: Mailing | None = None) -> Tx[list[Mailing]]:
    """Return a page of the user's email reports in order of creation, for the export.

    The page contains only settings created at or before `made_until` (epoch ms). `after`: the last `Mailing` of the
    previous page.
    """
    begun = (0, "") if after is None else (after.created_at, after.target)
    rows = yield sql(
        "select * from mailings where user_id = $1 and created_at <= $2 and (created_at, target) > ($3, $4)"
        " order by created_at, target limit $5",
        user_id,
        made_until,
        *begun,
        PAGE,
    )
    return (yield from _with_recipients(rows))


def put_mailing(user: User, mailing: Mailing, asked: Settings, language: Language | None, now: int) -> Tx[Mailing]:
    """Replace the settings and the recipients of `mailing`, and queue emails that ask new recipients to confirm.

    The user's own confirmed address needs no confirmation. Recipients that have not confirmed are asked again, within
    the limit `recipients.MAX_REQUESTS_A_DAY`. `language`: the language of the request, for recipients without a
    language.

    Raises NotFound if the account does not exist; Conflict site_not_active if the site has been deleted.
    """
    yield from lock_user(user.id)
    yield from lock_account(mailing.account_id)
    yield from _check_target(mailing)
    before = yield from get_mailing(user.id, mailing.target)
    if before is None and not (asked.weekly or asked.monthly or asked.alerts or asked.recipients):
        yield UNCHANGED
        return mailing
    stored = before or mailing
    yield from _store_settings(
        replace(
            stored,
            weekly_day=_next_day("weekly", stored.weekly_day, now) if asked.weekly else None,
            monthly_day=_next_day("monthly", stored.monthly_day, now) if asked.monthly else None,
            alerts_from=(yield from _alerts_from(stored)) if asked.alerts else None,
        )
    )
    yield from store_recipients(user, stored, asked.recipients, language, now)
    after = yield from get_mailing(user.id, mailing.target)
    if after is None:
        raise AssertionError("the settings were not stored")
    if after == before:
        yield UNCHANGED
    return after


def delete_mailing(target: str) -> Tx[None]:
    """Delete the email reports about a site that is being deleted, and the state of its alerts."""
    yield sql("delete from mailings where target = $1", target)
    yield sql("delete from alert_states where site_id = $1", target)


def _check_target(mailing: Mailing) -> Tx[None]:
    if not (yield sql("select 1 from accounts where id = $1 and user_id = $2", mailing.account_id, mailing.user_id)):
        raise NotFound
    if mailing.target_kind == "site" and not (
        yield sql("select 1 from sites where id = $1 and state <> 'deleted'", mailing.target)
    ):
        raise Conflict("site_not_active")


def _next_day(kind: MailingKind, stored: int | None, now: int) -> int:
    """Return the stored day of the next report, or the next possible day if these reports were off."""
    return next_due_day(kind, day_of(now)) if stored is None else stored


def _alerts_from(mailing: Mailing) -> Tx[int]:
    """Return the stored time of the first hour for alerts, or the end of the last pushed hour if alerts were off."""
    if mailing.alerts_from is not None:
        return mailing.alerts_from
    return (yield from pushed_as_of(mailing.account_id)) or 0


def _store_settings(mailing: Mailing) -> Tx[None]:
    yield sql(
        "insert into mailings (target, target_kind, user_id, account_id, weekly_day, monthly_day, minute, created_at,"
        " alerts_from) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " on conflict (target) do update set weekly_day = excluded.weekly_day, monthly_day = excluded.monthly_day,"
        " alerts_from = excluded.alerts_from",
        mailing.target,
        mailing.target_kind,
        mailing.user_id,
        mailing.account_id,
        mailing.weekly_day,
        mailing.monthly_day,
        mailing.minute,
        mailing.created_at,
        mailing.alerts_from,
    )


def _with_recipients(rows: Sequence[Row]) -> Tx[list[Mailing]]:
    """Return the email reports that are stored in rows of `mailings`, with the recipients that the user sees."""
    found = yield sql(
        "select * from mailing_recipients where mailing = any($1) and listed = 1 order by mailing, position, id",
        tuple(row["target"] for row in rows),
    )
    return [_mailing(row, (one for one in found if one["mailing"] == row["target"])) for row in rows]


def _mailing(row: Row, recipients: Iterable[Row]) -> Mailing:
    return Mailing(
        target=row["target"],
        target_kind=row["target_kind"],
        user_id=row["user_id"],
        account_id=row["account_id"],
        weekly_day=row["weekly_day"],
        monthly_day=row["monthly_day"],
        minute=row["minute"],
        created_at=row["created_at"],
        recipients=tuple(map(recipient_of, recipients)),
        alerts_from=row["alerts_from"],
    )
