"""Tests that read the page views of a host from Cloudflare Web Analytics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.clock import day_of, system_clock
from svc.edge.web_analytics import DAYS_AVAILABLE, WebDay, view_days
from svc.errors import EdgeRefused, EdgeUnavailable
from tests.edge.test_invalid_responses import open_scripted_server

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from svc.edge.access import Access
    from svc.edge.client import Edge

HOST = "shop.example"


async def test_days_of_one_host_are_read_over_the_whole_available_time(
    access: Access, emulator: Emulator, customer: Customer
) -> None:
    today = day_of(system_clock())
    agos = (DAYS_AVAILABLE, DAYS_AVAILABLE - 90, DAYS_AVAILABLE - 91, 1)
    for ago in agos:
        views = {HOST: (100 + ago, ago), "other.example": (7, 7)}
        await emulator.set_usage(customer.account_id, today - ago, web_views=views)
    days = await view_days(access, HOST, today - DAYS_AVAILABLE, today - 1)
    assert days == tuple(WebDay(today - ago, 100 + ago, ago, is_estimate=False) for ago in agos)
    assert await view_days(access, HOST, today - 1, today - 2) == ()
    assert await view_days(access, "unknown.example", today - 9, today - 1) == ()


async def test_sampled_days_are_estimates(access: Access, emulator: Emulator, customer: Customer) -> None:
    yesterday = day_of(system_clock()) - 1
    await emulator.set_usage(customer.account_id, yesterday, web_views={HOST: (1_004, 500)}, sample_interval=10)
    assert await view_days(access, HOST, yesterday, yesterday) == (WebDay(yesterday, 1_000, 500, is_estimate=True),)


async def test_older_days_are_refused(access: Access) -> None:
    today = day_of(system_clock())
    with pytest.raises(EdgeRefused, match="older than 26w2d"):
        await view_days(access, HOST, today - 185, today - 1)


async def test_missing_permission_is_refused(edge: Edge, emulator: Emulator, customer: Customer) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["D1 Read"])
    yesterday = day_of(system_clock()) - 1
    with pytest.raises(EdgeRefused, match="not authorized"):
        await view_days(edge.access(customer.account_id, value), HOST, yesterday, yesterday)


def data(*rows: str) -> bytes:
    body = f'{{"data": {{"viewer": {{"accounts": [{{"views": [{", ".join(rows)}]}}]}}}}, "errors": null}}'
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def row(day: str = "2026-11-20", count: str = "5", visits: str = "2", interval: str = "1") -> str:
    return (
        f'{{"count": {count}, "sum": {{"visits": {visits}}}, "avg": {{"sampleInterval": {interval}}},'
        f' "dimensions": {{"date": "{day}"}}}}'
    )


async def test_rows_of_one_day_are_summed_and_other_days_ignored() -> None:
    rows = (row("2026-11-21"), row(), row(count="3", interval="1.5"), row("2026-11-22"))
    first = 20_777  # 2026-11-20
    async with open_scripted_server([data(*rows)]) as (access, _):
        days = await view_days(access, HOST, first, first + 1)
    assert days == (WebDay(first, 8, 4, is_estimate=True), WebDay(first + 1, 5, 2, is_estimate=False))


@pytest.mark.parametrize(
    "wrong", [row(count="-1"), row(count="1e300"), row(visits='"x"'), row(day="2026-13-01"), row(interval="null"), "7"]
)
async def test_invalid_rows_are_rejected(wrong: str) -> None:
    async with open_scripted_server([data(wrong)] * 9) as (access, _):
        with pytest.raises(EdgeUnavailable):
            await view_days(access, HOST, 20_777, 20_778)


async def test_response_without_the_account_is_refused() -> None:
    body = '{"data": {"viewer": {"accounts": []}}, "errors": null}'
    async with open_scripted_server([f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()]) as (
        access,
        _,
    ):
        with pytest.raises(EdgeRefused, match="no data"):
            await view_days(access, HOST, 20_777, 20_778)
