"""Tests that a healthy account whose Worker pushes is checked only once a day, and any other account at the usual
interval.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.actors.checks import schedule
from svc.actors.checks.worker_database import STOPPED_MS
from svc.actors.operations.install import push_second
from svc.clock import DAY_MS, HOUR_MS
from svc.config import TimingConfig
from svc.model import WorkerErrorKind, WorkerPush
from svc.store import pushes
from svc.store.account_schedule import Due

NOW = 20_000 * DAY_MS + 5 * HOUR_MS + 17
DEAD = {"times": None, "status": 401, "code": 1000}


def due(number: int, **more: Any) -> Due:
    """Return a ready account with a recent push, whose last check found no problems."""
    connect_healthy_account = Due(random.Random(number).randbytes(16).hex(), None, None, "ready", NOW, None, NOW)
    return replace(connect_healthy_account, **more)


async def count_checks(service) -> int:
    """Return the number of health checks.

    The function counts the calls that verify the token, because each check begins with such a call.
    """
    return sum(call["path"].endswith("/tokens/verify") for call in await service.emulator.requests())


async def wait_for_checks(service, number: int) -> None:
    async def poll():
        return await count_checks(service) >= number or None

    await eventually(poll)


async def connect_healthy_account(service) -> None:
    """Connect an account, and wait for a health check without findings and a push from its Worker."""
    await service.ready()
    await service.confirmed()

    async def poll():
        return (await service.account()).well_at

    await eventually(poll)
    await service.idle()
    await service.emulator.forget_requests()


@pytest.mark.rule("A20")
def test_healthy_account_has_a_fixed_time_of_day_despite_restarts() -> None:
    timing = TimingConfig()
    waits = [schedule.first_wait_s(due(number), timing, NOW) for number in range(2_000)]
    assert 0 < min(waits) <= max(waits) <= 86_400
    for hour in range(24):  # the checks of different accounts are spread over the day
        assert 40 <= sum(hour * 3_600 <= wait_s < (hour + 1) * 3_600 for wait_s in waits) <= 140
    for number, wait_s in enumerate(waits):
        turn_at = NOW + wait_s * 1000
        # A restart just before a check does not change the time of the check. If a check is already overdue when the
        # service starts, it runs within an hour of the start.
        before = int(turn_at) - 5_000
        again = schedule.first_wait_s(due(number, heard_at=before), timing, before)
        assert before + again * 1000 == pytest.approx(turn_at, abs=1)
        after = int(turn_at) + 5_000
        assert schedule.first_wait_s(due(number, heard_at=after), timing, after) <= 3_600


@pytest.mark.rule("W3")
def test_push_seconds_are_spread_and_leave_time_before_the_next_cron_run() -> None:
    dice = random.Random(7)
    seconds = Counter(push_second(dice.randbytes(16).hex()) for _ in range(22_500))
    assert all(3 <= second // 60 <= 52 and second % 60 < 45 for second in seconds)
    assert (len(seconds), max(seconds.values()) < 40) == (50 * 45, True)


@pytest.mark.rule("A15", "A20")
@pytest.mark.parametrize(
    "problem",
    [
        {"heard_at": NOW - STOPPED_MS},
        {"heard_at": None},
        {"well_at": None},
        {"suspected_at": NOW},
        {"state": "permission_error"},
        {"state": "no_connection"},
        {"well_at": NOW - 2 * DAY_MS},
    ],
)
def test_doubtful_account_is_checked_within_an_hour_of_the_start(problem: dict[str, object]) -> None:
    waits = [schedule.first_wait_s(due(number, **problem), TimingConfig(), NOW) for number in range(100)]
    assert 0 <= min(waits) <= max(waits) <= 3_600


@pytest.mark.rule("A20", "A25")
async def test_daily_check_finds_what_pushes_cannot_reveal_and_hourly_checks_follow(place):
    place.timing |= {"health_every_s": 0.05, "health_well_every_s": 86_400}
    async with place.running() as service:
        await connect_healthy_account(service)
        # Cloudflare refuses the token. The service cannot notice this from a push.
        await service.emulator.fault("refuse", "*", **DEAD)
        for _ in range(20):
            service.supervisor.wake(service.customer.account_id)
            await service.idle()
        assert (await count_checks(service), (await service.account()).state) == (0, "ready")
    place.timing["health_well_every_s"] = 0.5  # the length of a "day" in this test
    async with place.running() as service:

        async def in_state(state):
            async def poll():
                return (await service.account()).state == state or None

            await eventually(poll)

        await in_state("permission_error")
        assert (await service.account()).well_at is None
        await service.emulator.clear_faults()
        await in_state("ready")
        assert (await service.account()).well_at is not None


@pytest.mark.rule("A15", "A20")
async def test_account_whose_worker_missed_a_push_is_checked_now_and_then_hourly(place):
    place.timing |= {"health_every_s": 0.2, "health_well_every_s": 86_400, "recheck_s": 0.02}
    async with place.running() as service:
        await connect_healthy_account(service)
        assert await count_checks(service) == 0
        place.clock.now_ms += STOPPED_MS
        await wait_for_checks(service, 3)
        assert (await service.account()).state == "ready"
        # The Worker pushes again. The check that is already due runs, and then there is no check for a day.
        account = await service.account()
        push = WorkerPush(place.clock(), "bundle", 1, 0, None, {}, account.install_id)
        await service.store.run(pushes.record_pushes([(account.id, push)]))
        actor = service.supervisor.account(service.customer.account_id)

        async def rests():
            return actor.timers.health_at > trio.current_time() + 60 or None

        await eventually(rests)


@pytest.mark.rule("A20", "W5")
async def test_push_that_reports_a_failure_triggers_a_check_and_a_late_push_does_not(place):
    place.timing |= {"health_well_every_s": 86_400, "recheck_s": 0.02}
    async with place.running() as service:
        await connect_healthy_account(service)
        account = await service.account()
        reports: list[tuple[WorkerErrorKind, int]] = [("push", 0), ("cron", 1)]
        for kind, expected in reports:
            push = WorkerPush(place.clock(), "bundle", 1, 0, "Error: anything", {}, account.install_id, kind)
            await service.store.run(pushes.record_pushes([(account.id, push)]))
            await wait_for_checks(service, expected)
            await service.idle()
            assert await count_checks(service) == expected
        assert (await service.account()).suspected_at is None
