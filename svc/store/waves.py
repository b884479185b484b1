"""Transactions on the accounts of a rollout's waves: whose turn it is, and what became of them.

An account has the new worker, and it works, when that worker has pushed twice, whether an update or its user has
installed it: once tells that it runs, and again that it counts and goes on to. What became of an account is not stored
but read from its operation and its worker's last report, so nothing has to be kept in step.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svc.clock import HOUR_MS
from svc.model import WAVES, WorkerPush
from svc.store import installs
from svc.store.tx import Row, Tx, from_json_as, note_from_json, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.errors import Code
    from svc.model import Rollout, WaveOutcome

# A worker pushes once an hour.
SILENT_MS = 2 * HOUR_MS
# What failed by falling silent after its first push; of the self-check there is a code of its own.
_FELL_SILENT = "fell_silent"
# So many reports are read of each side of a comparison.
_COMPARED = 500
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
# The worker that was uploaded last has reported itself.
_REPORTED = "coalesce(a.push, '') like '%\"install\": \"' || a.install_id || '\"%'"
# $1: the bundle, $2: since when a worker that is well has reported, $3: the newest tables that the bundle knows.
_UPDATABLE = "a.sealed_token is not null and a.install_id is not null and a.edge_schema <= $3"
_MEMBERS = (
    "from wave_accounts m join accounts a on a.id = m.account_id left join operations o"
    " on o.id = case when a.edge_bundle = $1 then a.install_id else m.operation_id end"
)
_OUTCOME = (
    "case"
    f" when a.edge_bundle = $1 and {_REPORTED} and a.heard_at > o.updated_at then 'updated'"
    f" when a.edge_bundle = $1 and {_REPORTED} and a.heard_at >= $2 then 'seen_once'"
    f" when a.edge_bundle = $1 and {_REPORTED} and o.updated_at >= m.since then 'fell_silent'"
    " when o.created_at >= m.since and o.state = 'failed' then 'failed'"
    " when o.created_at >= m.since and (o.state = 'running' or a.edge_bundle = $1) then 'under_way'"
    f" when a.state in ('ready', 'no_connection') and {_UPDATABLE} then 'waiting'"
    " else 'excused' end"
)


@dataclass
class Wave:
    """How far a wave is, in accounts.

    `failed`, `excused`: why, by code, and `failed_ids` which accounts. `next_at`: whose turn comes next (epoch ms).
    """

    counts: Counter[WaveOutcome] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    failed_ids: list[str] = field(default_factory=list)
    next_at: int | None = None

    @property
    def total(self) -> int:
        """The accounts in it that tell something of the new worker, or will."""
        return self.counts.total() - self.counts["excused"]

    @property
    def over(self) -> bool:
        """Whether nothing in it is waited for."""
        return not (self.counts["waiting"] or self.counts["under_way"] or self.counts["seen_once"])


@dataclass(frozen=True)
class Candidate:
    """An account whose worker can be updated now."""

    account_id: str
    edge_account_id: str
    user_id: int


@dataclass(frozen=True)
class Reports:
    """In how many accounts workers tell of an error, of those that tell anything; and in how many events were dropped
    since they are looked at, by reason, of those that have reported since."""

    accounts: int
    errors: int
    fresh: int
    dropped: Counter[str]


def waves(rollout: Rollout, schema: int, now: int) -> Tx[list[Wave]]:
    """How far each wave is. `schema`: the newest tables that the bundle knows."""
    found = [Wave() for _ in WAVES]
    parameters = (rollout.bundle, now - SILENT_MS, schema)
    rows = yield sql(
        f"select m.wave, {_OUTCOME} as outcome, count(*) as n, min(m.due_at) as due_at {_MEMBERS}"
        " where m.wave is not null group by 1, 2",
        *parameters,
    )
    for row in rows:
        if row["outcome"] not in ("failed", _FELL_SILENT):
            wave = found[row["wave"]]
            wave.counts[row["outcome"]] += row["n"]
            if row["outcome"] == "waiting":
                wave.next_at = row["due_at"]
    rows = yield sql(
        "select * from (select m.account_id, m.wave, a.heard_at, o.error, o.created_at,"  # noqa: S608
        f" {_OUTCOME} as outcome {_MEMBERS} where m.wave is not null) as members"
        " where outcome in ('failed', 'fell_silent')",
        *parameters,
    )
    for row in rows:
        _judge(found[row["wave"]], row, patient=now < rollout.patient_until)
    return found


def _judge(wave: Wave, row: Row, *, patient: bool) -> None:
    """Count an account that failed, or that only seems so."""
    outcome: WaveOutcome
    error = note_from_json(row["error"])
    if row["outcome"] == _FELL_SILENT:
        code, outcome = _FELL_SILENT, "seen_once" if patient else "failed"
    elif error is not None and error.code == "self_check_timeout":
        code, outcome = error.code, "under_way" if patient else "failed"
        # A worker that was silent before the update stays so.
        if row["heard_at"] is None or row["heard_at"] < row["created_at"] - SILENT_MS:
            outcome = "excused"
    else:
        code = error.code if error is not None else "internal"
        of_the_account = code in _OF_THE_ACCOUNT or (error is not None and (error.details or {}).get("transient"))
        outcome = "excused" if of_the_account else "failed"
    wave.counts[outcome] += 1
    if outcome == "failed":
        wave.failed[code] += 1
        wave.failed_ids.append(row["account_id"])
    elif outcome == "excused":
        wave.excused[code] += 1


def working() -> Tx[int]:
    """How many updates work, and do not only wait for the new worker's first push."""
    [row] = yield sql(
        "select count(*) as n from operations where state = 'running' and kind = 'update' and step <> 'selfcheck'"
    )
    n: int = row["n"]
    return n


