"""What the store forgets by itself: for each table a transaction that deletes rows whose time was `before` or earlier.

Each deletes at most `BATCH` rows, so that other writers do not wait, and returns how many: that many mean that there
may be more. No request depends on it: whoever reads a row that has a time looks at the time. How long after its time a
row stays, and how often it is looked for, stands in `actors/service/housekeeping.py`. Days of totals are kept for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.clock import day_of
from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Parameter, Tx

# Some 10 ms of the writer's time.
BATCH = 1_000


def delete_answers(before: int) -> Tx[int]:
    """Answers to requests with an Idempotency-Key that have expired (rule G5)."""
    return _delete("idempotency", "user_id, method, path, key", "expires_at <= $1", before)


def delete_sessions(before: int) -> Tx[int]:
    """Page sessions whose refresh token has expired."""
    return _delete("sessions", "id", "refresh_expires_at <= $1", before)


def delete_mail_tokens(before: int) -> Tx[int]:
    """Tokens of e-mails that have expired."""
    return _delete("mail_tokens", "digest", "expires_at <= $1", before)


def delete_devices(before: int) -> Tx[int]:
    """Browsers from which their user has not signed in since."""
    return _delete("devices", "user_id, digest", "seen_at <= $1", before)


def delete_sign_ups(before: int) -> Tx[int]:
    """Users who signed up then and never confirmed their address, once no e-mail's token of theirs is left.

    Without a confirmed address nobody has accounts; one who has some all the same stays, instead of failing the rest.
    One without an address is being deleted.
    """
    return _delete(
        "users",
        "id",
        "email_confirmed = 0 and created_at <= $1 and email is not null"
        " and not exists (select 1 from mail_tokens t where t.user_id = users.id)"
        " and not exists (select 1 from accounts a where a.user_id = users.id)",
        before,
    )


def delete_hours(before: int) -> Tx[int]:
    """Hourly totals; reports look back to the beginning of today (UTC)."""
    return _delete("hours", "target, at", "at <= $1", before)


def delete_refused_hours(before: int) -> Tx[int]:
    """Hours whose points were refused; reports look back to the beginning of today (UTC)."""
    return _delete("refused_hours", "account_id, at", "at <= $1", before)


def delete_final_days(before: int) -> Tx[int]:
    """Notes that a day's totals are complete; reports look back 30 days, and a push may bring days of 37 days ago."""
    return _delete("final_days", "account_id, day", "day < $1", day_of(before))


def delete_operations(before: int) -> Tx[int]:
    """Operations that ended then, but the latest of each account (as `operations.latest` has it).

    Nor one that something at the platform is known by: the account's token, another that may be alive, an upload that
    may have been taken.
    """
    return _delete(
        "operations",
        "id",
        "state <> 'running' and updated_at <= $1 and token_asked_at is null and open_uploads = 0"
        " and not exists (select 1 from accounts a where a.id = operations.account_id"
        " and a.token_id = operations.token_id)"
        " and (account_id not in (select id from accounts) or id <> (select o.id from operations o"
        " where o.account_id = operations.account_id order by case when o.state = 'running' then 1 else 0 end desc,"
        " o.created_at desc, o.updated_at desc, o.id limit 1))",
        before,
    )


def delete_former_accounts(before: int) -> Tx[int]:
    """What is left of accounts that were disconnected then, once no site, link or operation of theirs is left.

    It tells whose they are: what has no user's id is found by it when its user is deleted.
    """
    return _delete(
        "former_accounts",
        "id",
        "disconnected_at <= $1 and not exists (select 1 from sites s where s.account_id = former_accounts.id)"
        " and not exists (select 1 from links l where l.account_id = former_accounts.id)"
        " and not exists (select 1 from operations o where o.account_id = former_accounts.id)",
        before,
    )


def delete_events(before: int) -> Tx[int]:
    """What was changed for users then (rule X12); their numbers do not come back."""
    return _delete("events", "user_id, number", "at <= $1", before)


def delete_worker_keys(before: int) -> Tx[int]:
    """Keys of earlier installs of a worker, which are accepted no more (rule W7)."""
    return _delete("worker_keys", "digest", "valid_until <= $1", before)


def _delete(table: str, key: str, condition: str, *parameters: Parameter) -> Tx[int]:
    """A batch of the rows that meet `condition`.

    It stands twice for PostgreSQL, where a row may change between being found and being deleted: the outer one is
    looked at again then, so that an answer which took the place of an expired one stays.
    """
    rows = yield sql(
        f"delete from {table} where {condition} and ({key}) in"  # noqa: S608  # texts of this file
        f" (select {key} from {table} where {condition} limit {BATCH}) returning 1",
        *parameters,
    )
    return len(rows)
