"""Transactions on what users are told of their accounts by e-mail: what was told, and the outbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svc.ids import new_id
from svc.store.locks import lock_account, lock_user
from svc.store.tx import Row, Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import JsonObject


@dataclass(frozen=True)
class Waiting:
    """An e-mail that waits: to whom, about which account, and what it tells. Times are epoch ms."""

    id: str
    to: str
    account_id: str
    account_name: str
    notice: dict[str, Any]
    attempts: int
    created_at: int


def tell(
    account_id: str, seen: JsonObject, notices: Sequence[JsonObject], *, well: bool, due_at: int | None, now: int
) -> Tx[None]:
    """Record what was seen of the account's troubles, and hand over the e-mails that tell of them, at once.

    `notices`: a trouble each; `well`: nothing is wrong any more, which is told to whom a trouble was told. Who wants no
    e-mails, or has not confirmed the address, gets none, nor later on.
    """
    yield from lock_account(account_id)
    rows = yield sql(
        "select a.told, u.notify, u.email_confirmed from accounts a join users u on u.id = a.user_id where a.id = $1",
        account_id,
    )
    if not rows:
        return
    wanted = rows[0]["notify"] == 1 and rows[0]["email_confirmed"] == 1
    owed = bool(from_json(rows[0]["told"]).get("owed", False))
    emails = [*notices, *([{"well": True}] if well and owed else [])]
    for notice in emails if wanted else []:
        yield sql(
            "insert into outbox (id, account_id, notice, created_at, due_at) values ($1, $2, $3, $4, $4)",
            new_id("mail"),
            account_id,
            to_json(notice),
            now,
        )
    owed = not well and (owed or (wanted and bool(notices)))
    yield sql(
        "update accounts set told = $2, notice_due_at = $3 where id = $1",
        account_id,
        to_json({"seen": seen, "owed": owed}),
        due_at,
    )


def waiting(now: int, most: int) -> Tx[list[Waiting]]:
    """E-mails that are due, of each account the oldest only: what is well again is not told before what was wrong."""
    rows = yield sql(
        "select o.*, u.email, a.name from outbox o join accounts a on a.id = o.account_id"
        " join users u on u.id = a.user_id where o.due_at <= $1 and not exists (select 1 from outbox e"
        " where e.account_id = o.account_id and (e.created_at, e.id) < (o.created_at, o.id))"
        " order by o.due_at, o.id limit $2",
        now,
        most,
    )
    return [_waiting(row) for row in rows]


def done(notice_id: str) -> Tx[None]:
    """The e-mail was sent, or given up."""
    yield sql("delete from outbox where id = $1", notice_id)


def postpone(notice_id: str, due_at: int) -> Tx[None]:
    """The e-mail could not be sent; it is tried again."""
    yield sql("update outbox set attempts = attempts + 1, due_at = $2 where id = $1", notice_id, due_at)


def set_notify(user_id: int, *, notify: bool) -> Tx[None]:
    """Whether the user gets e-mails of troubles. Switched off, what waits is not sent, nor the end of what was told."""
    yield from lock_user(user_id)
    yield sql("update users set notify = $2 where id = $1", user_id, int(notify))
    if not notify:
        yield sql("delete from outbox where account_id in (select id from accounts where user_id = $1)", user_id)
        rows = yield sql("select id from accounts where user_id = $1 order by id", user_id)
        for row in rows:
            yield from lock_account(row["id"])
            told = yield sql("select told from accounts where id = $1", row["id"])
            kept = {**from_json(told[0]["told"]), "owed": False} if told else {}
            yield sql("update accounts set told = $2 where id = $1", row["id"], to_json(kept))


def _waiting(row: Row) -> Waiting:
    return Waiting(
        id=row["id"],
        to=row["email"],
        account_id=row["account_id"],
        account_name=row["name"],
        notice=from_json(row["notice"]),
        attempts=row["attempts"],
        created_at=row["created_at"],
    )
