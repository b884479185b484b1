"""Transactions on rollouts: the state of the newest rollout, its accounts, and the outcomes of their updates.

A rollout updates the Workers of all accounts to one bundle, which is a version of the Worker. A bundle is identified by
the digest of its code.

The service and an operator's command can change the same row at the same time, so each change applies only if the row
still has the expected state. Outcomes are read from the accounts' operations, and each outcome is recorded once, so a
crash loses no outcome.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.clock import HOUR_MS
from svc.model import Rollout
from svc.store import installs, operations
from svc.store.locks import lock_account
from svc.store.tx import Row, Tx, note_from_json, sql

if TYPE_CHECKING:
    from svc.errors import Code
    from svc.model import HaltReason, UpdateOutcome

# A Worker counts as silent if it has not pushed for this time. Workers push once an hour.
SILENT_MS = 2 * HOUR_MS
# If a Worker stops pushing within this time after its update, the update counts as failed. Canary accounts are watched
# without this limit until the rollout continues with the other accounts.
_WATCHED_MS = 2 * SILENT_MS
_FELL_SILENT = "fell_silent"
# If an account's update has failed this many times, the account probably has a problem unrelated to the Worker. The
# update is then not retried and does not count toward a halt.
_GIVEN_UP = 3
# The number of newest outcomes that are considered when deciding whether to halt.
RECENT = 20
# Error codes that indicate a problem with the account, not with the new Worker.
_ACCOUNT_PROBLEMS: frozenset[Code] = frozenset(
    {
        "account_not_ready",
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
_RESET_OUTCOME = "update rollout_accounts set operation_id = null, outcome = null, code = null"


@dataclass(frozen=True)
class Progress:
    """The number of accounts in a rollout by the outcome of their update.

    `codes`: the error codes of failed and of excused updates, by outcome. An excused update failed for a reason
    unrelated to the new Worker. `recent`: the newest outcomes that depend on the new Worker, newest first.
    `last_ended_at`: the time of the newest outcome (epoch ms), or 0 if there is none.
    """

    counts: Counter[UpdateOutcome] = field(default_factory=Counter)
    codes: dict[UpdateOutcome, Counter[str]] = field(default_factory=dict)
    recent: tuple[UpdateOutcome, ...] = ()
    last_ended_at: int = 0

    @property
    def begun(self) -> int:
        """The number of accounts whose update has begun."""
        return self.counts.total()


@dataclass(frozen=True)
class Candidate:
    """An account whose Worker needs an update, and whose update can begin now."""

    account_id: str
    edge_account_id: str
    is_first_user: bool


def newest() -> Tx[Rollout | None]:
    """Return the newest rollout of any bundle; None if there is none."""
    rows = yield sql("select * from rollouts order by id desc limit 1")
    return Rollout(**rows[0]) if rows else None


def current(bundle: str) -> Tx[Rollout | None]:
    """Return this bundle's rollout; None if the newest rollout is for another bundle."""
    rollout = yield from newest()
    return rollout if rollout is not None and rollout.bundle == bundle else None


def begin(bundle: str, now: int) -> Tx[Rollout]:
    """Return this bundle's rollout. If there is none, begin one, which replaces the rollout of another bundle."""
    rollout = yield from current(bundle)
    if rollout is not None:
        return rollout
    yield sql("delete from rollout_accounts")
    rows = yield sql(
        "insert into rollouts (bundle, state, started_at, changed_at, looked_at)"
        " values ($1, 'running', $2, $2, $2) returning *",
        bundle,
        now,
    )
    return Rollout(**rows[0])


def poll(bundle: str, away_ms: int, now: int) -> Tx[tuple[Rollout, Progress]]:
    """Record all outcomes since the last poll, and return the bundle's rollout. If there is none, begin one.

    `away_ms`: if more time than this passes between two polls, the service was down or its clock changed. Workers could
    not push during that time, so updates of silent Workers count as failed only after two more hours.
    """
    rollout = yield from begin(bundle, now)
    is_back = abs(now - rollout.looked_at) > away_ms
    patient_until = now + SILENT_MS if is_back else rollout.patient_until
    yield sql(
        "update rollouts set looked_at = $2, patient_until = $3,"
        " spread_from = case when spread_from > $2 then $2 else spread_from end where id = $1",
        rollout.id,
        now,
        patient_until,
    )
    yield sql("update rollout_accounts set ended_at = $1 where ended_at > $1", now)
    watched_from = 0 if rollout.spread_from is None else now - _WATCHED_MS
    yield from _record_outcomes(bundle, watched_from, now, patient=now < patient_until)
    outcomes = yield from progress()
    rows = yield sql(
        "update rollouts set updated = $2, failed = $3 where id = $1 returning *",
        rollout.id,
        outcomes.counts["updated"],
        outcomes.counts["failed"],
    )
    return Rollout(**rows[0]), outcomes


