"""Transactions on the outbox: e-mails that wait to be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from svc.clock import DAY_MS
from svc.ids import new_id
from svc.store.tx import POSTED, Row, Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from svc.model import JsonObject, User

# A sign-up's confirmation, or that the address has a user already; what `resend` and a password reset ask for; the link
# that follows a confirmation without a password; that the password was changed; a trouble of an account, or its end;
# that the user was deleted.
MailKind = Literal["sign_up", "resend", "reset", "choose_password", "password_changed", "account", "user_deleted"]

# How long an e-mail that tells of something is tried: it is seen at the service anyway, or has changed by then.
TOLD_WITHIN_MS = 3 * DAY_MS
# Ended ones that are deleted at once, so that other writers do not wait.
_BATCH = 1_000


@dataclass(frozen=True)
class Waiting:
    """An e-mail that waits, as it is stored. Times are epoch ms."""

    id: str
    kind: MailKind
    address: str
    user_id: int | None
    account_id: str | None
    facts: dict[str, Any]
    attempts: int
    unsure: int
    created_at: int


@dataclass(frozen=True)
class Queue:
    """How many e-mails wait, and since when the oldest (epoch ms; None: there is none)."""

    waiting: int
    since: int | None


@dataclass(frozen=True)
class Backlog:
    """What waits, where most failed last, and how many users' addresses are refused."""

    queue: Queue
    troubles: tuple[str, ...]
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
) -> Tx[None]:
    """An e-mail to send, in the transaction of its cause. `ends_at`: from when on it is of no use to anybody."""
    yield sql(
        "insert into outbox (id, kind, address, user_id, account_id, facts, created_at, due_at, ends_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $7, $8)",
        new_id("mail"),
        kind,
        address,
        user_id,
        account_id,
        to_json(facts or {}),
        now,
        ends_at,
    )
    yield POSTED


def post_newest(kind: MailKind, address: str, now: int, ends_at: int, *, instead_of: tuple[MailKind, ...]) -> Tx[None]:
    """As `post`; those that wait for the same address and purpose give way, since only the newest would count."""
    yield sql(
        "delete from outbox where address = $1 and kind = any($2) and (kind <> 'sign_up' or user_id is not null)",
        address,
        instead_of,
    )
    yield from post(kind, address, now, ends_at)


def post_password_changed(user: User, now: int) -> Tx[None]:
    """To whoever reads the user's e-mails: the password was changed, by the old one or by a link."""
    yield from post("password_changed", user.email, now, now + TOLD_WITHIN_MS, user_id=user.id)


def forget(user_id: int, address: str) -> Tx[None]:
    """The user, whose address it was, is nobody's: what waits for them is not sent, but for an earlier user's last one.

    What was asked for by the address alone goes too, unless somebody else has it: another sign-up.
    """
    yield sql("delete from outbox where user_id = $1", user_id)
    yield sql(
        "delete from outbox where address = $1 and user_id is null and kind <> 'user_deleted'"
        " and not exists (select 1 from users where lower(email) = lower(cast($1 as text)) and id <> $2)",
        address,
        user_id,
    )


def due(now: int, most: int) -> Tx[list[Waiting]]:
    """E-mails that are due: first those that somebody waits for; of each account the oldest only, as what is well again
    is not told before what was wrong.
    """
    asked = yield sql(
        "select * from outbox where account_id is null and due_at <= $1 order by due_at, id limit $2", now, most
    )
    notices = yield sql(
        "select o.* from outbox o where o.account_id is not null and o.due_at <= $1 and not exists"
        " (select 1 from outbox e where e.account_id = o.account_id and (e.created_at, e.id) < (o.created_at, o.id))"
        " order by o.due_at, o.id limit $2",
        now,
        most - len(asked),
    )
    return [_waiting(row) for row in [*asked, *notices]]


def begin(mail_id: str, due_at: int) -> Tx[Waiting | None]:
    """It is about to be sent; a process that ends meanwhile tries it again at `due_at`. None: it has gone."""
    rows = yield sql(
        "update outbox set attempts = attempts + 1, due_at = $2 where id = $1 returning *", mail_id, due_at
    )
    return _waiting(rows[0]) if rows else None


def done(mail_id: str) -> Tx[None]:
    """It was sent, or need not be."""
    yield sql("delete from outbox where id = $1", mail_id)


def failed(mail_id: str, due_at: int, trouble: str, *, unsure: bool = False) -> Tx[None]:
    """It was not taken, or nobody knows (`unsure`); it is tried again."""
    yield sql(
        "update outbox set due_at = $2, trouble = $3, unsure = unsure + $4 where id = $1",
        mail_id,
        due_at,
        trouble,
        int(unsure),
    )


def not_begun(mail_id: str, due_at: int) -> Tx[None]:
    """The server took nothing from anybody: that was no try of this e-mail."""
    yield sql("update outbox set attempts = attempts - 1, due_at = $2 where id = $1", mail_id, due_at)


def postpone(mail_id: str, due_at: int) -> Tx[None]:
    """It is due later; that is no failure of its own."""
    yield sql("update outbox set due_at = $2 where id = $1", mail_id, due_at)


def postpone_domain(domain: str, now: int, due_at: int) -> Tx[None]:
    """None that goes to an address at `domain` is due before `due_at`."""
    yield sql(
        "update outbox set due_at = $3 where due_at <= $2 and address like '%@' || cast($1 as text)",
        domain,
        now,
        due_at,
    )


def give_up(now: int) -> Tx[int]:
    """Delete those that are of no use any more, a batch of them. Returns how many."""
    rows = yield sql(
        f"delete from outbox where id in (select id from outbox where ends_at <= $1 limit {_BATCH}) returning id",  # noqa: S608  # a number
        now,
    )
    return len(rows)


def queue() -> Tx[Queue]:
    """What waits to be sent, due or not."""
    [row] = yield sql("select count(*) as waiting, min(created_at) as since from outbox")
    return Queue(int(row["waiting"]), row["since"])


def backlog() -> Tx[Backlog]:
    """How much waits, since when, and why."""
    waits = yield from queue()
    troubles = yield sql(
        "select trouble from outbox where trouble is not null group by trouble order by count(*) desc, trouble limit 3"
    )
    refused = yield sql("select count(*) as n from users where email_refused_at is not null")
    return Backlog(waits, tuple(row["trouble"] for row in troubles), int(refused[0]["n"]))


def _waiting(row: Row) -> Waiting:
    return Waiting(
        id=row["id"],
        kind=row["kind"],
        address=row["address"],
        user_id=row["user_id"],
        account_id=row["account_id"],
        facts=from_json(row["facts"]),
        attempts=row["attempts"],
        unsure=row["unsure"],
        created_at=row["created_at"],
    )
