"""Measures long lists: a hundred thousand links in one account. Each link has clicks on about half of the days."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from bench.figures import Row
from bench.service import ENGINES, NOW, add_account, add_user, new_config
from svc.clock import DAY_MS, day_of
from svc.store import open_store
from svc.store.link_lists import LinkFilter, list_links, listed, place_of, ranked_by_clicks
from svc.store.tx import many

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from svc.store.tx import Store, Tx

_LINKS = 100_000
_DAYS = 30
_PAGE = 1_000
_TODAY = day_of(NOW)


async def lists() -> AsyncIterator[Row]:
    """Measure pages in each order, including the order by clicks. Also measure a search that finds one link."""
    for engine in ENGINES:
        async with new_config(engine) as config, open_store(config) as store:
            async for row in _lists(store, engine):
                yield row


async def _lists(store: Store, engine: str) -> AsyncIterator[Row]:
    user_id = await add_user(store)
    account_id, _ = await add_account(store, user_id, 1)
    await store.run(_links(user_id, account_id))
    which = LinkFilter(user_id, account_id)

    async def best_ms(tx: Callable[[], Tx[Any]]) -> str:
        times = []
        for _ in range(5):
            began = time.perf_counter()
            await store.read(tx())
            times.append(time.perf_counter() - began)
        return f"{min(times) * 1000:,.0f} ms"

    [*_, last] = await store.read(list_links(which, "code", _LINKS - _PAGE))
    ranked = await store.read(ranked_by_clicks(which, _TODAY))
    one = LinkFilter(user_id, account_id, contains=("item99999",))
    for what, tx, to_reach in (
        ("first page by age", lambda: list_links(which, "newest", _PAGE), "100 ms"),
        ("last page by code", lambda: list_links(which, "code", _PAGE, place_of("code", last)), "100 ms"),
        ("search for one link", lambda: list_links(one, "newest", _PAGE), "500 ms"),
        ("order by clicks, once per push", lambda: ranked_by_clicks(which, _TODAY), "3,000 ms"),
        ("a page by clicks", lambda: listed(which, ranked[50_000 : 50_000 + _PAGE]), "200 ms"),
    ):
        yield Row(f"{engine}, {_LINKS:,} links: {what}", await best_ms(tx), to_reach)


def _links(user_id: int, account_id: str) -> Tx[None]:
    chance = random.Random(1)
    ids = [f"lnk_{number * 2_654_435_761 % 2**64:020}" for number in range(_LINKS)]
    yield many(
        "insert into links (id, account_id, user_id, code, url, rules, state, version, created_at)"
        " values ($1, $2, $3, $4, $5, '[]', 'active', 1, $6)",
        [
            (link_id, account_id, user_id, f"Code{n}", f"https://shop.example.com/item{n}?a=b", NOW - DAY_MS + n)
            for n, link_id in enumerate(ids)
        ],
    )
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, $3, 0, 0, 0, 0)",
        [
            (link_id, _TODAY - ago, chance.randrange(100))
            for link_id in ids
            for ago in range(_DAYS)
            if chance.random() < 0.5
        ],
    )


MEASURES = (lists,)
