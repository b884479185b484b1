"""Transactions on rollouts: the newest one's state, its wave, and who may change them.

The service and an operator's command change the same row at the same time, so each change says what it expects to find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.model import WAVES, Rollout
from svc.store.tx import Row, Tx, many, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import HaltReason

# How many accounts a wave is compared with: enough to tell a share, and read in a moment.
_COMPARED = 200


def newest() -> Tx[Rollout | None]:
    """The newest rollout, of whichever bundle."""
    rows = yield sql("select * from rollouts order by id desc limit 1")
    return _rollout(rows[0]) if rows else None


def current(bundle: str) -> Tx[Rollout | None]:
    """The rollout of this bundle, if it is the newest."""
    found = yield from newest()
    return found if found is not None and found.bundle == bundle else None


def begin(bundle: str, now: int) -> Tx[Rollout]:
    """The rollout of the bundle that the service comes with; it takes the place of any other."""
    found = yield from current(bundle)
    if found is not None:
        return found
    yield sql("delete from wave_accounts")
    rows = yield sql(
        "insert into rollouts (bundle, state, started_at, changed_at, looked_at)"
        " values ($1, 'running', $2, $2, $2) returning *",
        bundle,
        now,
    )
    return _rollout(rows[0])


def looked(rollout: Rollout, patient_until: int, now: int) -> Tx[Rollout]:
    """The service has looked; silence counts from `patient_until` on. Returns the rollout as it is."""
    rows = yield sql(
        "update rollouts set looked_at = $2, patient_until = $3 where id = $1 returning *",
        rollout.id,
        now,
        patient_until,
    )
    return _rollout(rows[0])


def begin_wave(rollout: Rollout, size: int | None, accounts: Sequence[tuple[str, int]], now: int) -> Tx[bool]:
    """Begin the rollout's present wave with these accounts (id, epoch ms of their turn); False: it is halted meanwhile.

    With it begins the comparison: some of the accounts that have the worker before are noted as they are.
    """
    rows = yield sql(
        "update rollouts set wave_began_at = $3, wave_size = $4, changed_at = $3"
        " where id = $1 and wave = $2 and wave_began_at is null and state = 'running' returning *",
        rollout.id,
        rollout.wave,
        now,
        size,
    )
    if not rows:
        return False
    yield sql("delete from wave_accounts where wave is null")
    yield from _joined(rollout.wave, accounts, now)
    yield sql(
        "insert into wave_accounts (account_id, wave, due_at, since, push_before)"
        " select a.id, cast(null as bigint), cast($2 as bigint), cast($2 as bigint), a.push from accounts a"
        " where a.edge_bundle <> $1 and a.push is not null and a.state = 'ready'"
        " and not exists (select 1 from wave_accounts m where m.account_id = a.id) order by a.id limit $3",
        rollout.bundle,
        now,
        _COMPARED,
    )
    return True


def join(rollout: Rollout, accounts: Sequence[tuple[str, int]], now: int) -> Tx[bool]:
    """More accounts (id, epoch ms of their turn) for the wave that runs, or that was the last; False: it is halted
    meanwhile."""
    going = yield from _going(rollout, now)
    if going:
        yield from _joined(rollout.wave, accounts, now)
    return going


def _joined(wave: int, accounts: Sequence[tuple[str, int]], now: int) -> Tx[None]:
    yield many(
        "insert into wave_accounts (account_id, wave, due_at, since, push_before)"
        " select a.id, cast($2 as bigint), cast($3 as bigint), cast($4 as bigint), a.push from accounts a"
        " where a.id = $1 on conflict (account_id) do update set wave = excluded.wave, due_at = excluded.due_at,"
        " since = excluded.since, push_before = excluded.push_before",
        [(account_id, wave, due_at, now) for account_id, due_at in accounts],
    )


def end_wave(rollout: Rollout, now: int) -> Tx[None]:
    """The present wave is over: the next one is to begin, or all is done."""
    last = rollout.wave == len(WAVES) - 1
    yield sql(
        "update rollouts set state = $3, wave = $4, wave_began_at = $5, changed_at = $6"
        " where id = $1 and wave = $2 and state = 'running'",
        rollout.id,
        rollout.wave,
        "done" if last else "running",
        rollout.wave if last else rollout.wave + 1,
        rollout.wave_began_at if last else None,
        now,
    )


def halt(rollout: Rollout, reason: HaltReason, now: int) -> Tx[bool]:
    """Begin no more updates; those under way come to their end. False: it was halted or done already."""
    rows = yield sql(
        "update rollouts set state = 'halted', reason = $2, changed_at = $3"
        " where id = $1 and state = 'running' returning id",
        rollout.id,
        reason,
        now,
    )
    return bool(rows)


def resume(rollout: Rollout, failed: Sequence[str], now: int, *, watched: bool) -> Tx[bool]:
    """Go on with the wave that was halted; the accounts that `failed` (their ids) are tried again, and what is compared
    is compared anew. False: it was not halted. `watched`: it may halt by itself again."""
    rows = yield sql(
        "update rollouts set state = 'running', reason = null, watched = $2, changed_at = $3"
        " where id = $1 and state = 'halted' returning id",
        rollout.id,
        int(watched),
        now,
    )
    if not rows:
        return False
    # The turns that were to come are as far apart as they were.
    halted_ms = now - rollout.changed_at
    yield sql("update rollouts set wave_began_at = wave_began_at + $2 where id = $1", rollout.id, halted_ms)
    yield sql(
        "update wave_accounts set due_at = due_at + $2 where wave = $1 and operation_id is null and due_at > $3",
        rollout.wave,
        halted_ms,
        rollout.changed_at,
    )
    yield from _again(rollout, failed, now)
    yield sql(
        "update wave_accounts set push_before = (select push from accounts a where a.id = wave_accounts.account_id)"
        " where wave is null or wave = $1",
        rollout.wave,
    )
    return True


def try_again(rollout: Rollout, failed: Sequence[str], now: int) -> Tx[bool]:
    """It is the turn of these accounts again, whose update failed; False: the rollout is halted meanwhile."""
    going = yield from _going(rollout, now)
    if going:
        yield from _again(rollout, failed, now)
    return going


def _again(rollout: Rollout, failed: Sequence[str], now: int) -> Tx[None]:
    """Forget what became of these accounts in whichever wave."""
    yield sql(
        "update wave_accounts set wave = $3, since = $2, due_at = $2 where account_id = any($1)",
        tuple(failed),
        now,
        rollout.wave,
    )


def _going(rollout: Rollout, now: int) -> Tx[bool]:
    """The wave that runs, or was the last, has accounts to wait for; False: it is halted, or another runs."""
    rows = yield sql(
        "update rollouts set state = 'running', changed_at = case when state = 'done' then $3 else changed_at end"
        " where id = $1 and wave = $2 and state in ('running', 'done') returning id",
        rollout.id,
        rollout.wave,
        now,
    )
    return bool(rows)


def note(rollout: Rollout, updated: int, failed: int) -> Tx[None]:
    """Keep how far it is."""
    yield sql("update rollouts set updated = $2, failed = $3 where id = $1", rollout.id, updated, failed)


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
        reason=row["reason"],
        watched=bool(row["watched"]),
        wave=row["wave"],
        wave_began_at=row["wave_began_at"],
        wave_size=row["wave_size"],
        updated=row["updated"],
        failed=row["failed"],
        started_at=row["started_at"],
        changed_at=row["changed_at"],
        looked_at=row["looked_at"],
        patient_until=row["patient_until"],
    )
