"""Once a day an account's advice is computed from what the platform tells, and shown as it is."""

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
async def counting(place):
    """An account that runs since yesterday, at its time for the next advice; no look at its health comes between."""
    place.timing |= {"health_every_s": 86_400, "silent_after_s": 365 * 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        service.clock.now_ms = time_of_day_after(service.customer.account_id, (await service.account()).created_at)
        await service.emulator.forget_requests()
        yield service


async def used(service, ago, **usage):
    """What the account used so many days ago."""
    await service.emulator.set_usage(service.customer.account_id, day_of(service.clock()) - ago, **usage)


async def advised(service):
    """The advice that is shown once the account's duties are done."""
    service.supervisor.wake(service.customer.account_id)
    await service.idle()
    service.session = await service.world.session(service.user)  # one from days ago has expired
    return (await service.shown())["advice"]


async def questions(service):
    """How often the platform was asked for what the account used."""
    asked = Counter(each["path"] for each in await service.emulator.requests())
    return asked["/graphql"]


@pytest.mark.rule("A24")
async def test_an_account_that_grows_is_shown_when_it_reaches_its_limit(counting):
    for ago in range(28, 1, -1):
        await used(counting, ago, requests=90_000 - 2_000 * (6 + ago), rows_written=30, rows_read=2_000)
    await used(counting, 1, requests=76_000, sample_interval=2, size=120 * MB)  # the emulator's present day
    account = await counting.account()
    await counting.store.run(connected(account.id, counting.clock() - 40 * DAY_MS))
    today = day_of(counting.clock())

    shown = await advised(counting)
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
    assert shown["at"] == iso(counting.clock())
    [listed] = (await counting.call("GET", "/v1/accounts")).body["accounts"]
    assert listed["advice"] == shown


def connected(account_id, at):
    yield sql("update accounts set created_at = $2 where id = $1", account_id, at)


@pytest.mark.rule("A24")
async def test_advice_is_null_at_first_and_then_comes_once_a_day(counting):
    due_at = counting.clock()
    counting.clock.now_ms = due_at - 1000
    assert await advised(counting) is None
    counting.clock.now_ms = due_at
    first = await advised(counting)
    assert (first["at"], first["level"], await questions(counting)) == (iso(due_at), "ok", 2)
    counting.clock.now_ms = due_at + DAY_MS - 1000
    assert (await advised(counting), await questions(counting)) == (first, 2)
    counting.clock.now_ms = due_at + DAY_MS
    assert (await advised(counting))["at"] == iso(due_at + DAY_MS)
    assert await questions(counting) == 4


@pytest.mark.rule("A24")
async def test_a_time_that_passed_while_the_service_was_away_is_made_up_for(place):
    place.timing |= {"health_every_s": 86_400, "silent_after_s": 365 * 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
    place.clock.now_ms += 3 * DAY_MS
    place.timing["health_every_s"] = 0.2  # what is due is spread over this after a start
    async with place.running() as service:

        async def look():
            return (await service.account()).advice

        assert (await eventually(look)).at == place.clock()


@pytest.mark.rule("A24")
async def test_what_the_platform_does_not_tell_is_asked_for_again_in_an_hour(counting):
    before = await advised(counting)
    counting.clock.now_ms += DAY_MS
    failed_at = counting.clock()
    await counting.emulator.fault("refuse", "*/d1/database/*", times=None, status=400, code=1)
    await counting.emulator.fault("html", "/graphql", method="POST", times=None)
    shown = await advised(counting)
    assert shown == {
        "level": None,
        "metric": None,
        "metrics": {},
        "unavailable": ["analytics", "size"],
        "suggest": None,
        "at": iso(failed_at),
    }
    await counting.emulator.clear_faults()
    counting.clock.now_ms = failed_at + HOUR_MS - 1000
    assert await advised(counting) == shown
    counting.clock.now_ms = failed_at + HOUR_MS
    again = await advised(counting)
    assert (again["at"], again["unavailable"]) == (iso(failed_at + HOUR_MS), [])
    assert list(again["metrics"]) == list(before["metrics"]) == ["requests", "writes", "reads", "size"]


@pytest.mark.rule("A24")
async def test_an_answer_of_numbers_that_cannot_be_is_none_and_the_accounts_other_duties_go_on(counting):
    odd = {
        "dimensions": {"date": day_text(day_of(counting.clock()) - 1)},
        "confidence": {"sum": {"requests": dict.fromkeys(("estimate", "lower", "upper"), 1.7e308)}},
    }
    body = json.dumps({"data": {"viewer": {"accounts": [{"workers": [odd, odd], "pages": []}]}}, "errors": None})
    await counting.emulator.fault("html", "/graphql", method="POST", times=None, status=200, body=body)
    shown = await advised(counting)
    assert (list(shown["metrics"]), shown["unavailable"]) == (["size"], ["analytics"])


@pytest.mark.rule("A24")
async def test_a_clock_that_was_years_ahead_for_a_moment_stops_no_advice(counting):
    now = counting.clock()
    then = now + 3_000 * DAY_MS
    account = await counting.account()
    await counting.store.run(keep_advice(account.id, Advice(then, "ok"), account.plan, then + DAY_MS))
    assert (await advised(counting))["at"] == iso(now)


@pytest.mark.rule("A24")
async def test_one_question_that_is_refused_leaves_what_the_others_tell(counting):
    await counting.emulator.fault("refuse", "/graphql", method="POST", status=400, code=1)  # the databases' days
    shown = await advised(counting)
    assert (list(shown["metrics"]), shown["unavailable"]) == (["requests", "size"], ["analytics"])
    assert shown["metrics"]["size"]["busiest"]["value"] > 0


@pytest.mark.rule("A24")
async def test_an_account_that_is_in_trouble_keeps_the_advice_that_it_had(counting):
    shown = await advised(counting)
    account = await counting.account()
    await counting.store.run(states.move(account.id, ("ready",), "resource_drift", None, START_MS))
    counting.clock.now_ms += DAY_MS
    assert (await advised(counting), await questions(counting)) == (shown, 2)


@pytest.mark.rule("A24")
async def test_another_plan_is_advised_at_once_by_its_own_limits(counting):
    await used(counting, 3, requests=120_000)
    assert (await advised(counting))["level"] == "over"
    path = f"/v1/accounts/{(await counting.account()).id}"
    counting.clock.advance_s(60)
    await counting.emulator.forget_requests()
    answer = await counting.call("PATCH", path, {"plan": "paid"})
    assert (answer.status, answer.body["account"]["advice"]) == (200, None)
    await counting.idle()
    shown = (await counting.shown())["advice"]
    assert (shown["level"], list(shown["metrics"]), shown["at"]) == ("ok", ["size"], iso(counting.clock()))
    assert shown["metrics"]["size"]["limit"] == 10_000 * MB
    assert await questions(counting) == 1  # what has no limit is not asked for
    counting.clock.advance_s(60)
    await counting.call("PATCH", path, {"plan": "free"})
    await counting.idle()
    assert (await counting.shown())["advice"]["level"] == "over"


@pytest.mark.rule("A24")
async def test_nobody_waits_for_advice_that_the_platform_does_not_give(place):
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
            return await questions(service) or None

        await eventually(asked)
        service.session = await service.world.session(service.user)
        with trio.fail_after(30):
            answer = await service.call(
                "PUT", f"/v1/accounts/{account.id}/link-host", {"host": f"go.{service.customer.account_id}.example"}
            )
        assert answer.code == "zone_not_found"
        await service.emulator.clear_faults()


@pytest.mark.rule("A24")
def test_a_thousand_accounts_do_not_ask_in_the_same_minute():
    now = 20_000 * DAY_MS + 5
    times = [time_of_day_after(f"{number:032x}", now) for number in range(1_000)]
    assert min(times) >= 20_001 * DAY_MS + HOUR_MS
    assert max(times) < 20_001 * DAY_MS + 23 * HOUR_MS
    assert max(Counter(time // 60_000 for time in times).values()) <= 10
    assert [time_of_day_after(f"{number:032x}", now + 7) for number in range(1_000)] == times


@pytest.mark.rule("A24")
async def test_advice_by_the_limits_of_a_plan_that_is_no_more_is_not_kept(store):
    account_id = await store.run(an_account())
    await store.run(accounts.change_account(account_id, 1, plan="paid"))
    await store.run(keep_advice(account_id, Advice(2, "over", "requests"), "free", 3))
    account = await store.read(accounts.account_by_id(account_id))
    assert (account.advice, account.advice_due_at) == (None, 1)
    await store.run(keep_advice(account_id, Advice(4, "ok"), "paid", 5))
    account = await store.read(accounts.account_by_id(account_id))
    assert (account.advice, account.advice_due_at) == (Advice(4, "ok"), 5)
    await store.run(keep_advice(new_id("acc"), Advice(4, "ok"), "paid", 5))  # gone meanwhile
