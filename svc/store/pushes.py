"""Transactions on the status that Workers report in their pushes, and on Workers that stop pushing.

`totals` has the transactions on the counts in the pushes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store import account_health, accounts, operations, states, syncs
from svc.store.tx import Changed, Tx, from_json, many, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.errors import ErrorNote
    from svc.model import WorkerPush


def record_pushes(
    pushes: Sequence[tuple[str, WorkerPush]], parts: Mapping[str, tuple[int, int | None]] | None = None
) -> Tx[set[str]]:
    """Record the status that Workers reported in pushes. Return the ids of the accounts that exist.

    `pushes`: (account id, status) pairs. If an account has several statuses, the last one is used.

    A push ends the account's `no_connection` state, and the self-check of the upload that installed the Worker. If the
    status contains a cron error, a health check becomes due.

    `parts`: for each account that sent parts (each contains the totals of one day), the numbers of the first and the
    last part that the transaction accepts or rejects. If the parts before the first one are missing from the store, the
    store has lost commits. The service then reads the missing totals from the Worker's database, as after a restore.
    """
    latest = dict(pushes)
    numbers = parts or {}
    yield many(
        "update accounts set push = $2, heard_at = $3,"  # noqa: S608  # a name of another module
        " suspected_at = case when $4 > last_part + 1 then coalesce(suspected_at, $3) else suspected_at end,"
        f" restored_as_of = case when $4 > last_part + 1 then {syncs.COMPLETE_UNTIL} else restored_as_of end,"
        " last_part = case when $5 <= last_part then last_part else coalesce($5, last_part) end where id = $1",
        [
            (account_id, to_json(push), push.at, *numbers.get(account_id, (None, None)))
            for account_id, push in sorted(latest.items())
        ],
    )
    rows = yield sql(
        "select id, edge_account_id, state, install_id, warnings, restored_as_of from accounts where id = any($1)"
        " order by id",
        tuple(sorted(latest)),
    )
    installs = set()
    for row in rows:
        warnings = from_json(row["warnings"])
        reported = {push.install for account_id, push in pushes if account_id == row["id"]}
        installs |= {(install, row["id"]) for install in reported}
        if row["restored_as_of"] is not None:
            yield Changed(row["edge_account_id"])
        if row["state"] == "no_connection":
            yield from states.move(row["id"], ("no_connection",), "ready", None, latest[row["id"]].at)
        if "crons_stopped" in warnings:
            yield from account_health.remove_warning(row["id"], "crons_stopped")
        if latest[row["id"]].error_kind == "cron":  # a health check could not find the cause of a failed push
            yield from account_health.suspect(row["id"], latest[row["id"]].at)
        if row["install_id"] in reported and "not_confirmed" in warnings:
            yield from account_health.remove_warning(row["id"], "not_confirmed")
    if installs:
        yield from operations.confirm(sorted(installs), max(push.at for push in latest.values()))
    return {row["id"] for row in rows}


def record_silence(account_id: str, heard_at: int | None, error: ErrorNote, now: int) -> Tx[None]:
    """Set the state `no_connection`, unless the Worker has pushed since `heard_at` (epoch ms)."""
    account = yield from accounts.locked(account_id)
    if account is not None and account.heard_at == heard_at:
        yield from states.move(account_id, ("ready",), "no_connection", error, now)
