"""Transactions on the state of the whole service: counts for monitoring, and the last backup.

Each count uses an index or reads a small table, so it is fast regardless of the store's size.
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
    """The state of the service at one moment: accounts by state, running operations by kind, and queued emails.

    `behind`: the number of accounts whose Worker has pushed, but not recently enough (see `census`). `rollout`: this
    bundle's rollout; None if there is none. `backed_up_at`: the time of the last complete backup (epoch ms); None if
    there is none. `mail_untried_since`: see `outbox.untried_since`.
    """

    accounts: Mapping[str, int]
    behind: int
    running: Mapping[str, int]
    mail: Queue
    mail_untried_since: int | None
    rollout: Rollout | None
    backed_up_at: int | None


@dataclass(frozen=True)
class Ended:
    """An ended operation. `outcome`: done or failed. Times are epoch ms."""

    id: str
    kind: str
    outcome: str
    created_at: int
    ended_at: int


def census(bundle: str, now: int, behind_before: int) -> Tx[Census]:
    """Return the state of the service at `now`. `behind`: accounts whose newest totals end before `behind_before`.

    Times are epoch ms.
    """
    states = yield sql("select state, count(*) as n from accounts group by state")
    # Reading all rows of this small table takes less time than updating an index with each push.
    [behind] = yield sql("select count(*) as n from pushed where as_of < $1", behind_before)
    running = yield sql("select kind, count(*) as n from operations where state = 'running' group by kind")
    return Census(
        accounts={row["state"]: row["n"] for row in states},
        behind=behind["n"],
        running={row["kind"]: row["n"] for row in running},
        mail=(yield from outbox.queue()),
        mail_untried_since=(yield from outbox.untried_since(now)),
        rollout=(yield from rollouts.current(bundle)),
        backed_up_at=(yield from backed_up_at()),
    )


def ended_since(at: int, most: int) -> Tx[list[Ended]]:
    """Return the first `most` operations that ended at `at` (epoch ms) or later, ordered by the time when they ended.

    A paused self-check has not ended, although its row has the state `done`.
    """
    rows = yield sql(
        "select id, kind, state, created_at, updated_at from operations"
        " where updated_at >= $1 and state in ('done', 'failed') and step <> $2 order by updated_at limit $3",
        at,
        operations.PAUSED,
        most,
    )
    return [Ended(row["id"], row["kind"], row["state"], row["created_at"], row["updated_at"]) for row in rows]


def record_backup(at: int) -> Tx[None]:
    """Record that a complete backup contains the store's data as of `at` (epoch ms)."""
    yield sql("update serving set backed_up_at = $1 where backed_up_at is null or backed_up_at < $1", at)


def backed_up_at() -> Tx[int | None]:
    """Return the time of the last complete backup (epoch ms); None if there is none."""
    [row] = yield sql("select backed_up_at from serving")
    at: int | None = row["backed_up_at"]
    return at
