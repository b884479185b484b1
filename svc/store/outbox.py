"""Transactions on the outbox: the queue of emails to send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from svc.clock import DAY_MS
from svc.ids import new_id
from svc.store.tx import POSTED, Row, Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from svc.model import JsonObject, Language, User

# `sign_up`: the link that confirms the address, or the information that a user with this address already exists.
# `choose_password`: the link that is sent after a confirmation if the user has no password. `account`: an account has a
# problem, or all problems are resolved. `target_disabled`, `target_enabled`: the operator disabled or enabled a site or
# link. `account_disconnected`: the operator disconnected an account. `report_confirm`: asks a recipient of reports
# to confirm. `report`: an email report. `alert`: a site has an unusual number of views. `broken_targets`: targets of
# the user's links are broken.
MailKind = Literal[
    "sign_up",
    "resend",
    "reset",
    "choose_password",
    "password_changed",
    "account",
    "user_deleted",
    "invitation",
    "email_change",
    "email_change_notice",
    "target_disabled",
    "target_enabled",
    "account_disconnected",
    "report_confirm",
    "report",
    "alert",
    "broken_targets",
]

# The service tries for this long to send a notification about a problem. Afterwards, the user has probably seen the
# problem in the web application, or the notification is outdated.
TOLD_WITHIN_MS = 3 * DAY_MS
# The maximum number of expired emails that one transaction deletes. The limit keeps the transaction short, so that
# other writers do not have to wait.
_BATCH = 1_000
# A condition for an email: it is not about an account, or it is the oldest queued email about its account. Only such
# emails can be due, so that a problem is reported before its resolution.
_FIRST_OF_ACCOUNT = (
    "not exists (select 1 from outbox e where e.account_id = outbox.account_id"
    " and (e.created_at, e.id) < (outbox.created_at, outbox.id))"
)


@dataclass(frozen=True)
class Waiting:
    """A queued email as stored. Times are epoch ms.

    `language`: the language of the request that caused the email; None if no request caused it. `unsure`: the number of
    attempts whose outcome is unknown.
    """

    id: str
    kind: MailKind
    address: str
    user_id: int | None
    account_id: str | None
    facts: dict[str, Any]
    language: Language | None
    attempts: int
    unsure: int
    created_at: int


@dataclass(frozen=True)
class Queue:
    """The number of queued emails, and the creation time of the oldest (epoch ms; None if the queue is empty)."""

    waiting: int
    since: int | None


@dataclass(frozen=True)
class Backlog:
    """The email queue, its most frequent errors, and the number of users whose address mail servers refuse."""

    queue: Queue
    errors: tuple[str, ...]
    refused_addresses: int


def post(
    kind: MailKind,
    address: str,
    now: int,
    ends_at: int,
    *,
    user_id: int | None = None,
    account_id: str | None = None,
    facts: JsonObject | None = None,
    language: Language | None = None,
) -> Tx[None]:
    """Queue an email in the transaction that causes it. `ends_at`: when to stop trying to send the email (epoch ms).

    `facts`: the values for the email's text, which depend on the kind. `language`: the language of the request, for
    recipients who have not chosen one; None if no request caused it.
    """
    yield sql(
        "insert into outbox (id, kind, address, user_id, account_id, facts, created_at, due_at, ends_at, language)"
        " values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9)",
        new_id("mail"),
        kind,
        address,
        user_id,
        account_id,
        to_json(facts or {}),
        now,
        ends_at,
        language,
    )
    yield POSTED


def post_newest(
    kind: MailKind,
    address: str,
    now: int,
    ends_at: int,
    *,
    instead_of: tuple[MailKind, ...],
    language: Language | None = None,
) -> Tx[None]:
    """Queue an email as `post` does. Deletes queued emails to the same address if their kind is in `instead_of`.

    The new email makes the links in these older emails invalid.
    """
    yield sql(
        "delete from outbox where address = $1 and kind = any($2) and (kind <> 'sign_up' or user_id is not null)",
        address,
        instead_of,
    )
    yield from post(kind, address, now, ends_at, language=language)


def post_password_changed(user: User, now: int, language: Language | None) -> Tx[None]:
    """Queue a notification that the user's password was changed, either with the old password or with a reset link."""
    yield from post("password_changed", user.email, now, now + TOLD_WITHIN_MS, user_id=user.id, language=language)


def forget(user_id: int, address: str) -> Tx[None]:
    """Delete the queued emails to a user who is being deleted.

    Also delete the queued emails without a user id to this address, unless another user has the address. Keep an email
    about the deletion of an earlier user with this address.
    """
    yield sql("delete from outbox where user_id = $1", user_id)
    yield sql(
        "delete from outbox where address = $1 and user_id is null and kind <> 'user_deleted'"
        " and not exists (select 1 from users where lower(email) = lower(cast($1 as text)) and id <> $2)",
        address,
        user_id,
    )


