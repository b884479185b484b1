"""Everything of a user, page by page, in the order in which it was made: for an export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.links import link_of
from svc.store.sites import sites_of_rows
from svc.store.tx import Tx, sql

if TYPE_CHECKING:
    from svc.model import Link, Site

PAGE = 500
_TEXT = (
    "select * from {table} where user_id = $1 and created_at <= $2 and (created_at, id) > ($3, $4)"
    " order by created_at, id limit $5"
)


def sites_page(user_id: int, made_until: int, after: Site | None = None) -> Tx[list[Site]]:
    """A page of the user's sites, deleted ones and those of former accounts included. `after`: the last one before."""
    begun = (0, "") if after is None else (after.created_at, after.id)
    rows = yield sql(_TEXT.format(table="sites"), user_id, made_until, *begun, PAGE)
    return (yield from sites_of_rows(rows))


def links_page(user_id: int, made_until: int, after: Link | None = None) -> Tx[list[Link]]:
    """The same of the user's links."""
    begun = (0, "") if after is None else (after.created_at, after.id)
    rows = yield sql(_TEXT.format(table="links"), user_id, made_until, *begun, PAGE)
    return [link_of(row) for row in rows]


def count_targets(user_id: int) -> Tx[int]:
    """How many sites and links the user has, deleted ones included."""
    rows = yield sql(
        "select (select count(*) from sites where user_id = $1) + (select count(*) from links where user_id = $1) as n",
        user_id,
    )
    return int(rows[0]["n"])
