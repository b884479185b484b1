"""The notes that the service writes automatically when something affects the numbers in reports.

Each note is written in the same transaction as the change that causes it, so that no note is missing after a crash. A
note's key contains its cause, so that no note is written twice. If the user deletes such a note, its row is kept and
marked as `hidden`, so that the note is not written again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.clock import DAY_MS, day_of, day_text
from svc.ids import new_id
from svc.store.tx import Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from svc.model import NoteKind, NoteTarget, Site

# The value of `cause` for a note about a route that is still missing. A site or link host has at most one such note.
_OPEN = "open"


def imported(account_id: str, target_kind: NoteTarget, target: str, now: int) -> Tx[None]:
    """Write a note with the last imported day of a site or link.

    Replaces an existing note of this kind if its last imported day is earlier.
    """
    rows = yield sql("select max(day) as until from days where target = $1 and imported = 1", target)
    until = rows[0]["until"]
    if until is None:  # the Worker's counts have replaced all imported days
        return
    yield sql("delete from notes where target = $1 and kind = 'imported' and day < $2", target, until)
    day = day_text(until)
    yield from _write(account_id, target_kind, target, "imported", day, {"until": day}, until, now)


def snippet_rotated(site: Site, until: int, now: int) -> Tx[None]:
    """Write a note about the site's new path.

    `until`: the time until which views on the old path are counted (epoch ms).
    """
    facts = {"until": day_text(day_of(until))}
    yield from _write(site.account_id, "site", site.id, "snippet_rotated", site.path, facts, day_of(now), now)


def worker_updated(account_id: str, operation_id: str, now: int) -> Tx[None]:
    """Write a note about the account's new Worker. Call this after the new Worker's first push."""
    yield from _write(account_id, "account", account_id, "worker_updated", operation_id, {}, day_of(now), now)


def hours_refused(hours: Iterable[tuple[str, int]], now: int) -> Tx[None]:
    """Write a note for each day on which a Worker did not count some hours completely.

    `hours`: (account id, start of the hour in epoch ms).
    """
    for account_id, day in sorted({(account_id, day_of(at)) for account_id, at in hours}):
        [row] = yield sql(
            "select count(*) as n from refused_hours where account_id = $1 and at >= $2 and at < $3",
            account_id,
            day * DAY_MS,
            (day + 1) * DAY_MS,
        )
        facts = {"hours": str(row["n"])}
        yield from _write(
            account_id, "account", account_id, "hours_refused", day_text(day), facts, day, now, grows=True
        )


def route_missing(site: Site, now: int) -> Tx[None]:
    """Write a note about a health check's finding: the site's route is missing, or another Worker uses it."""
    facts = {"since": day_text(day_of(now))}
    yield from _write(site.account_id, "site", site.id, "route_missing", _OPEN, facts, day_of(now), now)


def link_host_route_missing(account_id: str, host: str, now: int) -> Tx[None]:
    """Write a note about a health check's finding: the link host's route is missing, or another Worker uses it."""
    facts = {"host": host, "since": day_text(day_of(now))}
    yield from _write(account_id, "account", account_id, "link_host_route_missing", _OPEN, facts, day_of(now), now)


def route_restored(target: str, kind: NoteKind, now: int) -> Tx[None]:
    """If there is an open note about a missing route, add the day on which the route was restored.

    `target`: the id of the site, or of the account for a link host.
    """
    rows = yield sql("select id, facts from notes where target = $1 and kind = $2 and cause = $3", target, kind, _OPEN)
    for row in rows:
        facts = {**from_json(row["facts"]), "until": day_text(day_of(now))}
        yield sql("update notes set facts = $2, cause = $3 where id = $1", row["id"], to_json(facts), row["id"])


def _write(
    account_id: str,
    target_kind: NoteTarget,
    target: str,
    kind: NoteKind,
    cause: str,
    facts: Mapping[str, str],
    day: int,
    now: int,
    *,
    grows: bool = False,
) -> Tx[None]:
    """Write a note for the account's user, unless a note with the same cause exists.

    `grows`: if True, update the facts of the existing note instead.
    """
    again = "do update set facts = excluded.facts" if grows else "do nothing"
    yield sql(
        "insert into notes (id, user_id, account_id, target_kind, target, day, kind, cause, facts, created_at)"  # noqa: S608  # SQL of this function
        " select $1, user_id, id, $3, $4, cast($5 as bigint), $6, $7, $8, cast($9 as bigint)"
        " from accounts where id = $2"
        f" on conflict (target, kind, cause) where kind is not null {again}",
        new_id("note"),
        account_id,
        target_kind,
        target,
        day,
        kind,
        cause,
        to_json(dict(facts)),
        now,
    )