def candidates(rollout: Rollout, schema: int, now: int, *, silent: bool, most: int) -> Tx[list[Candidate]]:
    """Accounts whose worker, which is another one, can be updated, and that had no turn yet.

    `silent`: those whose worker has not pushed for a while, though it should; else those whose worker has.
    """
    if silent:
        heard = "a.state in ('ready', 'no_connection') and (a.heard_at is null or a.heard_at < $2)"
    else:
        heard = "a.state = 'ready' and a.heard_at >= $2"
    rows = yield sql(
        "select a.id, a.edge_account_id, a.user_id from accounts a"  # noqa: S608
        f" where a.edge_bundle <> $1 and {_UPDATABLE} and {heard}"
        " and not exists (select 1 from wave_accounts m left join operations o on o.id = m.operation_id"
        " where m.account_id = a.id and (m.wave = $5 or m.wave is not null and o.created_at >= m.since))"
        " and not exists (select 1 from operations o where o.account_id = a.id and o.state = 'running')"
        " order by a.id limit $4",
        rollout.bundle,
        now - SILENT_MS,
        schema,
        most,
        rollout.wave,
    )
    return [Candidate(row["id"], row["edge_account_id"], row["user_id"]) for row in rows]


def installed() -> Tx[tuple[int, int | None]]:
    """How many accounts have a worker, and the first user (its id) who has one; None: there is none."""
    [row] = yield sql("select count(*) as n, min(user_id) as first from accounts where edge_bundle is not null")
    return row["n"], row["first"]


def due(rollout: Rollout, schema: int, now: int, most: int) -> Tx[list[str]]:
    """Accounts (their ids) whose turn it is, and that nothing is in the way of."""
    if most <= 0:
        return []
    rows = yield sql(
        "select account_id from"  # noqa: S608
        f" (select m.account_id, m.due_at, a.edge_account_id, {_OUTCOME} as outcome {_MEMBERS}"
        " where m.wave = $4 and m.due_at <= $5) as members where outcome = 'waiting' and not exists"
        " (select 1 from operations r where r.edge_account_id = members.edge_account_id and r.state = 'running')"
        " order by due_at, account_id limit $6",
        rollout.bundle,
        now - SILENT_MS,
        schema,
        rollout.wave,
        now,
        most,
    )
    return [row["account_id"] for row in rows]


def begin_update(rollout: Rollout, account_id: str, operation_id: str, now: int) -> Tx[bool]:
    """Begin the update of an account, unless the rollout was halted, or its user was faster.

    Raises Conflict, NotFound.
    """
    # The row is locked until the commit: what a halt finds begun was begun before it.
    going = yield sql(
        "update rollouts set looked_at = looked_at where id = $1 and state = 'running' returning id", rollout.id
    )
    if not going:
        return False
    rows = yield sql(
        "select 1 from wave_accounts m join accounts a on a.id = m.account_id"
        " left join operations o on o.id = a.install_id"
        " where m.account_id = $1 and (a.edge_bundle <> $2 or o.created_at < m.since)",
        account_id,
        rollout.bundle,
    )
    if not rows:
        return False
    yield from installs.begin_update(account_id, operation_id, now)
    yield sql("update wave_accounts set operation_id = $2 where account_id = $1", account_id, operation_id)
    return True


def failed_before(rollout: Rollout, schema: int, now: int, before: int) -> Tx[list[str]]:
    """Accounts (their ids) without the new worker, of which the update failed before a time (epoch ms)."""
    rows = yield sql(
        "select account_id from"  # noqa: S608
        f" (select m.account_id, o.updated_at, a.edge_bundle, {_OUTCOME} as outcome {_MEMBERS}"
        " where m.wave is not null) as members where outcome = 'failed' and edge_bundle <> $1 and updated_at < $4",
        rollout.bundle,
        now - SILENT_MS,
        schema,
        before,
    )
    return [row["account_id"] for row in rows]


def compared(rollout: Rollout) -> Tx[tuple[Reports, Reports]]:
    """What the workers of the present wave tell, and what some tell that were noted as it began and are as before."""
    new = yield sql(
        "select m.push_before, a.push from wave_accounts m join accounts a on a.id = m.account_id"  # noqa: S608
        f" where m.wave = $2 and a.edge_bundle = $1 and {_REPORTED} order by m.account_id limit $3",
        rollout.bundle,
        rollout.wave,
        _COMPARED,
    )
    others = yield sql(
        "select m.push_before, a.push from wave_accounts m join accounts a on a.id = m.account_id"
        " where m.wave is null and a.edge_bundle <> $1 order by m.account_id limit $2",
        rollout.bundle,
        _COMPARED,
    )
    return _told(new, anew=True), _told(others, anew=False)


def _told(rows: Sequence[Row], *, anew: bool) -> Reports:
    """`anew`: what was told before they were looked at does not count."""
    fresh = [row for row in rows if row["push"] != row["push_before"]]
    heard = fresh if anew else rows
    dropped = Counter[str]()
    for row in fresh:
        before = _push(row["push_before"])
        # The numbers only grow; of a worker that was never heard of before, none are known.
        dropped.update(
            reason
            for reason, number in _push(row["push"]).dropped.items()
            if row["push_before"] is not None and number > before.dropped.get(reason, 0)
        )
    errors = sum(_push(row["push"]).error is not None for row in heard)
    return Reports(len(heard), errors, len(fresh), dropped)


def _push(stored: Any) -> WorkerPush:
    return from_json_as(WorkerPush, stored) or WorkerPush(0, "")
