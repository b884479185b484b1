"""Transactions that delete users.

The first transaction deletes keys, sessions, known browsers, queued emails and the tokens of links in emails.
Afterwards, another user can use the email address. Only the session that requested the deletion can still ask for the
result. The remaining data is deleted in batches, so that other writers do not have to wait. The user's row is deleted
last, with all rows that reference it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Forbidden, Unauthorized
from svc.model import DeletionResult
from svc.store import batches, notifications, outbox
from svc.store.disconnects import former_of
from svc.store.locks import lock_user
from svc.store.tx import from_json, many, sql, to_json
from svc.store.users import forget_mail_tokens, get_user, is_being_deleted, still_has_password, user_of

if TYPE_CHECKING:
    from svc.model import FormerAccount, JsonObject, Language, User
    from svc.store.tx import Tx

# The maximum number of sites or links for which one transaction deletes totals.
_TARGETS = 50


def begin(user_id: int, verified: str, access_digest: str, now: int, language: Language | None = None) -> Tx[None]:
    """Begin the deletion of a user. Does nothing if the deletion has already begun.

    `verified`: the stored hash against which the password was verified. `access_digest`: the digest of the access token
    with which the deletion was requested. `language`: the request's language, for the final email to a user who has not
    chosen a language. Raises Unauthorized if the user does not exist. Raises Forbidden if the user is disabled, or if
    the password has changed since it was verified.
    """
    yield from lock_user(user_id)
    user = yield from get_user(user_id)
    if user is None:
        if (yield from is_being_deleted(user_id)):
            return
        raise Unauthorized
    if not (yield from still_has_password(user_id, verified)):
        raise Forbidden("invalid_password")
    yield from _detach(user, access_digest, now, language)


def begin_by_operator(user_id: int, identifier: str, now: int) -> Tx[bool]:
    """Begin the deletion of a user for the operator, even if the user is disabled.

    `identifier`: the name under which `end` stores the result; see `take_result`. Returns False if there is no such
    user, or the user is already being deleted.
    """
    yield from lock_user(user_id)
    user = yield from get_user(user_id)
    if user is None:
        return False
    yield from _detach(user, identifier, now, None, by_operator=True)
    return True


def take_result(identifier: str) -> Tx[JsonObject | None]:
    """Return the result of a deletion that the operator began, and delete it; None while the deletion has not ended."""
    rows = yield sql("delete from deletion_results where digest = $1 returning facts", identifier)
    facts: JsonObject | None = from_json(rows[0]["facts"]) if rows else None
    return facts


def _detach(
    user: User, access_digest: str, now: int, language: Language | None, *, by_operator: bool = False
) -> Tx[None]:
    """Record the deletion, and delete everything that gives access or refers to the address."""
    user_id = user.id
    yield from notifications.set_notify(user_id, notify=False)
    yield sql(
        "insert into departures (user_id, email, access_digest, began_at, by_operator) values ($1, $2, $3, $4, $5)",
        user_id,
        user.email,
        access_digest,
        now,
        int(by_operator),
    )
    yield sql("delete from keys where user_id = $1", user_id)
    yield sql("delete from sessions where user_id = $1", user_id)
    yield sql("delete from devices where user_id = $1", user_id)
    # Delete emails before tokens, so that the token for an email that is being composed is also deleted.
    yield from outbox.forget(user_id, user.email)
    yield from forget_mail_tokens(user_id)
    # Keep the password hash until the end, because a repeated request must contain the password again.
    yield sql(
        "update users set email = null, language = coalesce(language, cast($2 as text)) where id = $1",
        user_id,
        language,
    )


def under_way() -> Tx[list[int]]:
    """Return the ids of the users who are being deleted."""
    rows = yield sql("select user_id from departures order by began_at, user_id")
    return [int(row["user_id"]) for row in rows]


def asking_user(access_digest: str) -> Tx[User | None]:
    """Return the user whose deletion was requested with this access token; None if there is none."""
    rows = yield sql(
        "select u.id, d.email, u.email_confirmed, u.plan, u.notify, u.language, u.email_refused_at, u.disabled_at,"
        " u.created_at"
        " from departures d join users u on u.id = d.user_id where d.access_digest = $1",
        access_digest,
    )
    return user_of(rows[0]) if rows else None


def mark_for_result(disconnect: Tx[FormerAccount]) -> Tx[FormerAccount]:
    """Run a disconnect and include its outcome in the result of the user's deletion.

    The outcome is included even if another request completed the disconnect.
    """
    former = yield from disconnect
    yield sql("update former_accounts set told_with_user = 1 where id = $1", former.id)
    return former


def forget_totals(user_id: int) -> Tx[bool]:
    """Delete a batch of totals, and the sites and links whose totals are all deleted.

    Returns True if more may remain.
    """
    for table in ("sites", "links"):
        rows = yield sql(f"select id from {table} where user_id = $1 limit {_TARGETS}", user_id)  # noqa: S608  # names of this file
        if rows:
            targets = tuple(sorted(row["id"] for row in rows))
            hours = yield from batches.delete_batch("hours", "target, at", "target = any($1)", targets)
            days = yield from batches.delete_batch("days", "target, day", "target = any($1)", targets)
            if max(hours, days) < batches.BATCH:
                yield many(f"delete from {table} where id = $1", [(target,) for target in targets])  # noqa: S608  # as above
            return True
    return False


def forget_notes(user_id: int) -> Tx[bool]:
    """Delete a batch of the user's notes. Returns True if more may remain."""
    return (yield from _delete_batch("notes", "id", "user_id = $1", user_id))