def progress() -> Tx[Progress]:
    """Return the recorded outcomes of the newest rollout."""
    counted = Progress()
    last_ended_at = 0
    rows = yield sql(
        "select coalesce(outcome, 'under_way') as outcome, code, count(*) as n, max(ended_at) as ended_at"
        " from rollout_accounts where operation_id is not null group by 1, 2"
    )
    for row in rows:
        counted.counts[row["outcome"]] += row["n"]
        last_ended_at = max(last_ended_at, row["ended_at"])
        if row["code"] is not None:
            counted.codes.setdefault(row["outcome"], Counter())[row["code"]] += row["n"]
    recent = yield sql(
        "select outcome from rollout_accounts where outcome in ('updated', 'failed') and failures < $1"
        " order by ended_at desc, account_id limit $2",
        _GIVEN_UP,
        RECENT,
    )
    return Progress(counted.counts, counted.codes, tuple(row["outcome"] for row in recent), last_ended_at)


def _record_outcomes(bundle: str, watched_from: int, now: int, *, patient: bool) -> Tx[None]:
    ahead = now + 60_000  # pushes with a later time were recorded before the host's clock was set back
    rows = yield sql(
        "select m.account_id, a.heard_at, a.edge_bundle, o.state, o.error, o.created_at, o.updated_at"
        " from rollout_accounts m join accounts a on a.id = m.account_id join operations o on o.id = m.operation_id"
        " where m.outcome is null and o.state <> 'running' and o.step <> $1",
        operations.PAUSED,
    )
    for row in rows:
        outcome, code = _outcome(row, bundle, patient=patient)
        if outcome != "under_way":
            yield sql(
                "update rollout_accounts set outcome = $2, code = $3, ended_at = $4, failures = failures + $5"
                " where account_id = $1",
                row["account_id"],
                outcome,
                code,
                min(now, row["updated_at"]),
                int(outcome == "failed"),
            )
    # Correct earlier failures if a Worker pushed late, or if its user reinstalled it after the failed update.
    yield sql(
        "update rollout_accounts set outcome = 'updated', code = null where outcome in ('failed', 'excused') and exists"
        " (select 1 from accounts a where a.id = rollout_accounts.account_id and a.edge_bundle = $1"
        " and a.heard_at > rollout_accounts.ended_at and a.heard_at <= $2)",
        bundle,
        ahead,
    )
    if not patient:
        yield sql(
            "update rollout_accounts set outcome = 'failed', code = $1, ended_at = $2, failures = failures + 1"
            " where outcome = 'updated' and ended_at > $3 and exists (select 1 from accounts a where a.state = 'ready'"
            " and a.id = rollout_accounts.account_id and (a.heard_at <= $4 or a.heard_at > $5))",
            _FELL_SILENT,
            now,
            watched_from,
            now - SILENT_MS,
            ahead,
        )


def _outcome(row: Row, bundle: str, *, patient: bool) -> tuple[UpdateOutcome, str | None]:
    """Return the outcome of an update whose operation has ended, and the error code (None if the update succeeded).

    `patient`: True if the service was down recently, so that silent Workers do not count as failed yet.
    """
    if row["state"] == "done":
        return "updated", None
    error = note_from_json(row["error"])
    code = error.code if error is not None else "internal"
    if code == "self_check_timeout":
        if row["edge_bundle"] == bundle and (row["heard_at"] or 0) > row["updated_at"]:
            return "updated", None
        # If the Worker was already silent before its update, the silence does not indicate a problem with the new
        # Worker.
        if row["heard_at"] is None or row["heard_at"] < row["created_at"] - SILENT_MS:
            return "excused", code
        return "under_way" if patient else "failed", code
    is_account_problem = code in _ACCOUNT_PROBLEMS or (error is not None and (error.details or {}).get("transient"))
    return "excused" if is_account_problem else "failed", code


def candidates(rollout: Rollout, schema: int, now: int) -> Tx[list[Candidate]]:
    """Return the accounts whose update may begin. Retries come first and accounts with silent Workers last.

    `schema`: the newest schema of the Worker's database that the bundle supports. During a rollout's first two hours,
    accounts with silent Workers are omitted: if the service was down before the rollout, these Workers could not push,
    and their silence after an update would not indicate a problem with the new Worker.
    """
    is_new = abs(now - rollout.started_at) < SILENT_MS
    rows = yield sql(
        "select a.id, a.edge_account_id,"
        " a.user_id = (select min(user_id) from accounts where edge_bundle is not null) as is_first_user"
        " from accounts a left join rollout_accounts m on m.account_id = a.id"
        " where a.state in ('ready', 'no_connection') and a.sealed_token is not null and a.install_id is not null"
        " and a.edge_schema <= $2 and coalesce(a.heard_at, 0) >= $4"
        " and case when m.account_id is null then a.edge_bundle <> $1 else m.operation_id is null end"
        " and not exists"
        " (select 1 from operations o where o.edge_account_id = a.edge_account_id and o.state = 'running')"
        " order by m.account_id is null, coalesce(a.heard_at, 0) < $3, a.id",
        rollout.bundle,
        schema,
        now - SILENT_MS,
        now - SILENT_MS if is_new else 0,
    )
    return [Candidate(row["id"], row["edge_account_id"], bool(row["is_first_user"])) for row in rows]


