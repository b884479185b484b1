"""Tests of the request that the service sends to a new link host through its public address, and of the finding if the
request fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from svc.edge.visits import NoAnswer, Visitor
from svc.store import link_hosts
from tests.actors.checks.test_health_check import check
from tests.actors.checks.test_hosts import put_link_host
from tests.actors.sync.test_recovery import Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

GONE = "https://www.example.com/gone"
ELSEWHERE = "https://www.example.com/"
LIVE_S = 61
PAUSES_S = (10, 20, 40)
# The kind, code and facts of the finding for each rule that makes the emulated edge respond instead of the Worker.
RULES = {
    "redirect": ("link_host_redirected", "link_host_redirected", {"location": ELSEWHERE}),
    "challenge": ("link_host_challenged", "link_host_challenged", {}),
    "block": ("link_host_other_answer", "link_host_other_answer", {"status": "403"}),
    "page": ("link_host_other_answer", "link_host_other_answer", {"status": "200"}),
}
# The kind, code and facts of the finding for each reason why a host may send no response.
REASONS = {
    NoAnswer("not_resolved"): ("link_host_not_resolved", "link_host_not_resolved", {}),
    NoAnswer("not_public", "10.0.0.1"): ("link_host_private", "dns_not_proxied", {"address": "10.0.0.1"}),
    NoAnswer("not_connected"): ("link_host_not_connected", "link_host_unreachable", {}),
    NoAnswer("not_http"): ("link_host_not_http", "link_host_unreachable", {}),
    NoAnswer("certificate", "certificate has expired"): (
        "link_host_certificate", "link_host_certificate", {"said": "certificate has expired"},
    ),
    NoAnswer("unchecked", "no network"): ("link_host_unchecked", "link_host_unreachable", {"said": "no network"}),
}  # fmt: skip


@dataclass
class Log:
    """The requests so far, and the results of the next requests.

    `answers`: the results of the next requests, in place of the emulated edge's responses. `during`: called during each
    request.
    """

    visits: list[tuple[str, str]] = field(default_factory=list)
    answers: list[NoAnswer] = field(default_factory=list)
    during: Callable[[], Awaitable[object]] | None = None


@dataclass(frozen=True)
class LoggedVisitor(Visitor):
    """A Visitor that sends requests to the emulated edge and logs them."""

    log: Log = field(default_factory=Log)

    async def get(self, host, path, **more):
        self.log.visits.append((host, path))
        if self.log.during is not None:
            await self.log.during()
        return self.log.answers.pop(0) if self.log.answers else await super().get(host, path, **more)


@pytest.fixture
def log(place):
    """The log of the service's requests."""
    place.visitor = LoggedVisitor(place.emulator.edge)
    return place.visitor.log


@pytest.fixture
async def service(place, log):
    """A service whose requests to link hosts are logged.

    This fixture requests the fixture `log`, because pytest-trio would otherwise set up both fixtures at the same time.
    """
    async with place.running() as running:
        yield running


async def host_of(service):
    return await service.store.read(link_hosts.get_link_host((await service.account()).id))


async def set_host(service, host, **more):
    """Set the link host, and wait until its route exists and its configuration is synced."""
    assert (await put_link_host(service, host, **more)).status == 202

    async def is_synced():
        shown = (await service.shown())["link_host"]
        return (shown["host"], shown["state"], shown["config"]) == (host, "active", "synced") or None

    await eventually(is_synced)
    await service.idle()


async def pass_s(service, seconds):
    """Advance the clock, and then let the account's duties run."""
    service.clock.advance_s(seconds)
    actor = service.supervisor.account(service.customer.account_id)
    actor.wake()

    async def has_begun():
        return None if actor.woken else True

    await eventually(has_begun)
    await service.idle()


async def shown_error(service):
    error = (await service.shown())["link_host"]["error"]
    return None if error is None else error["code"]


@pytest.mark.rule("A19")
async def test_new_link_host_is_requested_once_when_it_is_live(log, service, zone, running_worker):
    await service.ready()
    await set_host(service, f"go.{zone}")
    await pass_s(service, LIVE_S - 2)
    assert log.visits == []
    await pass_s(service, 2)
    [(host, path)] = log.visits
    assert (host, len(path)) == (f"go.{zone}", 33)
    await pass_s(service, 3_000)
    await put_link_host(service, host)  # the host is already the link host
    await pass_s(service, LIVE_S)
    assert len(log.visits) == 1
    assert ((await host_of(service)).visit_at, await shown_error(service)) == (None, None)
    await service.emulator.settled()
    worker = Worker(service, (await service.account()).database_id)
    [written] = await worker.sql("select (select count(*) from event_log) + (select count(*) from event_page) as n")
    assert written["n"] == 0
    # The service also recognizes its Worker if the Worker redirects requests for unknown codes.
    await set_host(service, f"to.{zone}", not_found_url=GONE)
    await pass_s(service, LIVE_S)
    assert [host for host, _ in log.visits] == [f"go.{zone}", f"to.{zone}"]
    assert ((await host_of(service)).visit_at, await shown_error(service)) == (None, None)


