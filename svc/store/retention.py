"""Data retention: for each table, a transaction that deletes the rows whose time is `before` (epoch ms) or earlier.

The time of a row about a day is the end of the day. Each transaction deletes at most `batches.BATCH` rows, and returns
the number of deleted rows. If the number is `BATCH`, more rows may remain. Requests never use expired rows that are not
deleted yet, because each query checks the expiry. The retention periods and intervals are in
`actors/service/housekeeping.py`. Daily totals are kept forever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.clock import day_of
from svc.store.batches import delete_batch, delete_batch_keys
from svc.store.tx import sql

if TYPE_CHECKING:
    from svc.store.tx import Tx


def delete_responses(before: int) -> Tx[int]:
    """Delete expired responses for Idempotency-Keys (rule G5)."""
    return delete_batch("idempotency", "user_id, method, path, key", "expires_at <= $1", before)


def delete_sessions(before: int) -> Tx[int]:
    """Delete sign-in sessions whose refresh token has expired."""
    return delete_batch("sessions", "id", "refresh_expires_at <= $1", before)


def delete_mail_tokens(before: int) -> Tx[int]:
    """Delete expired tokens of links that confirm an address or reset a password."""
    return delete_batch("mail_tokens", "digest", "expires_at <= $1", before)


def delete_invitations(before: int) -> Tx[int]:
    """Delete expired invitations to sign up."""
    return delete_batch("invitations", "id", "expires_at <= $1", before)


def delete_email_changes(before: int) -> Tx[int]:
    """Delete email address changes that can no longer be reverted."""
    return delete_batch("email_changes", "id", "revert_until <= $1", before)


def delete_deletion_results(before: int) -> Tx[int]:
    """Delete results of user deletions that no command has read."""
    return delete_batch("deletion_results", "digest", "ended_at <= $1", before)


def delete_devices(before: int) -> Tx[int]:
    """Delete known browsers whose last sign-in was at or before this time."""
    return delete_batch("devices", "user_id, digest", "seen_at <= $1", before)


def delete_sign_ups(before: int) -> Tx[int]:
    """Delete users who never confirmed their address and no longer have a valid confirmation link.

    Such users cannot have accounts. A user who nevertheless has accounts is skipped, so that the batch does not fail.
    Users without an address are also skipped, because they are already being deleted.
    """
    return delete_batch(
        "users",
        "id",
        "email_confirmed = 0 and created_at <= $1 and email is not null"
        " and not exists (select 1 from mail_tokens t where t.user_id = users.id)"
        " and not exists (select 1 from accounts a where a.user_id = users.id)",
        before,
    )


def delete_hours(before: int) -> Tx[int]:
    """Delete hourly totals. Reports by hour cover only days whose hours are stored."""
    return delete_batch("hours", "target, at", "at <= $1", before)


def delete_refused_hours(before: int) -> Tx[int]:
    """Delete the records of hours that a Worker did not count completely.

    These records are kept as long as hourly totals.
    """
    return delete_batch("refused_hours", "account_id, at", "at <= $1", before)


def delete_final_days(before: int) -> Tx[int]:
    """Delete the records that mark a day's totals as complete.

    After 37 days, the records are no longer needed: the service accepts no pushes for older days, and reports regard
    these days as complete.
    """
    return delete_batch("final_days", "account_id, day", "day < $1", day_of(before))


def delete_operations(before: int) -> Tx[int]:
    """Delete ended operations, except the latest operation of each account (see `operations.latest`).

    An operation is kept if it identifies something at Cloudflare: the account's token, another token that may still be
    valid, or an upload that may have been accepted.
    """
    return delete_batch(
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
    """Delete former accounts that no longer have any sites, links or operations. Also delete their notes and shares.

    As long as a former account has sites, links or operations, its row is needed to find all data of a user who is
    being deleted, because some tables have no user id.
    """
    rows = yield from delete_batch_keys(
        "former_accounts",
        "id",
        "disconnected_at <= $1 and not exists (select 1 from sites s where s.account_id = former_accounts.id)"
        " and not exists (select 1 from links l where l.account_id = former_accounts.id)"
        " and not exists (select 1 from operations o where o.account_id = former_accounts.id)",
        before,
    )
    if rows:
        former = tuple(sorted(row["id"] for row in rows))
        yield sql("delete from notes where target = any($1)", former)
        yield sql("delete from shares where target = any($1)", former)
    return len(rows)


def delete_events(before: int) -> Tx[int]:
    """Delete events from the audit logs (rule X12). Their numbers are not reused."""
    return delete_batch("events", "user_id, number", "at <= $1", before)


def delete_mailing_tokens(before: int) -> Tx[int]:
    """Delete the tokens of links in old emails to recipients of email reports."""
    return delete_batch("mailing_tokens", "digest", "created_at <= $1", before)


def delete_mailing_requests(before: int) -> Tx[int]:
    """Delete the records of emails that asked recipients to confirm. Limits on these emails use them for one day."""
    return delete_batch("mailing_requests", "address", "asked_at <= $1", before)


def delete_worker_keys(before: int) -> Tx[int]:
    """Delete Worker keys that are no longer accepted (rule W7)."""
    return delete_batch("worker_keys", "digest", "valid_until <= $1", before)
