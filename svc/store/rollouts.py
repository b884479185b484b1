"""Transactions on rollouts: how far a new worker has come, and which accounts are next.

Counted are the accounts that were there when the rollout began: what a new account runs was never updated. An account
has the new worker, and it works, when that worker has pushed, whether an update or its user has installed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.model import Rollout
from svc.store import installs
from svc.store.tx import Row, Tx, note_from_json, sql

if TYPE_CHECKING:
    from svc.errors import Code
    from svc.model import RolloutState

# The account's worker has reported itself since its upload.
_CONFIRMED = "coalesce(a.push, '') like '%\"install\": \"' || a.install_id || '\"%'"
# These tell of the account, and not of the worker that was to be installed.
_OF_THE_ACCOUNT: frozenset[Code] = frozenset(
    {
        "permission_error",
        "token_refused",
        "revoked",
        "resource_drift",
        "name_taken",
        "credentials_missing",
        "credentials_unreadable",
        "cron_limit",
        "subdomain_required",
        "schema_newer",
    }
)


@dataclass(frozen=True)
class Progress:
    """How far a rollout is, in accounts. `under_way`: updates that run; `working`: those that do not only wait for the
    new worker's first push."""

    total: int
    updated: int
    failed: int
    under_way: int
    working: int


def current(bundle: str) -> Tx[Rollout | None]:
    """The rollout of this bundle, if it is the newest."""
    rows = yield sql("select * from rollouts order by id desc limit 1")
    return _rollout(rows[0]) if rows and rows[0]["bundle"] == bundle else None


def begin(bundle: str, now: int) -> Tx[Rollout]:
    """The rollout of the bundle that the service comes with; it takes the place of any other."""
    found = yield from current(bundle)
    if found is not None:
        return found
    rows = yield sql(
        "insert into rollouts (bundle, state, started_at, changed_at) values ($1, 'running', $2, $2) returning *",
        bundle,
        now,
    )
    return _rollout(rows[0])


def progress(rollout: Rollout, silent_ms: int) -> Tx[Progress]:
    """How far it is. A worker that had not been heard of for `silent_ms` before its update does not count as failed
    when it stays silent."""
    [counts] = yield sql(
        f"select count(*) as total, count(case when a.edge_bundle = $1 and {_CONFIRMED} then 1 end) as updated"  # noqa: S608
        " from accounts a where a.edge_bundle is not null and a.created_at <= $2",
        rollout.bundle,
        rollout.started_at,
    )
    [running] = yield sql(
        "select count(*) as under_way, count(case when step <> 'selfcheck' then 1 end) as working"
        " from operations where state = 'running' and kind = 'update'"
    )
    failures = yield sql(
        "select o.account_id, o.error, o.created_at, a.heard_at from operations o join accounts a"  # noqa: S608
        " on a.id = o.account_id where o.updated_at >= $2 and o.created_at >= $2 and o.state = 'failed'"
        " and o.kind in ('update', 'install') and a.created_at <= $2"
        f" and (a.edge_bundle <> $1 or a.install_id = o.id and not {_CONFIRMED})",
        rollout.bundle,
        rollout.started_at,
    )
    failed = {row["account_id"] for row in failures if _tells_of_the_worker(row, silent_ms)}
    return Progress(counts["total"], counts["updated"], len(failed), running["under_way"], running["working"])


def _tells_of_the_worker(row: Row, silent_ms: int) -> bool:
    error = note_from_json(row["error"])
    if error is None or error.code in _OF_THE_ACCOUNT or (error.details or {}).get("transient"):
        return False
    heard_at = row["heard_at"]
    return error.code != "self_check_timeout" or (heard_at is not None and heard_at >= row["created_at"] - silent_ms)


def waiting(
    rollout: Rollout, schema: int, *, heard_since: int, failed_before: int, most: int, kind: Literal["heard", "silent"]
) -> Tx[list[str]]:
    """Accounts (their ids) that can be updated now and were not; those of which an update failed only after a while.

    heard: their worker has pushed since `heard_since`. silent: it has not, though it should. `schema`: the bundle's; a
    worker that needs a newer one is left alone.
    """
    if kind == "heard":
        condition = "a.state = 'ready' and a.heard_at >= $3"
    else:
        condition = "a.state in ('ready', 'no_connection') and (a.heard_at is null or a.heard_at < $3)"
    rows = yield sql(
        f"select a.id from accounts a where a.edge_bundle <> $1 and a.edge_schema <= $2 and {condition}"  # noqa: S608
        " and a.sealed_token is not null and not exists (select 1 from operations o where o.account_id = a.id"
        " and (o.state = 'running' or o.kind = 'update' and o.state = 'failed' and o.created_at >= $4))"
        " order by a.id limit $5",
        rollout.bundle,
        schema,
        heard_since,
        max(rollout.started_at, failed_before),
        most,
    )
    return [row["id"] for row in rows]


def begin_update(rollout: Rollout, account_id: str, operation_id: str, now: int) -> Tx[bool]:
    """Begin the update of an account, unless its user was faster. Raises Conflict, NotFound."""
    rows = yield sql("select 1 from accounts where id = $1 and edge_bundle <> $2", account_id, rollout.bundle)
    if not rows:
        return False
    yield from installs.begin_update(account_id, operation_id, now)
    return True


def note(rollout: Rollout, state: RolloutState, found: Progress, now: int) -> Tx[None]:
    """Keep how far it is, and its state."""
    yield sql(
        "update rollouts set state = $2, updated = $3, failed = $4, changed_at = $5"
        " where id = $1 and (state <> $2 or updated <> $3 or failed <> $4)",
        rollout.id,
        state,
        found.updated,
        found.failed,
        now,
    )


def outdated(bundle: str) -> Tx[int]:
    """How many accounts have another worker than this one."""
    [row] = yield sql("select count(*) as n from accounts where edge_bundle <> $1", bundle)
    n: int = row["n"]
    return n


def _rollout(row: Row) -> Rollout:
    return Rollout(
        id=row["id"],
        bundle=row["bundle"],
        state=row["state"],
        updated=row["updated"],
        failed=row["failed"],
        started_at=row["started_at"],
    )
