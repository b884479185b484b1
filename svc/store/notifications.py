"""Transactions on users' email settings, and on emails about account problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store import outbox
from svc.store.locks import lock_account, lock_user
from svc.store.tx import Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import JsonObject, Language

# SQL condition: the user in row `u` of `users` gets emails about problems with accounts and about broken targets.
IS_NOTIFIED = (
    "u.notify = 1 and u.disabled_at is null and u.email is not null and u.email_confirmed = 1"
    " and u.email_refused_at is null"
)


def enqueue(
    account_id: str, seen: JsonObject, notices: Sequence[JsonObject], *, well: bool, due_at: int | None, now: int
) -> Tx[None]:
    """Store the account's current problems and queue emails about them, in one transaction.

    `seen`: the problems to store. `notices`: the problems to report, each in a separate email. `well`: True if no
    problems remain. In that case, a user who was notified of a problem gets an email saying that all problems are
    resolved. `due_at`: when to compare the account's problems with `seen` again (epoch ms).

    Users do not get an email if they have turned emails off, are disabled or have not confirmed their address, or if
    mail servers refuse the address. These users do not get a later email about the same problems either.
    """
    yield from lock_account(account_id)
    rows = yield sql(
        f"select a.told, u.id, u.email, case when {IS_NOTIFIED} then 1 else 0 end as is_notified from accounts a"  # noqa: S608  # a condition of this file
        " join users u on u.id = a.user_id where a.id = $1",
        account_id,
    )
    if not rows:
        return
    user = rows[0]
    wanted = user["is_notified"] == 1
    owed = bool(from_json(user["told"]).get("owed", False))
    end: list[JsonObject] = [{"well": True}] if well and owed else []
    for notice in [*notices, *end] if wanted else []:
        yield from outbox.post(
            "account",
            user["email"],
            now,
            now + outbox.TOLD_WITHIN_MS,
            user_id=user["id"],
            account_id=account_id,
            facts=notice,
        )
    owed = not well and (owed or (wanted and bool(notices)))
    yield sql(
        "update accounts set told = $2, notice_due_at = $3 where id = $1",
        account_id,
        to_json({"seen": seen, "owed": owed}),
        due_at,
    )


def set_notify(user_id: int, *, notify: bool) -> Tx[bool]:
    """Turn a user's emails about problems on or off. Returns False if nothing changed.

    Turning emails off deletes queued emails, and no email is sent when earlier problems are resolved. After emails are
    turned on, the service tries again to send to an address that mail servers refused.
    """
    yield from lock_user(user_id)
    changed = yield sql(
        "update users set notify = $2 where id = $1 and notify <> $2 returning id", user_id, int(notify)
    )
    if notify:
        yield from address_works(user_id)
    else:
        yield from _forget(user_id)
    return bool(changed)


def set_language(user_id: int, language: Language | None) -> Tx[bool]:
    """Set the language of emails to the user. None removes the choice. Returns False if nothing changed."""
    rows = yield sql(
        "update users set language = $2 where id = $1"
        " and coalesce(language, '') <> coalesce(cast($2 as text), '') returning id",
        user_id,
        language,
    )
    return bool(rows)


def address_refused(user_id: int, now: int) -> Tx[None]:
    """Record that a mail server refused the user's address. The user gets no more emails about problems."""
    yield from lock_user(user_id)
    yield sql(
        "update users set email_refused_at = coalesce(email_refused_at, cast($2 as bigint)) where id = $1", user_id, now
    )
    yield from _forget(user_id)


def address_works(user_id: int) -> Tx[None]:
    """Record that the user's address works.

    Call this after a mail server has accepted an email, or after the user has opened a link in an email.
    """
    yield sql("update users set email_refused_at = null where id = $1 and email_refused_at is not null", user_id)


def _forget(user_id: int) -> Tx[None]:
    """Delete queued emails about the user's accounts.

    The user will not get an email when the current problems are resolved.
    """
    yield sql("delete from outbox where user_id = $1 and account_id is not null", user_id)
    rows = yield sql("select id from accounts where user_id = $1 order by id", user_id)
    for row in rows:
        yield from lock_account(row["id"])
        stored = yield sql("select told from accounts where id = $1", row["id"])
        kept = {**from_json(stored[0]["told"]), "owed": False} if stored else {}
        yield sql("update accounts set told = $2 where id = $1", row["id"], to_json(kept))
