"""Transactions on short links."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from svc.errors import Conflict, Forbidden, Invalid
from svc.model import Link, Rule
from svc.store.targets import listing, path_segments
from svc.store.tx import Row, Tx, placeholders, sql
from svc.store.users import lock_user
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Sequence

CLICK_DAYS = 7


def add_link(link: Link, limit: int) -> Tx[Link]:
    """Add a link under a new version of its account's configuration; returns it with that version.

    Raises NotFound (no such account), Conflict link_host_required, Invalid (a target is on the link host: clicks would
    go round), Conflict link_exists (its code is taken in the account, also by the path of a site on the link host),
    Forbidden limit_reached (its user has `limit` links).
    """
    yield from lock_user(link.user_id)
    added = replace(link, version=(yield from bump_version(link.account_id)))
    hosts = yield sql("select host from link_hosts where account_id = $1 and state <> 'deleted'", link.account_id)
    if not hosts:
        raise Conflict("link_host_required")
    link_host = hosts[0]["host"]
    issues = [(name, "must not be on the link host") for name in link.targets_on(link_host)]
    if issues:
        raise Invalid(issues)
    if link.code in (yield from path_segments(link.account_id, link_host)):
        raise Conflict("link_exists", "The code is the path of the counter of the site on the link host.")
    rows = yield sql(
        "insert into links (id, account_id, user_id, code, url, rules, state, version, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " on conflict (account_id, code) where state = 'active' do nothing returning id",
        added.id,
        added.account_id,
        added.user_id,
        added.code,
        added.url,
        json.dumps([rule.fields() for rule in added.rules]),
        added.state,
        added.version,
        added.created_at,
    )
    if not rows:
        raise Conflict("link_exists")
    if (yield from count_links(link.user_id)) > limit:
        raise Forbidden("limit_reached", f"The limit of {limit} links is reached.")
    return added


def links_to(account_id: str, host: str) -> Tx[list[Link]]:
    """The account's links with a target on `host` (in lower case), oldest first."""
    rows = yield sql(
        "select * from links where account_id = $1 and state = 'active'"
        " and (lower(url) like $2 or lower(rules) like $2) order by created_at, id",
        account_id,
        f"%{host}%",  # no character of a host name is a wildcard; what is found is looked at again
    )
    return [link for link in map(_link, rows) if link.targets_on(host)]


def count_links(user_id: int) -> Tx[int]:
    """How many links the user has; deleted ones do not count."""
    rows = yield sql("select count(*) as n from links where user_id = $1 and state = 'active'", user_id)
    return int(rows[0]["n"])


def get_link(user_id: int, link_id: str) -> Tx[Link | None]:
    """A user's own link, also a deleted one; another's is None, like one that does not exist."""
    rows = yield sql("select * from links where id = $1 and user_id = $2", link_id, user_id)
    return _link(rows[0]) if rows else None


def list_links(
    user_id: int,
    account_id: str | None = None,
    edge_accounts: Sequence[str] | None = None,
    limit: int = 1_000,
    cursor: str | None = None,
) -> Tx[list[Link]]:
    """A page of a user's links without the deleted, oldest first; `cursor` is the last id of the page before."""
    rows = yield listing("links", user_id, account_id, edge_accounts, limit, cursor)
    return [_link(row) for row in rows]


def changed_links(account_id: str, after_version: int) -> Tx[list[Link]]:
    """The account's links of a later version, deleted ones included, in the order of their versions."""
    rows = yield sql(
        "select * from links where account_id = $1 and version > $2 order by version", account_id, after_version
    )
    return [_link(row) for row in rows]


def clicks_7d(link_ids: Sequence[str], today: int) -> Tx[dict[str, int]]:
    """The clicks of people on each link in the last 7 closed UTC days before `today` (rule L4); none is 0."""
    clicks = dict.fromkeys(link_ids, 0)
    if clicks:
        rows = yield sql(
            "select target, cast(sum(views) as bigint) as n from days"  # noqa: S608  # placeholders only
            f" where day >= $1 and day < $2 and target in ({placeholders(len(link_ids), first=3)}) group by target",
            today - CLICK_DAYS,
            today,
            *link_ids,
        )
        clicks.update((row["target"], row["n"]) for row in rows)
    return clicks


def _link(row: Row) -> Link:
    return Link(
        id=row["id"],
        account_id=row["account_id"],
        user_id=row["user_id"],
        code=row["code"],
        url=row["url"],
        rules=tuple(Rule.of(fields) for fields in json.loads(row["rules"])),
        state=row["state"],
        version=row["version"],
        created_at=row["created_at"],
    )
