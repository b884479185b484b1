"""What an account used, as the platform's analytics tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.clock import day_of, system_clock
from svc.edge import analytics, d1
from svc.edge.analytics import DayUsage
from svc.errors import EdgeRefused, EdgeUnavailable

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from svc.edge.access import Access
    from svc.edge.client import Edge


@pytest.mark.rule("A24")
async def test_each_day_has_its_use_and_an_unknown_size_stays_unknown(
    access: Access, emulator: Emulator, customer: Customer
) -> None:
    database = await d1.create(access, "svc-edge")
    today = day_of(system_clock())
    await emulator.set_usage(
        customer.account_id, today - 2, requests=1200, rows_read=50, rows_written=700, size=400_000_000
    )
    await emulator.set_usage(customer.account_id, today - 4, requests=9)
    assert await analytics.usage(access, database.id, today - 3, today - 1) == [
        DayUsage(today - 3, 0, 0, 0, None),
        DayUsage(today - 2, 1200, 50, 700, 400_000_000),
        DayUsage(today - 1, 0, 0, 0, None),
    ]


@pytest.mark.rule("A24")
async def test_a_refused_query_gives_no_numbers(edge: Edge, emulator: Emulator, customer: Customer) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["D1 Write"])
    with pytest.raises(EdgeRefused, match="not authorized"):
        await analytics.usage(edge.access(customer.account_id, value), "d", 20_000, 20_001)


async def test_a_query_is_repeated_after_a_failure_and_given_up_when_throttled(
    access: Access, emulator: Emulator
) -> None:
    await emulator.fault("html", "/graphql", method="POST", times=2)
    assert len(await analytics.usage(access, "d", 20_000, 20_001)) == 2
    await emulator.fault("throttle", "/graphql", method="POST", delay_s=300)
    with pytest.raises(EdgeUnavailable) as caught:
        await analytics.usage(access, "d", 20_000, 20_001)
    assert caught.value.retry_after_s == 300
