"""An account's advice is computed once a day from the usage that Cloudflare reports, and does not change in between."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.actors.service.advice import time_of_day_after
from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, iso
from svc.ids import new_id
from svc.model import Advice
from svc.store import accounts, states
from svc.store.advice import keep_advice
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.makers import an_account

MB = 1_000_000


@pytest.fixture
async def advised_service(place):
    """A service with an account that was connected yesterday. The account has had no health checks since then, and its
    advice is due.
    """
    place.timing |= {"health_every_s": 86_400, "silent_after_s": 365 * 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        service.clock.now_ms = time_of_day_after(service.customer.account_id, (await service.account()).created_at)
        await service.emulator.forget_requests()
        yield service


async def used(service, ago, **usage):
    """Set the account's usage for the day `ago` days before today."""
    await service.emulator.set_usage(service.customer.account_id, day_of(service.clock()) - ago, **usage)


async def advised(service):
    """Wait until the account's duties have run, and return the advice that the API shows."""
    service.supervisor.wake(service.customer.account_id)
    await service.idle()
    service.session = await service.world.session(service.user)  # a session from days ago has expired
    return (await service.shown())["advice"]


async def usage_reads(service):
    """Return the number of calls for the account's usage."""
    asked = Counter(each["path"] for each in await service.emulator.requests())
    return asked["/graphql"]


@pytest.mark.rule("A24")
async def test_growing_account_shows_when_it_will_reach_its_limit(advised_service):
    for ago in range(28, 1, -1):
        await used(advised_service, ago, requests=90_000 - 2_000 * (6 + ago), rows_written=30, rows_read=2_000)
    # the usage of the day that is current for the emulator
    await used(advised_service, 1, requests=76_000, sample_interval=2, size=120 * MB)
    account = await advised_service.account()
    await advised_service.store.run(connected(account.id, advised_service.clock() - 40 * DAY_MS))
    today = day_of(advised_service.clock())

    shown = await advised(advised_service)
    assert (shown["level"], shown["metric"], shown["unavailable"], shown["suggest"]) == (
        "watch", "requests", [], None,
    )  # fmt: skip
    requests = shown["metrics"]["requests"]
    assert requests["busiest"] == {"day": day_text(today - 1), "value": 76_000}
    assert (requests["limit"], requests["forecast"]) == (100_000, day_text(today + 11))
    assert shown["metrics"]["writes"] | {"busiest": None} == {
        "level": "ok", "limit": 100_000, "busiest": None, "forecast": None,
    }  # fmt: skip
    assert shown["metrics"]["size"]["busiest"] == {"day": day_text(today), "value": 120 * MB}
    assert shown["at"] == iso(advised_service.clock())
    [listed] = (await advised_service.call("GET", "/v1/accounts")).body["accounts"]
    assert listed["advice"] == shown


def connected(account_id, at):
    yield sql("update accounts set created_at = $2 where id = $1", account_id, at)


@pytest.mark.rule("A24")
async def test_advice_is_null_at_first_and_then_comes_once_a_day(advised_service):
    due_at = advised_service.clock()
    advised_service.clock.now_ms = due_at - 1000
    assert await advised(advised_service) is None
    advised_service.clock.now_ms = due_at
    first = await advised(advised_service)
    assert (first["at"], first["level"], await usage_reads(advised_service)) == (iso(due_at), "ok", 2)
    advised_service.clock.now_ms = due_at + DAY_MS - 1000
    assert (await advised(advised_service), await usage_reads(advised_service)) == (first, 2)
    advised_service.clock.now_ms = due_at + DAY_MS
    assert (await advised(advised_service))["at"] == iso(due_at + DAY_MS)
    assert await usage_reads(advised_service) == 4


