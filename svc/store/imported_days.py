"""Imported days: another product's totals, from the time before this service counted the site or link (the target).

Imported days are stored in the same table as the days that the service counted, and are marked as imported. The
service's own numbers always take precedence: days on or after the target's first UTC day are not imported, and a
Worker's push replaces an imported day (`totals`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.clock import day_of
from svc.model import Counts
from svc.store import accounts
from svc.store.tx import many, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from svc.store.tx import Tx


@dataclass(frozen=True)
class Target:
    """A site or link for which days can be imported. `name`: the site's host or the link's code."""

    id: str
    account_id: str
    user_id: int
    kind: str
    edge_account_id: str
    name: str
    created_at: int


@dataclass(frozen=True)
class Compared:
    """The day numbers of an import, grouped by how they compare with the target's stored days."""

    added: tuple[int, ...] = ()  # not stored before
    same: tuple[int, ...] = ()  # imported before, with the same numbers
    other: tuple[int, ...] = ()  # imported before, with other numbers or with a different mark for estimates
    own: tuple[int, ...] = ()  # the service counted the target on these days


def import_days(
    target: Target, days: Mapping[int, Counts], *, estimates: Set[int] = frozenset(), replace: bool = False
) -> Tx[Compared]:
    """Add missing days. If `replace` is set, also overwrite imported days that have other numbers.

    `days`: the numbers by day. `estimates`: the days whose numbers are estimates. Raises NotFound if the account is no
    longer connected.
    """
    accounts.present((yield from accounts.locked(target.account_id)))  # concurrent imports run one after the other
    compared = yield from compare_days(target, days, estimates=estimates)
    written = [*compared.added, *(compared.other if replace else ())]
    if written:
        # A push may have written one of these days since they were read. The `where` clause then keeps the push's
        # numbers.
        yield many(
            "insert into days (target, day, views, bots, visitors, as_of, final, imported, estimated)"
            " values ($1, $2, $3, $4, $5, 0, 1, 1, $6) on conflict (target, day) do update set views = excluded.views,"
            " bots = excluded.bots, visitors = excluded.visitors, estimated = excluded.estimated"
            " where days.imported = 1",
            [
                (target.id, day, days[day].views, days[day].bots, days[day].visitors, int(day in estimates))
                for day in sorted(written)
            ],
        )
    return compared


def compare_days(target: Target, days: Mapping[int, Counts], *, estimates: Set[int] = frozenset()) -> Tx[Compared]:
    """Return the result that `import_days` would return, without writing."""
    rows = yield sql("select day, views, bots, visitors, imported, estimated from days where target = $1", target.id)
    stored = {row["day"]: (Counts(*_numbers(row)), row["estimated"] == 1) if row["imported"] else None for row in rows}
    found: dict[str, list[int]] = {"added": [], "same": [], "other": [], "own": []}
    for day, counts in sorted(days.items()):
        if day >= day_of(target.created_at):
            found["own"].append(day)
        elif day not in stored:
            found["added"].append(day)
        elif stored[day] is None:
            found["own"].append(day)
        else:
            found["same" if stored[day] == (counts, day in estimates) else "other"].append(day)
    return Compared(**{what: tuple(those) for what, those in found.items()})


def targets_named(account_ids: Sequence[str], kind: str, name: str) -> Tx[list[Target]]:
    """Return the sites with this host, or the links with this code, in these accounts. Omit deleted sites and links."""
    table, column, condition = _TABLES[kind]
    rows = yield sql(
        f"select t.id, t.account_id, t.user_id, a.edge_account_id, t.{column} as name, t.created_at from {table} t"  # noqa: S608  # names of this file and placeholders
        f" join accounts a on a.id = t.account_id where t.{condition} and t.{column} = $1"
        f" and t.account_id in ({placeholders(len(account_ids), first=2)}) order by t.id",
        name,
        *account_ids,
    )
    return [
        Target(
            id=row["id"],
            account_id=row["account_id"],
            user_id=row["user_id"],
            kind=kind,
            edge_account_id=row["edge_account_id"],
            name=row["name"],
            created_at=row["created_at"],
        )
        for row in rows
    ]


def known_targets(user_id: int, target_ids: Sequence[str]) -> Tx[set[str]]:
    """Return the ids that belong to a site or link of the user, including deleted sites and links."""
    known: set[str] = set()
    for first in range(0, len(target_ids), 1_000):
        ids = target_ids[first : first + 1_000]
        listed = placeholders(len(ids), first=2)
        rows = yield sql(
            f"select id from sites where user_id = $1 and id in ({listed})"  # noqa: S608  # placeholders only
            f" union all select id from links where user_id = $1 and id in ({listed})",
            user_id,
            *ids,
        )
        known.update(row["id"] for row in rows)
    return known


_TABLES = {"site": ("sites", "host", "state <> 'deleted'"), "link": ("links", "code", "state = 'active'")}


def _numbers(row: Mapping[str, int]) -> tuple[int, int, int]:
    return row["views"], row["bots"], row["visitors"]
