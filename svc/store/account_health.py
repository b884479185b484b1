"""Transactions on the health of accounts: due health checks, refusals of the working token, crashes and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store import accounts
from svc.store.tx import Changed, Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model import Account, AccountWarning


def suspect(account_id: str, now: int) -> Tx[None]:
    """Make a health check of the account due, for example because Cloudflare refused a call."""
    rows = yield sql(
        "update accounts set suspected_at = $2 where id = $1 and suspected_at is null returning edge_account_id",
        account_id,
        now,
    )
    for row in rows:
        yield Changed(row["edge_account_id"])


def record_health_check(account_id: str, suspected_at: int | None, well_at: int | None) -> Tx[None]:
    """Record that a health check has ended.

    `suspected_at`: when this check became due (epoch ms), or None if the schedule started it. If another check has
    become due since then, it stays due. `well_at`: the time of the check (epoch ms) if it found no problems, otherwise
    None.
    """
    if suspected_at is not None:
        yield sql(
            "update accounts set suspected_at = null where id = $1 and suspected_at = $2", account_id, suspected_at
        )
    yield sql("update accounts set well_at = $2 where id = $1", account_id, well_at)


def token_refused(account_id: str, now: int) -> Tx[tuple[int, int]]:
    """Record that Cloudflare refused the working token in a health check.

    Returns the time of the first refusal (epoch ms) and the number of refusals, both since Cloudflare last accepted
    the token.
    """
    rows = yield sql(
        "update accounts set token_refused_at = coalesce(token_refused_at, $2), token_refusals = token_refusals + 1"
        " where id = $1 returning token_refused_at, token_refusals",
        account_id,
        now,
    )
    return (rows[0]["token_refused_at"], rows[0]["token_refusals"]) if rows else (now, 0)


def token_accepted(account_id: str) -> Tx[None]:
    """Record that Cloudflare accepted the working token in a health check."""
    yield sql("update accounts set token_refused_at = null, token_refusals = 0 where id = $1", account_id)


def record_crash(edge_account_id: str, note: ErrorNote) -> Tx[None]:
    """Store the error `note` after repeated crashes of the account's actor, unless the account already has an error."""
    yield sql(
        "update accounts set error = $2 where edge_account_id = $1 and error is null", edge_account_id, to_json(note)
    )


def clear_crash(edge_account_id: str) -> Tx[None]:
    """Remove the error that `record_crash` stored. Call this when work on the account succeeds again."""
    rows = yield sql("select error from accounts where edge_account_id = $1 and error is not null", edge_account_id)
    for row in rows:
        if _is_crash_note(row["error"]):
            # Remove only the error that was read. An error that was stored since then still applies.
            yield sql(
                "update accounts set error = null where edge_account_id = $1 and error = $2",
                edge_account_id,
                row["error"],
            )


def crashed_edge_accounts() -> Tx[list[str]]:
    """Return the Cloudflare account ids of the accounts that have an error stored by `record_crash`."""
    rows = yield sql("select edge_account_id, error from accounts where error is not null")
    return [row["edge_account_id"] for row in rows if _is_crash_note(row["error"])]


def _is_crash_note(note: str) -> bool:
    """Return True if `record_crash` stored this error.

    The function compares the code in the JSON text, because `note_from_json` also maps unknown codes to `internal`.
    """
    return bool(from_json(note)["code"] == "internal")


def warn(account_id: str, warning: AccountWarning) -> Tx[None]:
    """Add a warning to the account."""
    account = yield from accounts.locked(account_id)
    if account is not None:
        yield from _set_warnings(account, {*account.warnings, warning})


def remove_warning(account_id: str, warning: AccountWarning) -> Tx[Account | None]:
    """Remove a warning from the account. Returns the account as it was before the removal."""
    account = yield from accounts.locked(account_id)
    if account is not None and warning in account.warnings:
        yield from _set_warnings(account, {*account.warnings} - {warning})
    return account


def _set_warnings(account: Account, warnings: set[AccountWarning]) -> Tx[None]:
    yield sql("update accounts set warnings = $2 where id = $1", account.id, to_json(sorted(warnings)))
