"""Long lists are read and printed in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING
from svc.commands.paged_list import print_pages
from svc.config import Config
from svc.store import open_store, user_directory
from svc.store.tx import sql
from tests.databases import make_sqlite_store

if TYPE_CHECKING:
    from svc.config import StoreConfig
    from svc.store.tx import Tx
    from svc.store.user_directory import Entry

USERS = 100_000 if EVERYTHING else 10_000
PAGE = 1_000


def add_users() -> Tx[None]:
    yield sql(
        "insert into users (email, password_hash, email_confirmed, plan, created_at)"
        " with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)"
        " select 'user' || i || '@example.com', 'hash', 1, 'free', i from n",
        USERS,
    )


@pytest.mark.both_engines
@pytest.mark.parametrize("order", ["oldest", "newest", "email"])
def test_list_of_many_users_has_at_most_two_pages_in_memory(store_config: StoreConfig, capsys, order) -> None:
    """The number of statements grows with the number of pages, but the memory use does not."""
    if store_config.engine == "sqlite":
        make_sqlite_store(store_config)

    async def fill() -> None:
        async with open_store(store_config) as store:
            await store.run(add_users())

    trio.run(fill)
    sizes: list[int] = []
    in_memory: WeakSet[Entry] = WeakSet()
    most = 0

    def page(last: Entry | None, limit: int) -> Tx[list[Entry]]:
        found = yield from user_directory.page(order, last, limit)
        sizes.append(len(found))
        for entry in found:
            in_memory.add(entry)
        return found

    def line(entry: Entry) -> str:
        nonlocal most
        most = max(most, len(in_memory))
        return entry.user.email

    print_pages(Config(store=store_config), None, page, line)
    emails = [f"user{number}@example.com" for number in range(1, USERS + 1)]
    expected = {"oldest": emails, "newest": emails[::-1], "email": sorted(emails)}
    assert capsys.readouterr().out.splitlines() == expected[order]
    assert sizes == [PAGE] * (USERS // PAGE) + [0]
    assert PAGE <= most <= 2 * PAGE
