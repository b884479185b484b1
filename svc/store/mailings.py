"""Transactions on email reports and their recipients. `mailing_schedule` has those that send reports.

An address gets reports only after its owner has confirmed with the link in an email. An address that has unsubscribed
gets no reports until its owner subscribes again with a link in an email. If the user removes such an address, its row
therefore stays.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from svc.clock import DAY_MS, day_of
from svc.errors import Conflict, NotFound
from svc.ids import new_id
from svc.model import DEFAULT_LANGUAGE, Event, Language, Mailing, MailingContent, Recipient, RecipientState
from svc.store import outbox
from svc.store.locks import lock_user
from svc.store.report_periods import next_due_day
from svc.store.totals import pushed_as_of
from svc.store.tx import UNCHANGED, Row, Tx, sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc.model import AccountAction, MailingKind, MailingTarget, User

# The maximum number of addresses that a user can ask to confirm in 24 hours. Each address is asked at most once in
# 24 hours, by any user. The limits keep users from flooding strangers with emails.
MAX_REQUESTS_A_DAY = 10
# How long the links in an email to a recipient work.
MAILING_TOKEN_DAYS = 400
# Reports are spread over this many minutes, because they are all due at the same hour.
_MINUTES = 60
PAGE = 500


@dataclass(frozen=True)
class Wanted:
    """A recipient as the user specified it. `language`: None keeps the stored language."""

    email: str
    language: Language | None


@dataclass(frozen=True)
class Settings:
    """The settings of email reports as the user specified them."""

    weekly: bool
    monthly: bool
    recipients: Sequence[Wanted]
    alerts: bool = False


@dataclass(frozen=True)
class Subscription:
    """A recipient, with the reports that it gets or can get.

    `name`: the site's host or the account's name. `listed`: False if the user has removed the recipient.
    """

    recipient: Recipient
    user_id: int
    target: str
    target_kind: MailingTarget
    edge_account_id: str
    name: str
    weekly: bool
    monthly: bool
    alerts: bool
    listed: bool

    @property
    def content(self) -> MailingContent:
        """The emails that the recipient gets or can get. If the user has turned everything off, reports."""
        if not self.alerts:
            return "reports"
        return "reports_and_alerts" if self.weekly or self.monthly else "alerts"


def new_mailing(user_id: int, account_id: str, target_kind: MailingTarget, target: str, now: int) -> Mailing:
    """Return the settings of a site or account for which none are stored: no reports, no recipients."""
    minute = zlib.crc32(target.encode()) % _MINUTES
    return Mailing(target, target_kind, user_id, account_id, None, None, minute, now)


def get_mailing(user_id: int, target: str) -> Tx[Mailing | None]:
    """Return the email reports about a site or account of this user; None if none are stored."""
    rows = yield sql("select * from mailings where target = $1 and user_id = $2", target, user_id)
    return (yield from _with_recipients(rows))[0] if rows else None


def mailings_page(user_id: int, made_until: int, after: Mailing | None = None) -> Tx[list[Mailing]]:
    """Return a page of the user's email reports in order of creation, for the export.

    The page contains only settings created at or before `made_until` (epoch ms). `after`: the last one of the previous
    page.
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
    the limits of `MAX_REQUESTS_A_DAY`. `language`: the language of the request, for recipients without a language.

    Raises NotFound if the account does not exist; Conflict site_not_active if the site has been deleted.
    """
    yield from lock_user(user.id)
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
    yield from _store_recipients(user, stored, asked.recipients, language, now)
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


def lock_recipient(recipient_id: str) -> Tx[bool]:
    """Lock a recipient, so that it is not removed before the transaction ends. Returns False if it was removed."""
    rows = yield sql("update mailing_recipients set state = state where id = $1 returning id", recipient_id)
    return bool(rows)


def add_token(recipient_id: str, digest: str, now: int) -> Tx[None]:
    """Store the token of the links in an email to a recipient that this transaction has locked.

    The tokens in earlier emails to the recipient stay valid.
    """
    yield sql(
        "insert into mailing_tokens (digest, recipient_id, created_at) values ($1, $2, $3)", digest, recipient_id, now
    )


def get_subscription(recipient_id: str) -> Tx[Subscription | None]:
    """Return a recipient with its reports; None if it was removed."""
    return _first((yield sql(f"{_SUBSCRIPTIONS} where r.id = $1", recipient_id)))


def subscription_of_token(digest: str) -> Tx[Subscription | None]:
    """Return the recipient that got an email with this token; None if the token is unknown."""
    return _first(
        (yield sql(f"{_SUBSCRIPTIONS} join mailing_tokens k on k.recipient_id = r.id where k.digest = $1", digest))
    )


def subscribe(digest: str, now: int) -> Tx[Subscription | None]:
    """Let the recipient with this token get reports, unless the user has removed it.

    Returns the recipient; None if the token is unknown.
    """
    found = yield from subscription_of_token(digest)
    if found is None or not found.listed:
        return found
    yield sql("delete from mailing_refusals where user_id = $1 and address = $2", found.user_id, found.recipient.email)
    return (yield from _change_state(found, "confirmed", "mailing.confirm", now))


def unsubscribe(digest: str, now: int) -> Tx[Subscription | None]:
    """Stop all reports to the recipient with this token. Returns the recipient; None if the token is unknown.

    If the recipient has not confirmed, the user can no longer ask this address to confirm.
    """
    found = yield from subscription_of_token(digest)
    if found is None:
        return None
    if found.recipient.state == "unconfirmed":
        yield sql(
            "insert into mailing_refusals (user_id, address) values ($1, $2) on conflict (user_id, address) do nothing",
            found.user_id,
            found.recipient.email,
        )
    return (yield from _change_state(found, "unsubscribed", "mailing.unsubscribe", now))


def mark_refused(recipient_id: str) -> Tx[None]:
    """Record that a mail server rejected the address of a recipient, which therefore has to confirm again."""
    yield sql("update mailing_recipients set state = 'unconfirmed' where id = $1 and state = 'confirmed'", recipient_id)


def _change_state(found: Subscription, state: RecipientState, action: AccountAction, now: int) -> Tx[Subscription]:
    changed = yield sql(
        "update mailing_recipients set state = $2 where id = $1 and state <> $2 returning id", found.recipient.id, state
    )
    if changed:
        yield Event(found.user_id, now, "mail", None, action, found.target, "done", found.edge_account_id)
    return replace(found, recipient=replace(found.recipient, state=state))


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


def _store_recipients(
    user: User, mailing: Mailing, wanted: Sequence[Wanted], language: Language | None, now: int
) -> Tx[None]:
    rows = yield sql("select * from mailing_recipients where mailing = $1", mailing.target)
    stored = {row["email"]: row for row in rows}
    addresses = tuple(one.email for one in wanted)
    refused = yield sql(
        "select address from mailing_refusals where user_id = $1 and address = any($2)", user.id, addresses
    )
    refusals = {row["address"] for row in refused}
    removed = [row for row in rows if row["email"] not in addresses]
    for row in removed:
        if row["state"] == "unsubscribed":
            yield sql("update mailing_recipients set listed = 0 where id = $1", row["id"])
        else:
            yield sql("delete from mailing_recipients where id = $1", row["id"])
    for position, one in enumerate(wanted):
        found = stored.get(one.email)
        if found is not None:
            recipient = _recipient(found)
            spoken = one.language or recipient.language
            yield sql(
                "update mailing_recipients set language = $2, listed = 1, position = $3 where id = $1",
                recipient.id,
                spoken,
                position,
            )
        else:
            spoken = one.language or user.language or language or DEFAULT_LANGUAGE
            recipient = Recipient(new_id("rcp"), one.email, spoken, _first_state(user, one.email, refusals))
            yield sql(
                "insert into mailing_recipients (id, mailing, email, language, state, position, created_at)"
                " values ($1, $2, $3, $4, $5, $6, $7)",
                recipient.id,
                mailing.target,
                recipient.email,
                recipient.language,
                recipient.state,
                position,
                now,
            )
        if recipient.state == "unconfirmed":
            yield from _ask_to_confirm(user.id, recipient, spoken, now)


def _first_state(user: User, email: str, refusals: set[str]) -> RecipientState:
    if email in refusals:
        return "unsubscribed"
    return "confirmed" if user.email_confirmed and email == user.email.lower() else "unconfirmed"


def _ask_to_confirm(user_id: int, recipient: Recipient, language: Language, now: int) -> Tx[None]:
    """Queue an email that asks a recipient to confirm, unless a limit is reached."""
    since = now - DAY_MS
    [row] = yield sql(
        "select count(*) as n from mailing_requests where user_id = $1 and asked_at > $2 and asked_at <= $3",
        user_id,
        since,
        now,
    )
    if row["n"] >= MAX_REQUESTS_A_DAY:
        return
    # A time in the future was stored while the host's clock was wrong.
    claimed = yield sql(
        "insert into mailing_requests (address, user_id, asked_at) values ($1, $2, $3)"
        " on conflict (address) do update set user_id = excluded.user_id, asked_at = excluded.asked_at"
        " where mailing_requests.asked_at <= $4 or mailing_requests.asked_at > excluded.asked_at returning address",
        recipient.email,
        user_id,
        now,
        since,
    )
    if not claimed:
        return
    yield sql("update mailing_recipients set asked_at = $2 where id = $1", recipient.id, now)
    yield from outbox.post(
        "report_confirm",
        recipient.email,
        now,
        now + outbox.TOLD_WITHIN_MS,
        user_id=user_id,
        facts={"recipient": recipient.id},
        language=language,
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
        recipients=tuple(map(_recipient, recipients)),
        alerts_from=row["alerts_from"],
    )


def _recipient(row: Row) -> Recipient:
    return Recipient(
        id=row["id"],
        email=row["email"],
        language=row["language"],
        state=row["state"],
        asked_at=row["asked_at"],
    )


_SUBSCRIPTIONS = (
    "select r.id, r.email, r.language, r.state, r.asked_at, r.listed, m.user_id, m.target, m.target_kind, m.weekly_day,"
    " m.monthly_day, m.alerts_from, a.edge_account_id, coalesce(s.host, a.name) as name"
    " from mailing_recipients r join mailings m on m.target = r.mailing join accounts a on a.id = m.account_id"
    " left join sites s on s.id = m.target"
)


def _first(rows: Sequence[Row]) -> Subscription | None:
    if not rows:
        return None
    row = rows[0]
    return Subscription(
        recipient=_recipient(row),
        user_id=row["user_id"],
        target=row["target"],
        target_kind=cast("MailingTarget", row["target_kind"]),
        edge_account_id=row["edge_account_id"],
        name=row["name"],
        weekly=row["weekly_day"] is not None,
        monthly=row["monthly_day"] is not None,
        alerts=row["alerts_from"] is not None,
        listed=row["listed"] == 1,
    )