def due(now: int, most: int) -> Tx[list[Waiting]]:
    """Return at most `most` due emails. Emails that users are waiting for come first, email reports last."""
    asked = yield sql(
        "select * from outbox where account_id is null and kind <> 'report' and due_at <= $1"
        " order by due_at, id limit $2",
        now,
        most,
    )
    notices = yield sql(
        f"select * from outbox where account_id is not null and due_at <= $1 and {_FIRST_OF_ACCOUNT}"  # noqa: S608  # a constant
        " order by due_at, id limit $2",
        now,
        most - len(asked),
    )
    found = [*asked, *notices]
    reports = yield sql(
        "select * from outbox where kind = 'report' and due_at <= $1 order by due_at, id limit $2",
        now,
        most - len(found),
    )
    return [_waiting(row) for row in [*found, *reports]]


def begin(mail_id: str, due_at: int) -> Tx[Waiting | None]:
    """Record that the email is about to be sent, and return the email; None if it was deleted.

    If the process is killed before the outcome is stored, the email is retried at `due_at`.
    """
    rows = yield sql(
        "update outbox set attempts = attempts + 1, due_at = $2 where id = $1 returning *", mail_id, due_at
    )
    return _waiting(rows[0]) if rows else None


def done(mail_id: str) -> Tx[None]:
    """Delete an email that was sent or is no longer needed."""
    yield sql("delete from outbox where id = $1", mail_id)


def failed(mail_id: str, due_at: int, problem: str, *, unsure: bool = False) -> Tx[None]:
    """Record a failed attempt to send an email, and schedule a retry at `due_at`.

    `unsure`: True if the mail server may have accepted the email.
    """
    yield sql(
        "update outbox set due_at = $2, trouble = $3, unsure = unsure + $4 where id = $1",
        mail_id,
        due_at,
        problem,
        int(unsure),
    )


def retry_uncounted(mail_id: str, due_at: int) -> Tx[None]:
    """Schedule a retry at `due_at` without counting the attempt.

    Use this if the mail server accepted no email at all.
    """
    yield sql("update outbox set attempts = attempts - 1, due_at = $2 where id = $1", mail_id, due_at)


def postpone(mail_id: str, due_at: int) -> Tx[None]:
    """Postpone the email to `due_at`. This does not count as a failed attempt."""
    yield sql("update outbox set due_at = $2 where id = $1", mail_id, due_at)


def postpone_domain(domain: str, now: int, due_at: int) -> Tx[None]:
    """Postpone all due emails to addresses at `domain` to `due_at`."""
    yield sql(
        "update outbox set due_at = $3 where due_at <= $2 and address like '%@' || cast($1 as text)",
        domain,
        now,
        due_at,
    )


def give_up(now: int) -> Tx[list[int]]:
    """Delete a batch of expired emails. Returns the number of attempts to send each deleted email."""
    rows = yield sql(
        f"delete from outbox where id in (select id from outbox where ends_at <= $1 limit {_BATCH}) returning attempts",  # noqa: S608  # a number
        now,
    )
    return [row["attempts"] for row in rows]


def queue() -> Tx[Queue]:
    """Return the size and age of the queue, including emails that are not due yet."""
    [row] = yield sql("select count(*) as waiting, min(created_at) as since from outbox")
    return Queue(int(row["waiting"]), row["since"])


def untried_since(now: int) -> Tx[int | None]:
    """Return the creation time of the oldest due email without an attempt to send it (epoch ms); None if there is none.

    An email that the mail server defers does not count. An attempt that failed because the server was unavailable is
    not recorded, so the email counts.
    """
    [row] = yield sql(
        f"select min(created_at) as at from outbox where attempts = 0 and due_at <= $1 and {_FIRST_OF_ACCOUNT}",  # noqa: S608  # a constant
        now,
    )
    at: int | None = row["at"]
    return at


def backlog() -> Tx[Backlog]:
    """Return the backlog: the queue, and the reasons why its emails have not been sent."""
    waits = yield from queue()
    errors = yield sql(
        "select trouble from outbox where trouble is not null group by trouble order by count(*) desc, trouble limit 3"
    )
    refused = yield sql("select count(*) as n from users where email_refused_at is not null")
    return Backlog(waits, tuple(row["trouble"] for row in errors), int(refused[0]["n"]))


def _waiting(row: Row) -> Waiting:
    return Waiting(
        id=row["id"],
        kind=row["kind"],
        address=row["address"],
        user_id=row["user_id"],
        account_id=row["account_id"],
        facts=from_json(row["facts"]),
        language=row["language"],
        attempts=row["attempts"],
        unsure=row["unsure"],
        created_at=row["created_at"],
    )