def working() -> Tx[int]:
    """Return the number of running updates, except updates that are only waiting for the Worker's first push."""
    [row] = yield sql(
        "select count(*) as n from operations where state = 'running' and kind = 'update' and step <> $1",
        operations.SELFCHECK,
    )
    n: int = row["n"]
    return n


def begin_update(rollout: Rollout, account_id: str, operation_id: str, now: int) -> Tx[bool]:
    """Begin the update of an account.

    Returns False if the rollout was halted or replaced, or if the account needs no update. Raises the errors of
    `installs.begin_update`.
    """
    # Lock the rollout's row until the commit, so that no update begins after a halt.
    running = yield sql(
        "update rollouts set changed_at = case when state = 'done' then $2 else changed_at end, state = 'running'"
        " where id = $1 and state in ('running', 'done') and id = (select max(id) from rollouts) returning id",
        rollout.id,
        now,
    )
    if not running:
        return False
    yield from lock_account(account_id)
    rows = yield sql(
        "insert into rollout_accounts (account_id, operation_id) select a.id, cast($2 as text) from accounts a"
        " where a.id = $1 and (a.edge_bundle <> $3"
        " or exists (select 1 from rollout_accounts m where m.account_id = a.id and m.operation_id is null))"
        " on conflict (account_id) do update set operation_id = excluded.operation_id"
        " where rollout_accounts.operation_id is null returning account_id",
        account_id,
        operation_id,
        rollout.bundle,
    )
    if rows:
        yield from installs.begin_update(account_id, operation_id, now)
    return bool(rows)


def retry(rollout: Rollout, before: int) -> Tx[bool]:
    """Retry updates that ended without success before `before` (epoch ms), if the account still lacks the new Worker.

    An update that has failed twice because of the new Worker is not retried. Returns False if there is nothing to
    retry.
    """
    rows = yield sql(
        f"{_RESET_OUTCOME}, failures = case when outcome = 'failed' then $4 else failures end"  # noqa: S608
        " where outcome in ('failed', 'excused') and ended_at < $2 and failures < $3 and exists (select 1 from accounts"
        " a where a.id = rollout_accounts.account_id and a.edge_bundle <> $1 and a.state in ('ready', 'no_connection'))"
        " returning account_id",
        rollout.bundle,
        before,
        _GIVEN_UP,
        _GIVEN_UP - 1,
    )
    return bool(rows)


def begin_spread(rollout: Rollout, now: int) -> Tx[bool]:
    """Continue with the other accounts, because the updates of the canary accounts have succeeded.

    Returns False if the rollout is not running.
    """
    rows = yield sql(
        "update rollouts set spread_from = $2 where id = $1 and spread_from is null and state = 'running' returning id",
        rollout.id,
        now,
    )
    return bool(rows)


def stop(rollout: Rollout, reason: HaltReason | None, now: int) -> Tx[bool]:
    """Halt the rollout for this reason, or end it if `reason` is None. Running updates continue.

    Returns False if the rollout is not running.
    """
    rows = yield sql(
        "update rollouts set state = $2, reason = $3, changed_at = $4 where id = $1 and state = 'running' returning id",
        rollout.id,
        "done" if reason is None else "halted",
        reason,
        now,
    )
    return bool(rows)


def resume(rollout: Rollout, now: int) -> Tx[bool]:
    """Continue a halted rollout and retry its failed updates. Updates that have failed three times are not retried.

    Returns False if the rollout is not halted.
    """
    rows = yield sql(
        "update rollouts set state = 'running', reason = null, spread_from = spread_from + $2, changed_at = $3"
        " where id = $1 and state = 'halted' returning id",
        rollout.id,
        max(0, now - rollout.changed_at),  # keep the intervals between the remaining updates
        now,
    )
    if rows:
        yield sql(f"{_RESET_OUTCOME} where outcome = 'failed' and failures < $1", _GIVEN_UP)
    return bool(rows)


def outdated(bundle: str) -> Tx[int]:
    """Return the number of accounts whose Worker is from a different bundle."""
    [row] = yield sql("select count(*) as n from accounts where edge_bundle <> $1", bundle)
    n: int = row["n"]
    return n
