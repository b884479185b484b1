"""Transactions on the weekly requests to the targets of links.

`target_checks` has one row for each URL, so the service requests a URL only once a week even if many links have it as a
target. For each link, `link_targets` has the URLs that visitors can currently reach. Outside of the link's period, the
only such URL is `after_url`. `list_targets` updates the rows of a link after the link was added or changed, and at the
start and end of its period. Transactions that change links therefore do not need to update the two tables.

A URL is requested once a week. After the first request with a problem, the URL is requested again at least a day later.
If the second request also has a problem, the target is broken. Each request is recorded before it is sent (`claim`), so
a killed process does not cause a second request.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from svc.clock import DAY_MS
from svc.store.links import link_of
from svc.store.locks import lock_accounts
from svc.store.tx import Tx, many, sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from svc.model import Link, TargetProblem

# The usual time between two requests for a URL, and the time from the first request with a problem to the request that
# confirms the problem.
PERIOD_MS = 7 * DAY_MS
CONFIRM_MS = DAY_MS
# The maximum number of links whose targets one transaction lists, so that other writers do not have to wait.
_LINKS = 50
# The maximum time until the next request. If a request is due later, the clock of the service's host was wrong when the
# time was stored.
_LATEST_MS = PERIOD_MS + DAY_MS
# SQL condition: visitors can reach the targets of the link `t`, whose user is `u`.
_REACHABLE = "t.state = 'active' and t.disabled_at is null and u.disabled_at is null and u.email is not null"

# SQL condition: the link is active and has a period. A missing time is 0, or null in rows that an older version stored.
_HAS_PERIOD = "state = 'active' and (starts_at > 0 or ends_at > 0)"
# The links whose rows in `link_targets` must be updated. Each part of the query has its own index. $1: now (epoch ms).
_UNLISTED = (
    "select id, account_id from links where targets_version <> version"
    " union all select id, account_id from links where targets_until <= $1"
)


@dataclass(frozen=True)
class Check:
    """A URL to request. `due_at`: when the request became due (epoch ms)."""

    digest: str
    url: str
    due_at: int


def requested_url(url: str) -> str:
    """Return the URL that is requested for a target. It has no fragment, because browsers do not send fragments."""
    return urldefrag(url).url


def target_digest(url: str) -> str:
    """Return the key of a target in `target_checks`."""
    return hashlib.sha256(requested_url(url).encode()).hexdigest()


def has_unlisted(now: int) -> Tx[bool]:
    """Return True if the targets of some links must be listed again.

    This is the case if a link was added, changed or deleted, or if its period began or ended.
    """
    rows = yield sql(f"{_UNLISTED} limit 1", now)
    return bool(rows)


def list_targets(now: int, wait_ms: Callable[[str], int]) -> Tx[int]:
    """Store the targets of some links that must be listed again (see `has_unlisted`). Return the number of these links.

    `wait_ms`: maps the digest of a new URL to the time until its first request.
    """
    unlisted = yield sql(f"{_UNLISTED} order by id limit {_LINKS}", now)
    yield from lock_accounts(row["account_id"] for row in unlisted)
    ids = tuple(sorted({row["id"] for row in unlisted}))
    # The update also locks the rows of links whose account is disconnected, so a link cannot change or be deleted
    # before its targets are stored.
    yield many(
        "update links set targets_version = version, targets_until = null where id = $1", [(each,) for each in ids]
    )
    rows = yield sql("select * from links where id = any($1) order by id", ids)
    links = [link_of(row) for row in rows]
    changes = [(link.id, link.targets_until(now)) for link in links if link.state == "active"]
    yield many(
        "update links set targets_until = $2 where id = $1",
        [(link_id, until) for link_id, until in changes if until is not None],
    )
    wanted = {(link.id, digest): url for link in links for digest, url in _checked(link, now).items()}
    owners = {link.id: link.user_id for link in links}
    stored = yield sql("select link_id, digest from link_targets where link_id = any($1)", tuple(sorted(owners)))
    listed = {(row["link_id"], row["digest"]) for row in stored}
    new = sorted(wanted.keys() - listed)
    urls = {digest: wanted[link_id, digest] for link_id, digest in new}
    yield many(
        "insert into target_checks (digest, url, due_at) values ($1, $2, $3) on conflict do nothing",
        [(digest, url, now + wait_ms(digest)) for digest, url in sorted(urls.items())],
    )
    yield many(
        "insert into link_targets (link_id, digest, user_id, broken) values ($1, $2, $3,"
        " (select case when broken_at is null then 0 else 1 end from target_checks where digest = $2))",
        [(link_id, digest, owners[link_id]) for link_id, digest in new],
    )
    yield from _remove(sorted(listed - wanted.keys()))
    return len(links)


def _checked(link: Link, now: int) -> dict[str, str]:
    """Return the URLs of a link that are requested at this time, by digest."""
    if link.state == "deleted":
        return {}
    return {target_digest(url): requested_url(url) for url in link.targets_at(now)}


def _remove(gone: Sequence[tuple[str, str]]) -> Tx[None]:
    """Remove these entries from `link_targets`. Also delete the URLs that are no longer the target of any link."""
    yield many("delete from link_targets where link_id = $1 and digest = $2", gone)
    yield from _forget_unused({digest for _, digest in gone})


def _forget_unused(digests: Iterable[str]) -> Tx[None]:
    yield sql(
        "delete from target_checks where digest = any($1)"
        " and not exists (select 1 from link_targets l where l.digest = target_checks.digest)",
        tuple(sorted(digests)),
    )


def due(now: int, most: int) -> Tx[list[Check]]:
    """Return at most `most` URLs whose request is due, in the order in which they became due."""
    rows = yield sql(
        "select digest, url, due_at from target_checks where due_at <= $1 order by due_at, digest limit $2", now, most
    )
    return [Check(row["digest"], row["url"], row["due_at"]) for row in rows]


def postpone(checks: Sequence[tuple[Check, int]]) -> Tx[None]:
    """Change the time at which each of these requests is due (epoch ms)."""
    yield many(
        "update target_checks set due_at = $3 where digest = $1 and due_at = $2",
        [(check.digest, check.due_at, due_at) for check, due_at in checks],
    )


def claim(check: Check, now: int) -> Tx[bool]:
    """Record that a request begins at `now`. Returns False if the URL must not be requested.

    The URL must not be requested if the request is no longer due, or if visitors cannot reach the URL because all of
    its links or their users are disabled or deleted. A URL without any links is deleted.
    """
    visible = yield sql(
        "select 1 from link_targets l join links t on t.id = l.link_id join users u on u.id = t.user_id"  # noqa: S608  # SQL of this file
        f" where l.digest = $1 and {_REACHABLE} limit 1",
        check.digest,
    )
    claimed = yield sql(
        "update target_checks set due_at = $3, requested_at = case when $4 = 1 then cast($5 as bigint)"
        " else requested_at end where digest = $1 and due_at = $2 returning digest",
        check.digest,
        check.due_at,
        now + PERIOD_MS,
        int(bool(visible)),
        now,
    )
    if visible:
        return bool(claimed)
    yield sql(
        "delete from link_targets where digest = $1 and link_id in"
        " (select t.id from links t join link_targets l on l.link_id = t.id"
        " where l.digest = $1 and t.state = 'deleted')",
        check.digest,
    )
    yield from _forget_unused([check.digest])
    return False


def record(check: Check, requested_at: int, problem: TargetProblem | None, now: int) -> Tx[bool]:
    """Record the result of the request that began at `requested_at`. `problem`: None if there is none.

    Returns True if the target counts as broken because of this result. If another request has begun since
    `requested_at`, the result is discarded.
    """
    if problem is None:
        current = yield sql(
            "update target_checks set problem = null, failed_at = null, broken_at = null"
            " where digest = $1 and requested_at = $2 returning digest",
            check.digest,
            requested_at,
        )
        if current:
            yield sql("update link_targets set broken = 0 where digest = $1 and broken > 0", check.digest)
        return False
    # The target is broken if the first request with a problem was at least `CONFIRM_MS` ago. Otherwise, for example
    # because the clock was set back, this request counts as the first.
    broken = yield sql(
        "update target_checks set broken_at = $4, problem = $3 where digest = $1 and requested_at = $2"
        " and broken_at is null and failed_at <= $5 returning digest",
        check.digest,
        requested_at,
        problem,
        now,
        requested_at - CONFIRM_MS,
    )
    if broken:
        yield sql("update link_targets set broken = 1 where digest = $1", check.digest)
        return True
    yield sql(
        "update target_checks set problem = $3 where digest = $1 and requested_at = $2 and broken_at is not null",
        check.digest,
        requested_at,
        problem,
    )
    yield sql(
        "update target_checks set problem = $3, failed_at = $2, due_at = $4"
        " where digest = $1 and requested_at = $2 and broken_at is null",
        check.digest,
        requested_at,
        problem,
        now + CONFIRM_MS,
    )
    return False


def has_wrong_times(now: int) -> Tx[bool]:
    """Return True if a request's due time is so late that this machine's clock was wrong when the time was stored."""
    rows = yield sql("select 1 from target_checks where due_at > $1 limit 1", now + _LATEST_MS)
    return bool(rows)


def correct_times(now: int, wait_ms: Callable[[str], int], most: int) -> Tx[int]:
    """Correct some of the wrong times (see `has_wrong_times`). Returns the number of corrected URLs."""
    rows = yield sql(
        "select digest from target_checks where due_at > $1 order by due_at, digest limit $2", now + _LATEST_MS, most
    )
    yield many(
        "update target_checks set due_at = $2 where digest = $1",
        [(row["digest"], now + wait_ms(row["digest"])) for row in rows],
    )
    return len(rows)


def restart_confirmations(now: int) -> Tx[None]:
    """Forget the problems that have not lasted for a day, and request the affected URLs again a day after `now`.

    Call this after this machine's clock was set, because the time since the first request with a problem is then
    unknown. The targets of links with a period are listed again, because the current list may be based on a wrong time.
    """
    rows = yield sql(f"select distinct account_id from links where {_HAS_PERIOD}")  # noqa: S608  # SQL of this file
    yield from lock_accounts(row["account_id"] for row in rows)
    yield sql(f"update links set targets_until = $1 where {_HAS_PERIOD}", now)  # noqa: S608  # SQL of this file
    yield sql(
        "update target_checks set problem = null, failed_at = null, due_at = $1"
        " where problem is not null and broken_at is null",
        now + CONFIRM_MS,
    )


def has_results() -> Tx[bool]:
    """Return True if a problem is recorded for any target."""
    rows = yield sql("select 1 from target_checks where problem is not null limit 1")
    return bool(rows)


def forget_results() -> Tx[None]:
    """Delete all recorded problems, because they become outdated while the service requests no targets."""
    yield sql("update target_checks set problem = null, failed_at = null, broken_at = null where problem is not null")
    yield sql("update link_targets set broken = 0 where broken > 0")
