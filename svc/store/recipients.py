"""Transactions on the recipients of email reports.

An address gets reports only after its owner has confirmed with the link in an email. An address that has unsubscribed
gets no reports until its owner subscribes again with a link in an email. The row of such an address therefore remains
in the store when the user removes the address.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from svc.clock import DAY_MS
from svc.ids import new_id
from svc.model import DEFAULT_LANGUAGE, Event, Language, Mailing, MailingContent, Recipient, RecipientState
from svc.store import outbox
from svc.store.tx import Row, Tx, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import AccountAction, MailingTarget, User

# The maximum number of addresses that a user can ask to confirm in 24 hours. Each address is asked at most once in 24
# hours, no matter how many users add it. The limits keep users from flooding strangers with emails.
MAX_REQUESTS_A_DAY = 10
# The number of days for which the links in an email to a recipient work.
MAILING_TOKEN_DAYS = 400


@dataclass(frozen=True)
class Wanted:
    """A recipient as the user specified it. `language`: None keeps the stored language."""

    email: str
    language: Language | None


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
        """The kinds of emails that the recipient gets or can get: "reports" if the user has turned off all kinds."""
        if not self.alerts:
            return "reports"
        return "reports_and_alerts" if self.weekly or self.monthly else "alerts"


def store_recipients(
    user: User, mailing: Mailing, wanted: Sequence[Wanted], language: Language | None, now: int
) -> Tx[None]:
    """Replace the recipients of `mailing`, and queue emails that ask new recipients to confirm."""
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
            recipient = recipient_of(found)
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
    # Ignore an earlier request with a time in the future, which was stored while the host's clock was wrong.
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


def lock_recipient(recipient_id: str) -> Tx[bool]:
    """Lock a recipient, so that it is not removed before the transaction ends. Returns False if it was removed."""
    rows = yield sql("update mailing_recipients set state = state where id = $1 returning id", recipient_id)
    return bool(rows)


def add_token(recipient_id: str, digest: str, now: int) -> Tx[None]:
    """Store the token of the links in an email to a recipient. The caller's transaction has locked the recipient.

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
    """Let the recipient with this token get reports, unless the user has removed the recipient.

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
    """Record that a mail server rejected a recipient's address, so that the recipient has to confirm again."""
    yield sql("update mailing_recipients set state = 'unconfirmed' where id = $1 and state = 'confirmed'", recipient_id)


def _change_state(found: Subscription, state: RecipientState, action: AccountAction, now: int) -> Tx[Subscription]:
    changed = yield sql(
        "update mailing_recipients set state = $2 where id = $1 and state <> $2 returning id", found.recipient.id, state
    )
    if changed:
        yield Event(found.user_id, now, "mail", None, action, found.target, "done", found.edge_account_id)
    return replace(found, recipient=replace(found.recipient, state=state))


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
        recipient=recipient_of(row),
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


def recipient_of(row: Row) -> Recipient:
    """Return the recipient that is stored in a row of `mailing_recipients`."""
    return Recipient(
        id=row["id"],
        email=row["email"],
        language=row["language"],
        state=row["state"],
        asked_at=row["asked_at"],
    )
