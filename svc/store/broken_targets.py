"""Transactions on the broken targets of links: reads for the API, and the emails about them.

A user gets at most one email a day, about all new problems since the last email. The email is composed when it is sent,
and lists only the targets that are still broken at that time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svc.model import BrokenTarget
from svc.store import outbox
from svc.store.links import link_of
from svc.store.notifications import IS_NOTIFIED
from svc.store.target_checks import target_digest
from svc.store.tx import Tx, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Link

# SQL condition: the link in row `t` of `links` has a broken target. A link that was just changed does not match,
# because its new targets are not in `link_targets` yet.
HAS_BROKEN_TARGET = (
    "t.state = 'active' and t.disabled_at is null and t.targets_version = t.version"
    " and exists (select 1 from link_targets b where b.link_id = t.id and b.broken > 0)"
)
# The maximum number of targets that an email lists.
MAX_LISTED = 20


@dataclass(frozen=True)
class BrokenLink:
    """A link with a broken target. `host`: the link host; None if the account has none."""

    code: str
    host: str | None
    target: BrokenTarget


def with_broken_targets(links: Sequence[Link]) -> Tx[list[Link]]:
    """Return the links with their broken targets filled in.

    Only targets that visitors can currently reach are included, even directly after a link was changed. A deleted or
    disabled link has no broken targets.
    """
    in_use = tuple(link.id for link in links if link.state == "active" and link.disabled is None)
    rows = yield sql(
        "select b.link_id, b.digest, c.problem, c.failed_at, c.requested_at from link_targets b"
        " join target_checks c on c.digest = b.digest"
        " where b.link_id = any($1) and b.broken > 0 and c.broken_at is not null",
        in_use,
    )
    if not rows:
        return list(links)
    found = {(row["link_id"], row["digest"]): row for row in rows}
    broken = []
    for link in links:
        urls = list(dict.fromkeys(link.reachable_targets()))
        checks = [(url, found.get((link.id, target_digest(url)))) for url in urls]
        targets = tuple(
            BrokenTarget(url, row["problem"], row["failed_at"], row["requested_at"])
            for url, row in checks
            if row is not None
        )
        broken.append(replace(link, broken_targets=targets))
    return broken


def with_broken_target(link: Tx[Link]) -> Tx[Link]:
    """Run the transaction `link`, and return its link with the broken targets filled in."""
    [found] = yield from with_broken_targets([(yield from link)])
    return found


def count_links(user_id: int, edge_accounts: Sequence[str] | None = None) -> Tx[int]:
    """Return the number of the user's links with broken targets.

    `edge_accounts`: count only links in these Cloudflare accounts; None means all.
    """
    allowed = "" if edge_accounts is None else " and a.edge_account_id = any($2)"
    rows = yield sql(
        "select count(distinct t.id) as n from link_targets l join links t on t.id = l.link_id"  # noqa: S608  # SQL of this file
        " join accounts a on a.id = t.account_id"
        f" where l.user_id = $1 and l.broken > 0{allowed} and {HAS_BROKEN_TARGET}",
        user_id,
        *([] if edge_accounts is None else [tuple(edge_accounts)]),
    )
    return int(rows[0]["n"])


def users_to_notify(day: int) -> Tx[list[int]]:
    """Return the ids of users with newly broken targets who got no email about broken targets on this epoch day."""
    # SQLite uses the index `link_targets_broken` only if a query contains its condition `broken > 0`.
    rows = yield sql(
        "select distinct l.user_id from link_targets l left join target_notices n on n.user_id = l.user_id"
        " where l.broken > 0 and l.broken = 1 and (n.day is null or n.day <> $1) order by l.user_id",
        day,
    )
    return [int(row["user_id"]) for row in rows]


def notify(user_id: int, day: int, now: int) -> Tx[int]:
    """Queue the user's email about newly broken targets. Returns the number of these targets.

    `day`: today's epoch day.

    Users do not get an email if they have turned emails off, are disabled or have not confirmed their address, or if
    mail servers refuse the address. These users do not get a later email about the same problems either.
    """
    # The update locks the rows, so that the same problem is not reported twice.
    rows = yield sql(
        "update link_targets set broken = 2 where user_id = $1 and broken > 0 and broken = 1 returning link_id, digest",
        user_id,
    )
    found = yield sql(
        f"select u.email from users u where u.id = $1 and {IS_NOTIFIED}",  # noqa: S608  # a condition of notifications.py
        user_id,
    )
    new = sorted((row["link_id"], row["digest"]) for row in rows)
    if not found or not new:
        return 0
    yield sql(
        "insert into target_notices (user_id, day) values ($1, $2)"
        " on conflict (user_id) do update set day = excluded.day",
        user_id,
        day,
    )
    yield from outbox.post(
        "broken_targets",
        found[0]["email"],
        now,
        now + outbox.TOLD_WITHIN_MS,
        user_id=user_id,
        facts={"targets": new[:MAX_LISTED], "more": len(new[MAX_LISTED:])},
    )
    return len(new)


def still_broken(targets: Sequence[Sequence[str]]) -> Tx[list[BrokenLink]]:
    """Return the targets that are still broken. `targets`: pairs of a link's id and the digest of a URL."""
    rows = yield sql(
        "select t.*, h.host from links t left join link_hosts h on h.account_id = t.account_id"
        " where t.id = any($1) order by t.code, t.id",
        tuple(sorted({link_id for link_id, _ in targets})),
    )
    hosts = {row["id"]: row["host"] for row in rows}
    wanted = {(link_id, digest) for link_id, digest in targets}
    links = yield from with_broken_targets([link_of(row) for row in rows])
    return [
        BrokenLink(link.code, hosts[link.id], target)
        for link in links
        for target in link.broken_targets
        if (link.id, target_digest(target.url)) in wanted
    ]
