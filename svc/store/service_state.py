"""Transactions on the state of the whole service: counts for monitoring, the last backup.

Counts use an index or read little, however much is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.store import operations, outbox, rollouts
from svc.store.tx import Tx, sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import Rollout
    from svc.store.outbox import Queue


@dataclass(frozen=True)
class Census:
    """How much there is at one moment: accounts by state, operations under way by kind, e-mails that wait.

    `behind`: accounts that have pushed, but no totals of as late as was asked for. `rollout`: of this bundle, if any.
    `backed_up_at`: when the last good backup was made (epoch ms), if ever.
    """

    accounts: Mapping[str, int]
    behind: int
    running: Mapping[str, int]
    mail: Queue
    rollout: Rollout | None
    backed_up_at: int | None


@dataclass(frozen=True)
class Ended:
    """An operation that has ended: `outcome` is done or failed. Times are epoch ms."""

    id: str
    kind: str
    outcome: str
    created_at: int
    ended_at: int


def census(bundle: str, behind_before: int) -> Tx[Census]:
    """Count. `behind_before` (epoch ms): accounts whose totals are older are behind."""
    states = yield sql("select state, count(*) as n from accounts group by state")
    # All of a small table, which is cheaper than an index that each push would have to keep.
    [behind] = yield sql("select count(*) as n from pushed where as_of < $1", behind_before)
    running = yield sql("select kind, count(*) as n from operations where state = 'running' group by kind")
    return Census(
        accounts={row["state"]: row["n"] for row in states},
        behind=behind["n"],
        running={row["kind"]: row["n"] for row in running},
        mail=(yield from outbox.queue()),
        rollout=(yield from rollouts.current(bundle)),
        backed_up_at=(yield from backed_up_at()),
    )


def ended_since(at: int, most: int) -> Tx[list[Ended]]:
    """Operations that have ended at `at` (epoch ms) or later, the first `most` of them in the order of their ends.

    One that waits beside another for its worker's first push has not ended, though its row says so meanwhile.
    """
    rows = yield sql(
        "select id, kind, state, created_at, updated_at from operations"
        " where updated_at >= $1 and state in ('done', 'failed') and step <> $2 order by updated_at limit $3",
        at,
        operations.PAUSED,
        most,
    )
    return [Ended(row["id"], row["kind"], row["state"], row["created_at"], row["updated_at"]) for row in rows]


def note_backup(at: int) -> Tx[None]:
    """A good backup holds the store as it was at `at` (epoch ms)."""
    yield sql("update serving set backed_up_at = $1 where backed_up_at is null or backed_up_at < $1", at)


def backed_up_at() -> Tx[int | None]:
    """When the last good backup was made (epoch ms); None: none ever was."""
    [row] = yield sql("select backed_up_at from serving")
    at: int | None = row["backed_up_at"]
    return at