def forget_shares(user_id: int) -> Tx[bool]:
    """Delete a batch of the user's shares. Returns True if more may remain."""
    return (yield from _delete_batch("shares", "id", "user_id = $1", user_id))


def forget_mailings(user_id: int) -> Tx[bool]:
    """Delete a batch of settings for email reports, including the recipients. Returns True if more may remain."""
    return (yield from _delete_batch("mailings", "target", "user_id = $1", user_id))


def forget_refused_hours(user_id: int) -> Tx[bool]:
    """Delete a batch of the records of hours with refused events. Returns True if more may remain."""
    return (yield from _delete_batch("refused_hours", "account_id, at", _OF_FORMER, user_id))


def forget_operations(user_id: int) -> Tx[bool]:
    """Delete a batch of the operations of disconnected accounts. Returns True if more may remain.

    These rows are no longer needed, because the outcomes of the disconnects list the resources that may remain at
    Cloudflare.
    """
    return (yield from _delete_batch("operations", "id", _OF_FORMER, user_id))


def forget_events(user_id: int) -> Tx[bool]:
    """Delete a batch of the user's events. Returns True if more may remain."""
    return (yield from _delete_batch("events", "user_id, number", "user_id = $1", user_id))


def forget_responses(user_id: int) -> Tx[bool]:
    """Delete a batch of the responses stored for Idempotency-Keys. Returns True if more may remain."""
    return (yield from _delete_batch("idempotency", "user_id, method, path, key", "user_id = $1", user_id))


# The transactions that delete the user's data. They run in this order, each until it returns False. Deleting the user's
# row would also delete all rows that reference it, but in one long transaction.
FORGET = (
    forget_totals,
    forget_notes,
    forget_shares,
    forget_mailings,
    forget_refused_hours,
    forget_operations,
    forget_events,
    forget_responses,
)

_OF_FORMER = "account_id in (select id from former_accounts where user_id = $1)"


def end(user_id: int, now: int) -> Tx[DeletionResult | None]:
    """Delete the user's row with the rows that reference it, and queue the email about the result.

    Returns the result; None if the user still has a connected account, sites or links. If the user no longer exists,
    the result is empty.
    """
    yield from lock_user(user_id)
    if (yield from _has_more(user_id)):
        return None
    rows = yield sql(
        "select d.email, d.access_digest, d.by_operator, u.email_confirmed, u.language"
        " from departures d join users u on u.id = d.user_id"
        " where d.user_id = $1",
        user_id,
    )
    if not rows:
        return DeletionResult(())
    formers = yield sql(
        "select * from former_accounts where user_id = $1 and told_with_user = 1 order by disconnected_at, id", user_id
    )
    result = DeletionResult(tuple(former_of(row) for row in formers))
    tokens = [f"{each.title}: {each.revoke_token}" for each in result.accounts if each.revoke_token is not None]
    facts: JsonObject = {"leftovers": result.left, "revoke_tokens": tokens}
    if rows[0]["by_operator"]:
        yield sql(
            "insert into deletion_results (digest, ended_at, facts) values ($1, $2, $3)",
            rows[0]["access_digest"],
            now,
            to_json(facts),
        )
    if rows[0]["email_confirmed"]:  # an unconfirmed address may belong to another person
        # The email has no user id, because emails with a user id are deleted together with the user.
        yield from outbox.post(
            "user_deleted",
            rows[0]["email"],
            now,
            now + outbox.TOLD_WITHIN_MS,
            facts=facts,
            language=rows[0]["language"],
        )
    yield from forget_mail_tokens(user_id)
    yield sql("delete from users where id = $1", user_id)
    return result


def _has_more(user_id: int) -> Tx[bool]:
    for table in ("accounts", "sites", "links"):
        if (yield sql(f"select 1 from {table} where user_id = $1 limit 1", user_id)):  # noqa: S608  # names of this file
            return True
    return False


def _delete_batch(table: str, key: str, condition: str, user_id: int) -> Tx[bool]:
    """Delete a batch of the rows that meet `condition`. Returns True if more may remain."""
    return (yield from batches.delete_batch(table, key, condition, user_id)) == batches.BATCH