@pytest.mark.rule("A19")
async def test_problem_is_shown_once_it_lasts_and_until_a_request_succeeds(log, service, zone, running_worker):
    await service.ready()
    host = f"go.{zone}"
    rules = {host: {"kind": "redirect", "location": ELSEWHERE}}
    await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone), front_rules=rules)
    await set_host(service, host)
    await pass_s(service, LIVE_S)
    for number, pause_s in enumerate(PAUSES_S, 1):
        assert (len(log.visits), await shown_error(service)) == (number, None)
        await pass_s(service, pause_s)
    assert (len(log.visits), await shown_error(service)) == (4, "link_host_redirected")
    error = (await service.shown())["link_host"]["error"]
    assert ELSEWHERE in error["message"]
    assert "redirect rules" in error["details"]["remedy"]
    await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone))
    await pass_s(service, 80)
    assert (len(log.visits), await shown_error(service)) == (5, None)
    assert (await host_of(service)).visit_at is None
    assert len({path for _, path in log.visits}) == 5


@pytest.mark.rule("A19")
async def test_health_check_shows_each_problem_and_clears_it(log, service, zone, running_worker):
    await service.ready()
    host = f"go.{zone}"
    await set_host(service, host)
    assert await check(service) == []
    assert log.visits == []  # the host is not live yet
    service.clock.advance_s(LIVE_S)

    async def found():
        [one] = await check(service)
        assert (one["thing"], one["mended"]) == (f"the link host {host}", False)
        facts = {name: fact for name, fact in one["facts"].items() if name != "host"}
        return one["kind"], one["remedy_code"], facts

    for kind, expected in RULES.items():
        rules = {host: {"kind": kind, "location": ELSEWHERE}}
        await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone), front_rules=rules)
        assert (await found(), await shown_error(service)) == (expected, expected[1])
        await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone))
        assert (await check(service), await shown_error(service)) == ([], None)
    for reason, expected in REASONS.items():
        log.answers = [reason]
        error = None if reason.reason == "unchecked" else expected[1]
        assert (await found(), await shown_error(service)) == (expected, error)
        assert (await check(service), await shown_error(service)) == ([], None)


async def test_failed_lookup_is_retried_without_a_finding(log, place, zone, running_worker):
    place.timing["route_retry_s"] = 300
    async with place.running() as service:
        await service.ready()
        await set_host(service, f"go.{zone}")
        log.answers = [NoAnswer("unchecked", "no response within 5 s")] * 5
        await pass_s(service, LIVE_S)
        for number in range(1, 6):
            assert (len(log.visits), await shown_error(service)) == (number, None)
            await pass_s(service, 300)
        assert (await host_of(service)).visit_at is None


async def test_result_for_a_replaced_host_is_discarded(log, service, zone, running_worker):
    await service.ready()
    await set_host(service, f"go.{zone}")
    account = await service.account()

    async def replace() -> None:
        log.during = None
        await service.store.run(link_hosts.put_link_host(account.id, f"to.{zone}", account.link_host.zone_id))

    log.during, log.answers = replace, [NoAnswer("not_connected")]
    await pass_s(service, LIVE_S)
    host = await host_of(service)
    assert (host.host, host.visit_at, host.failed_visits) == (f"to.{zone}", 0, 0)


async def test_interrupted_visit_is_repeated_by_the_next_service(log, place, zone, running_worker):
    async with place.running() as service:
        await service.ready()
        await set_host(service, f"go.{zone}")
        log.during = trio.sleep_forever
        service.clock.advance_s(LIVE_S)
        service.supervisor.wake(service.customer.account_id)

        async def begun():
            return bool(log.visits) or None

        await eventually(begun)
    log.during = None
    async with place.running() as service:

        async def visited():
            return (await host_of(service)).visit_at is None or None

        await eventually(visited)
        await service.idle()
        assert len(log.visits) == 2


async def test_requests_interrupt_a_slow_visit(log, service, zone, running_worker):
    account_id = await service.ready()
    await set_host(service, f"go.{zone}")
    log.during = trio.sleep_forever
    service.clock.advance_s(LIVE_S)
    service.supervisor.wake(service.customer.account_id)

    async def begun():
        return bool(log.visits) or None

    await eventually(begun)
    assert (await service.call("DELETE", f"/v1/accounts/{account_id}")).status == 200
    await service.idle()
    assert len(log.visits) == 1


async def test_concurrent_checks_and_the_duty_agree(log, service, zone, running_worker):
    await service.ready()
    host = f"go.{zone}"
    rules = {host: {"kind": "challenge"}}
    await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone), front_rules=rules)
    await set_host(service, host)
    service.clock.advance_s(LIVE_S)
    service.supervisor.wake(service.customer.account_id)
    found = []

    async def ask():
        found.append([one["kind"] for one in await check(service)])

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
    assert found == [["link_host_challenged"]] * 3
    await service.idle()
    assert await shown_error(service) == "link_host_challenged"
