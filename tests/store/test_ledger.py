"""Tests that read one day's stored totals for each target of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.store.ledger import stored_day
from svc.store.tx import many
from svc.worker.ledger import Events, Stored
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, an_account

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

TODAY = day_of(START_MS)


@pytest.mark.rule("X5")
async def test_stored_day_has_totals_and_hour_sums_without_imported_days(store: Store) -> None:
    account_id = await store.run(an_account())
    site, link, imported, quiet = [
        await store.run(made)
        for made in (a_site(account_id), a_link(account_id), a_link(account_id, "import"), a_link(account_id, "quiet"))
    ]
    of_another = await store.run(a_site(await store.run(an_account())))
    await store.run(_days([(site, TODAY, 5, 1, 0), (link, TODAY, 7, 0, 0), (imported, TODAY, 9, 0, 1)]))
    await store.run(_days([(site, TODAY - 1, 30, 0, 0), (link, TODAY + 1, 30, 0, 0), (of_another, TODAY, 30, 0, 0)]))
    begins = TODAY * DAY_MS
    await store.run(
        _hours(
            [
                (site, begins, 2, 1),
                (site, begins + 23 * HOUR_MS, 3, 0),
                (site, begins - HOUR_MS, 8, 0),
                (site, begins + DAY_MS, 8, 0),
                (of_another, begins, 8, 0),
            ]
        )
    )
    assert await store.read(stored_day(account_id, TODAY)) == {
        site: Stored(Events(5, 1), Events(5, 1)),
        link: Stored(Events(7, 0)),
        imported: Stored(),
        quiet: Stored(),
    }


def _days(rows: list[tuple[str, int, int, int, int]]) -> Tx[None]:
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final, imported)"
        " values ($1, $2, $3, $4, 1, 0, 0, $5)",
        rows,
    )


def _hours(rows: list[tuple[str, int, int, int]]) -> Tx[None]:
    yield many(
        "insert into hours (target, at, views, bots, visitors, as_of, final) values ($1, $2, $3, $4, 1, 0, 0)", rows
    )
