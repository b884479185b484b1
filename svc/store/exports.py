"""A user's data for an export, returned in pages in order of creation."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from svc.model import LinkState
from svc.store.broken_targets import with_broken_targets
from svc.store.events import event_of
from svc.store.links import link_of
from svc.store.notes import note_of
from svc.store.shares import share_of
from svc.store.sites import sites_of_rows
from svc.store.tx import Tx, sql

if TYPE_CHECKING:
    from svc.model import Event, Link, Note, Share, Site
    from svc.store.tx import Row

PAGE = 500
_PAGE = (
    "select * from {table} where user_id = $1{state} and created_at <= $2 and (created_at, id) > ($3, $4)"
    " order by created_at, id limit $5"
)
_NOTES = _PAGE.format(table="notes", state=" and hidden = 0")
_SHARES = _PAGE.format(table="shares", state="")
_SITES = _PAGE.format(table="sites", state="")
# One query for each state of links. Each query reads the links in order from the index `links_by_age`. Without the
# index, every page would sort all of a user's links. This would take minutes in total, because the number of deleted
# links is not limited.
_OF_STATES = [_PAGE.format(table="links", state=f" and state = '{state}'") for state in get_args(LinkState)]
_LINKS = (
    f"select * from ({' union all '.join(f'select * from ({each}) one_state' for each in _OF_STATES)}) links_of_all"  # noqa: S608  # SQL of this file
    " order by created_at, id limit $5"
)


def sites_page(user_id: int, made_until: int, after: Site | None = None) -> Tx[list[Site]]:
    """Return a page of the user's sites, including deleted sites and sites of former accounts.

    The page contains only sites created at or before `made_until` (epoch ms). `after`: the last site of the previous
    page.
    """
    rows = yield from _page(_SITES, user_id, made_until, after)
    return (yield from sites_of_rows(rows))


def links_page(user_id: int, made_until: int, after: Link | None = None) -> Tx[list[Link]]:
    """Return a page of the user's links, like `sites_page`."""
    rows = yield from _page(_LINKS, user_id, made_until, after)
    return (yield from with_broken_targets([link_of(row) for row in rows]))


def notes_page(user_id: int, made_until: int, after: Note | None = None) -> Tx[list[Note]]:
    """Return a page of the user's notes, like `sites_page`."""
    rows = yield from _page(_NOTES, user_id, made_until, after)
    return [note_of(row) for row in rows]


def shares_page(user_id: int, made_until: int, after: Share | None = None) -> Tx[list[Share]]:
    """Return a page of the user's shares, like `sites_page`."""
    rows = yield from _page(_SHARES, user_id, made_until, after)
    return [share_of(row) for row in rows]


def _page(text: str, user_id: int, made_until: int, after: Site | Link | Note | Share | None) -> Tx[list[Row]]:
    begun = (0, "") if after is None else (after.created_at, after.id)
    return (yield sql(text, user_id, made_until, *begun, PAGE))


def events_page(user_id: int, made_until: int, after: Event | None = None) -> Tx[list[Event]]:
    """Return a page of the user's events, like `sites_page`."""
    begun = 0 if after is None else after.number
    rows = yield sql(
        "select * from events where user_id = $1 and number > $2 and at <= $3 order by number limit $4",
        user_id,
        begun,
        made_until,
        PAGE,
    )
    return [event_of(row) for row in rows]


def count_targets(user_id: int) -> Tx[int]:
    """Return the number of the user's sites and links, including deleted sites and links."""
    rows = yield sql(
        "select (select count(*) from sites where user_id = $1) + (select count(*) from links where user_id = $1) as n",
        user_id,
    )
    return int(rows[0]["n"])