@pytest.mark.rule("A24")
async def test_advice_missed_during_an_outage_is_made_up_for(place):
    place.timing |= {"health_every_s": 86_400, "silent_after_s": 365 * 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
    place.clock.now_ms += 3 * DAY_MS
    place.timing["health_every_s"] = 0.2  # if advice is overdue at the start, it is computed within this time
    async with place.running() as service:

        async def poll():
            return (await service.account()).advice

        assert (await eventually(poll)).at == place.clock()


@pytest.mark.rule("A24")
async def test_missing_usage_is_read_again_after_an_hour(advised_service):
    before = await advised(advised_service)
    advised_service.clock.now_ms += DAY_MS
    failed_at = advised_service.clock()
    await advised_service.emulator.fault("refuse", "*/d1/database/*", times=None, status=400, code=1)
    await advised_service.emulator.fault("html", "/graphql", method="POST", times=None)
    shown = await advised(advised_service)
    assert shown == {
        "level": None,
        "metric": None,
        "metrics": {},
        "unavailable": ["analytics", "size"],
        "suggest": None,
        "at": iso(failed_at),
    }
    await advised_service.emulator.clear_faults()
    advised_service.clock.now_ms = failed_at + HOUR_MS - 1000
    assert await advised(advised_service) == shown
    advised_service.clock.now_ms = failed_at + HOUR_MS
    again = await advised(advised_service)
    assert (again["at"], again["unavailable"]) == (iso(failed_at + HOUR_MS), [])
    assert list(again["metrics"]) == list(before["metrics"]) == ["requests", "writes", "reads", "size"]


@pytest.mark.rule("A24")
async def test_impossible_figures_are_ignored_and_other_duties_continue(advised_service):
    odd = {
        "dimensions": {"date": day_text(day_of(advised_service.clock()) - 1)},
        "confidence": {"sum": {"requests": dict.fromkeys(("estimate", "lower", "upper"), 1.7e308)}},
    }
    body = json.dumps({"data": {"viewer": {"accounts": [{"workers": [odd, odd], "pages": []}]}}, "errors": None})
    await advised_service.emulator.fault("html", "/graphql", method="POST", times=None, status=200, body=body)
    shown = await advised(advised_service)
    assert (list(shown["metrics"]), shown["unavailable"]) == (["size"], ["analytics"])


@pytest.mark.rule("A24")
async def test_clock_that_was_briefly_years_ahead_does_not_stop_the_advice(advised_service):
    now = advised_service.clock()
    then = now + 3_000 * DAY_MS
    account = await advised_service.account()
    await advised_service.store.run(keep_advice(account.id, Advice(then, "ok"), account.settings.plan, then + DAY_MS))
    assert (await advised(advised_service))["at"] == iso(now)


@pytest.mark.rule("A24")
async def test_one_refused_read_does_not_affect_the_other_figures(advised_service):
    # Refuse the read of the database usage.
    await advised_service.emulator.fault("refuse", "/graphql", method="POST", status=400, code=1)
    shown = await advised(advised_service)
    assert (list(shown["metrics"]), shown["unavailable"]) == (["requests", "size"], ["analytics"])
    assert shown["metrics"]["size"]["busiest"]["value"] > 0


@pytest.mark.rule("A24")
async def test_account_with_an_error_keeps_its_previous_advice(advised_service):
    shown = await advised(advised_service)
    account = await advised_service.account()
    await advised_service.store.run(states.move(account.id, ("ready",), "resource_drift", None, START_MS))
    advised_service.clock.now_ms += DAY_MS
    assert (await advised(advised_service), await usage_reads(advised_service)) == (shown, 2)


@pytest.mark.rule("A24")
async def test_changed_plan_gets_advice_immediately_with_its_own_limits(advised_service):
    await used(advised_service, 3, requests=120_000)
    assert (await advised(advised_service))["level"] == "over"
    path = f"/v1/accounts/{(await advised_service.account()).id}"
    advised_service.clock.advance_s(60)
    await advised_service.emulator.forget_requests()
    response = await advised_service.call("PATCH", path, {"plan": "paid"})
    assert (response.status, response.body["account"]["advice"]) == (200, None)
    await advised_service.idle()
    shown = (await advised_service.shown())["advice"]
    assert (shown["level"], list(shown["metrics"]), shown["at"]) == ("ok", ["size"], iso(advised_service.clock()))
    assert shown["metrics"]["size"]["limit"] == 10_000 * MB
    assert await usage_reads(advised_service) == 1  # the service does not read metrics that have no limit on this plan
    advised_service.clock.advance_s(60)
    await advised_service.call("PATCH", path, {"plan": "free"})
    await advised_service.idle()
    assert (await advised_service.shown())["advice"]["level"] == "over"


@pytest.mark.rule("A24")
async def test_request_does_not_wait_for_a_hanging_usage_read(place):
    place.edge["timeout_s"] = 60
    place.timing |= {"health_every_s": 86_400, "silent_after_s": 365 * 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        account = await service.account()
        service.clock.now_ms = time_of_day_after(account.edge_account_id, account.created_at)
        await service.emulator.forget_requests()
        await service.emulator.fault("slow", "/graphql", method="POST", times=None, delay_s=60)
        service.supervisor.wake(account.edge_account_id)

        async def asked():
            return await usage_reads(service) or None

        await eventually(asked)
        service.session = await service.world.session(service.user)
        with trio.fail_after(30):
            response = await service.call(
                "PUT", f"/v1/accounts/{account.id}/link-host", {"host": f"go.{service.customer.account_id}.example"}
            )
        assert response.code == "zone_not_found"
        await service.emulator.clear_faults()


@pytest.mark.rule("A24")
def test_a_thousand_accounts_are_spread_over_the_day():
    now = 20_000 * DAY_MS + 5
    times = [time_of_day_after(f"{number:032x}", now) for number in range(1_000)]
    assert min(times) >= 20_001 * DAY_MS + HOUR_MS
    assert max(times) < 20_001 * DAY_MS + 23 * HOUR_MS
    assert max(Counter(time // 60_000 for time in times).values()) <= 10
    assert [time_of_day_after(f"{number:032x}", now + 7) for number in range(1_000)] == times


@pytest.mark.rule("A24")
async def test_advice_for_a_previous_plan_or_a_deleted_account_is_not_stored(store):
    account_id = await store.run(an_account())
    await store.run(accounts.change_account(account_id, 1, plan="paid"))
    await store.run(keep_advice(account_id, Advice(2, "over", "requests"), "free", 3))
    account = await store.read(accounts.account_by_id(account_id))
    assert (account.advice, account.advice_due_at) == (None, 1)
    await store.run(keep_advice(account_id, Advice(4, "ok"), "paid", 5))
    account = await store.read(accounts.account_by_id(account_id))
    assert (account.advice, account.advice_due_at) == (Advice(4, "ok"), 5)
    await store.run(keep_advice(new_id("acc"), Advice(4, "ok"), "paid", 5))  # the account no longer exists
