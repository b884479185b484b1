"""Transactions on shares: public pages with the counts of a site, a link or an account.

A share ends after its last day, or when its target is deleted. It is not available while its user, site or link is
disabled. Viewers cannot distinguish an ended share from a share that never existed, because the same statement excludes
both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svc.errors import Conflict, Forbidden, NotFound
from svc.model import Counts, Share
from svc.store import accounts, links, sites
from svc.store.links import LINK_DELETED
from svc.store.locks import lock_account, lock_user
from svc.store.tx import UNCHANGED, Row, Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import Account, Link, Site, TargetKind

# The maximum number of a user's shares for one site, link or account, and the maximum number in total.
MAX_PER_TARGET = 50
MAX_PER_USER = 1_000
# The maximum number of sites on the page of an account.
MAX_SITES = 1_000

# SQL conditions: the target of row `s` of `shares` exists and is enabled.
_AVAILABLE_TARGETS = (
    "exists (select 1 from sites t where t.id = s.target and t.state <> 'deleted' and t.disabled_at is null)",
    "exists (select 1 from links t where t.id = s.target and t.state = 'active' and t.disabled_at is null)",
    "exists (select 1 from accounts t where t.id = s.target)",
)
_AVAILABLE = (
    "select s.* from shares s join users u on u.id = s.user_id"  # noqa: S608  # text of this file
    " where s.digest = $1 and (s.until is null or s.until >= $2) and u.disabled_at is null and u.email is not null"
    f" and ({' or '.join(_AVAILABLE_TARGETS)})"
)


@dataclass(frozen=True)
class AvailableShare:
    """A share with its target. `target` is the account itself for a share of an account."""

    share: Share
    target: Site | Link | Account
    account: Account


@dataclass(frozen=True)
class SiteTotals:
    """A site with its host, and its counts over a period."""

    site_id: str
    host: str
    counts: Counts


def add_share(share: Share, digest: str) -> Tx[Share]:
    """Add a share. `digest`: the digest of its secret.

    Raises Forbidden limit_reached; NotFound if the target does not exist or is a deleted link; Conflict site_not_active
    if it is a deleted site.
    """
    yield from lock_user(share.user_id)
    yield from lock_account(share.account_id)
    yield from _check_target(share.user_id, share.target_kind, share.target)
    for condition, value, limit, of in (
        ("target = $1", share.target, MAX_PER_TARGET, "for this object"),
        ("user_id = $1", share.user_id, MAX_PER_USER, "in total"),
    ):
        [row] = yield sql(f"select count(*) as n from shares where {condition}", value)  # noqa: S608  # SQL of this file
        if row["n"] >= limit:
            message = f"The limit of {limit:,} shares {of} has been reached."
            raise Forbidden("limit_reached", message, {"remedy": "End shares that you no longer need."})
    yield sql(
        "insert into shares (id, user_id, account_id, target_kind, target, name, digest, sealed_secret, password_hash,"
        " until, periods, lists, embed, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        share.id,
        share.user_id,
        share.account_id,
        share.target_kind,
        share.target,
        share.name,
        digest,
        share.sealed_secret,
        share.password_hash,
        share.until,
        to_json(share.periods),
        int(share.lists),
        to_json(share.embed),
        share.created_at,
    )
    return share


def _check_target(user_id: int, kind: TargetKind, target: str) -> Tx[None]:
    """Raise NotFound or Conflict site_not_active if the target does not exist or was deleted."""
    if kind == "site":
        site = yield from sites.get_site(user_id, target)
        if site is not None and site.state == "deleted":
            raise Conflict("site_not_active")
        found: Site | Link | Account | None = site
    elif kind == "link":
        link = yield from links.get_link(user_id, target)
        if link is not None and link.state == "deleted":
            raise NotFound(LINK_DELETED)
        found = link
    else:
        found = yield from accounts.get_account(user_id, target)
    if found is None:
        raise NotFound


def change_share(user_id: int, share_id: str, changes: Mapping[str, object]) -> Tx[Share]:
    """Change a share. `changes`: new values by field name. The secret and the target cannot be changed.

    Raises NotFound if the user has no such share.
    """
    yield from lock_user(user_id)
    share = yield from get_share(user_id, share_id)
    if share is None:
        raise NotFound
    changed = replace(share, **changes)  # type: ignore[arg-type]  # the caller passes fields of a Share
    if changed == share:
        yield UNCHANGED
        return share
    yield sql(
        "update shares set name = $2, password_hash = $3, until = $4, periods = $5, lists = $6, embed = $7"
        " where id = $1",
        share_id,
        changed.name,
        changed.password_hash,
        changed.until,
        to_json(changed.periods),
        int(changed.lists),
        to_json(changed.embed),
    )
    return changed


def delete_share(user_id: int, share_id: str) -> Tx[None]:
    """Delete a share. Its URL stops working immediately. Raises NotFound if the user has no such share."""
    if not (yield sql("delete from shares where id = $1 and user_id = $2 returning id", share_id, user_id)):
        raise NotFound


def get_share(user_id: int, share_id: str) -> Tx[Share | None]:
    """Return a share of this user; None if it does not exist or belongs to another user."""
    rows = yield sql("select * from shares where id = $1 and user_id = $2", share_id, user_id)
    return share_of(rows[0]) if rows else None


def list_shares(target: str) -> Tx[list[Share]]:
    """Return the shares of a site, a link or an account, oldest first."""
    rows = yield sql("select * from shares where target = $1 order by created_at, id", target)
    return [share_of(row) for row in rows]


def available_share(digest: str, today: int) -> Tx[AvailableShare | None]:
    """Return the share whose secret has this digest; None if it does not exist, has ended or is disabled."""
    rows = yield sql(_AVAILABLE, digest, today)
    if not rows:
        return None
    share = share_of(rows[0])
    account = yield from accounts.get_account(share.user_id, share.account_id)
    target: Site | Link | Account | None = account
    if share.target_kind == "site":
        target = yield from sites.get_site(share.user_id, share.target)
    elif share.target_kind == "link":
        target = yield from links.get_link(share.user_id, share.target)
    if account is None or target is None:
        return None
    return AvailableShare(share, target, account)


def available_site(account_id: str, site_id: str) -> Tx[Site | None]:
    """Return a site that is shown on the shared page of this account.

    Return None if the site does not exist, belongs to another account, or is deleted or disabled.
    """
    rows = yield sql(
        "select * from sites where id = $1 and account_id = $2 and state <> 'deleted' and disabled_at is null",
        site_id,
        account_id,
    )
    found = yield from sites.sites_of_rows(rows)
    return found[0] if found else None


def site_totals(account_id: str, first_day: int, last_day: int) -> Tx[list[SiteTotals]]:
    """Return the counts of an account's sites on these days, most views first.

    Deleted and disabled sites are not included.
    """
    rows = yield sql(
        "select t.id, t.host, cast(coalesce(sum(d.views), 0) as bigint) as views,"
        " cast(coalesce(sum(d.bots), 0) as bigint) as bots, cast(coalesce(sum(d.visitors), 0) as bigint) as visitors"
        " from sites t left join days d on d.target = t.id and d.day between $2 and $3"
        " where t.account_id = $1 and t.state <> 'deleted' and t.disabled_at is null"
        " group by t.id, t.host order by views desc, t.host limit $4",
        account_id,
        first_day,
        last_day,
        MAX_SITES,
    )
    return [SiteTotals(row["id"], row["host"], Counts(row["views"], row["bots"], row["visitors"])) for row in rows]


def first_day_of_sites(account_id: str) -> Tx[int | None]:
    """Return the first day with counts for a site of this account; None if there are no counts."""
    rows = yield sql(
        "select min(d.day) as day from sites t join days d on d.target = t.id"
        " where t.account_id = $1 and t.state <> 'deleted' and t.disabled_at is null",
        account_id,
    )
    day: int | None = rows[0]["day"]
    return day


def share_of(row: Row) -> Share:
    """Return the share that is stored in a row of `shares`."""
    periods = from_json(row["periods"])
    return Share(
        id=row["id"],
        user_id=row["user_id"],
        account_id=row["account_id"],
        target_kind=row["target_kind"],
        target=row["target"],
        name=row["name"],
        sealed_secret=row["sealed_secret"],
        password_hash=row["password_hash"],
        until=row["until"],
        periods=None if periods is None else tuple(periods),
        lists=bool(row["lists"]),
        embed=tuple(from_json(row["embed"])),
        created_at=row["created_at"],
    )
