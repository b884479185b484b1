"""Tests of reading page views from Cloudflare Web Analytics with the working token."""

from __future__ import annotations

from dataclasses import replace

import pytest

from svc.actors.requests import web_analytics
from svc.actors.requests.web_analytics import WebViews
from svc.clock import day_of
from svc.errors import Conflict, EdgeUnavailable, ServiceError
from svc.model import Counts

HOST = "shop.example"


@pytest.fixture
async def ready(service):
    await service.ready()
    await service.idle()
    return service


async def read(service, last_ago: int = 1) -> WebViews:
    account = await service.account()
    today = day_of(service.clock())
    reads = service.supervisor.live_reads
    return await web_analytics.read(reads, account.user_id, account, HOST, today, today - last_ago)


async def test_working_token_reads_page_views_once(ready):
    today = day_of(ready.clock())
    customer = ready.customer.account_id
    await ready.emulator.set_usage(customer, today - 150, web_views={HOST: (40, 9)})
    await ready.emulator.set_usage(customer, today - 2, web_views={HOST: (1_000, 500)}, sample_interval=10)
    await ready.emulator.set_usage(customer, today - 1, web_views={HOST: (7, 7)})
    await ready.emulator.forget_requests()
    wanted = WebViews({today - 150: Counts(40, 0, 9), today - 2: Counts(1_000, 0, 500)}, {today - 2})
    assert await read(ready, last_ago=2) == wanted
    asked = len(await ready.emulator.requests())
    assert await read(ready, last_ago=2) == wanted
    assert len(await ready.emulator.requests()) == asked == 2
    assert len((await read(ready)).days) == 3


async def test_site_that_is_older_than_the_kept_page_views_has_none(ready):
    assert await read(ready, last_ago=200) == WebViews({}, set())


async def test_refused_query_is_reported(ready):
    await ready.emulator.fault("refuse", "/graphql", method="POST", status=400, code=7, message="unknown field")
    with pytest.raises(EdgeUnavailable, match="did not return the page views"):
        await read(ready)


async def test_limit_of_reads_is_reported(ready):
    async def read_often() -> None:
        for ago in range(100):
            await read(ready, last_ago=ago)

    with pytest.raises(ServiceError) as refused:
        await read_often()
    assert (refused.value.code, refused.value.retry_after_s) == ("rate_limited", 60)


async def test_disconnected_account_is_reported(ready):
    account = await ready.account()
    without = replace(account, sealed_token=None)
    with pytest.raises(Conflict) as refused:
        await web_analytics.read(ready.supervisor.live_reads, account.user_id, without, HOST, 20_000, 19_999)
    assert refused.value.code == "account_not_ready"
