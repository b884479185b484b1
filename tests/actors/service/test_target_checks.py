"""Targets of links are requested once a week, a few at a time, and users are notified of broken targets."""

from __future__ import annotations

import json
import socket
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio
import trio.testing
import trustme

from svc.actors.context import Context
from svc.actors.service.target_checks import (
    Budget,
    TargetChecks,
    first_wait_ms,
    run_target_checks,
    share_of,
    user_agent,
    was_clock_set,
)
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.config import Config, HttpConfig, LinksConfig
from svc.edge.visits import Visitor
from svc.errors import StoreUnavailable
from svc.metrics import TARGET_CHECKS
from svc.store import broken_targets, links, target_checks
from svc.store.target_checks import CONFIRM_MS, PERIOD_MS, target_digest
from svc.store.tx import sql
from svc.worker.bundle import load_bundle
from tests.clock import FrozenClock
from tests.scraped import scrape
from tests.store.direct_changes import confirm_address
from tests.store.makers import a_link, an_account, new_link, owner_of
from tests.store.mortal import Killed, Mortal
from tests.store.passing import Passing
from tests.tls_server import PUBLIC, Server, host_of, local_visitor, path_of, sends, sends_by_url, serving, status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.store.tx import Tx

pytestmark = pytest.mark.rule("Y18")

# Midnight UTC.
NOW = day_of(1_800_000_000_000) * DAY_MS
# Requests to the same host follow each other without a pause.
QUICK = Budget(pause_s=0)
API = "https://api.example/client/v4"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def now() -> FrozenClock:
    return FrozenClock(NOW)


@asynccontextmanager
async def hosts(authority: trustme.CA, respond: Any, *names: str) -> AsyncIterator[Server]:
    """Serve hosts, and the host of Cloudflare's API."""
    async with serving(respond, authority.issue_cert("api.example", *names)) as server:
        yield server


def checks(store: Any, clock: FrozenClock, visitor: Visitor, budget: Budget = QUICK, **more: Any) -> TargetChecks:
    return TargetChecks(context(store, clock, visitor, **more), budget)


def context(store: Any, clock: FrozenClock, visitor: Visitor, **more: Any) -> Context:
    none = cast("Any", None)
    settings: dict[str, Any] = {
        "edge": {"api_base_url": API},
        "http": HttpConfig(base_url="https://svc.example"),
        **more,
    }
    return Context(
        store=store,
        edge=none,
        vault=none,
        config=Config(**settings),
        clock=clock,
        bundle=none,
        push_url="",
        visitor=visitor,
    )


def with_links(*urls: str) -> Tx[int]:
    """Add a user with links to these URLs, each of which is due for its first request. Return the user's id."""
    account_id = yield from an_account()
    user_id = yield from owner_of(account_id)
    yield from confirm_address(user_id)
    for n, url in enumerate(urls):
        yield from a_link(account_id, f"code{n}", url=url)
    yield from due_now()
    return user_id


def due_now() -> Tx[None]:
    while (yield from target_checks.list_targets(NOW, lambda _: 0)):
        pass


def problems() -> Tx[dict[str, str | None]]:
    rows = yield sql("select url, problem from target_checks where broken_at is not null order by url")
    return {row["url"]: row["problem"] for row in rows}


def emails() -> Tx[list[Any]]:
    rows = yield sql("select facts from outbox where kind = 'broken_targets' order by id")
    return [json.loads(row["facts"]) for row in rows]


async def test_broken_targets_are_found_and_reported(store, now, authority):
    urls = [f"https://{name}.example/" for name in ("a", "b", "c", "d")]
    user_id = await store.run(with_links(*urls))
    responses = {"a.example/": status(404), "b.example/": status(410), "c.example/": status(503)}
    async with hosts(authority, sends_by_url(responses), "a.example", "b.example", "c.example") as server:
        service = checks(store, now, local_visitor(server, authority))
        await service.check_due()
        assert sorted(server.urls) == ["a.example/", "api.example/", "b.example/", "c.example/"]
        await service.notify_users()
        assert await store.read(problems()) == {}
        now.now_ms += CONFIRM_MS
        await service.check_due()
        assert await store.read(problems()) == {
            "https://a.example/": "http_404",
            "https://b.example/": "http_410",
            "https://d.example/": "tls_failed",  # the certificate is not valid for this host
        }
        before = len(server.urls)
        now.now_ms += PERIOD_MS - CONFIRM_MS - 1
        await service.check_due()
        assert len(server.urls) == before  # nothing is requested twice in a week
        assert await store.read(broken_targets.users_to_notify(day_of(now()))) == [user_id]


async def test_requests_name_the_service_and_count_as_a_bot(store, now, authority):
    await store.run(with_links("https://a.example/"))
    async with hosts(authority, sends(status(200)), "a.example") as server:
        await checks(store, now, local_visitor(server, authority)).check_due()
    [request] = server.requests
    [agent] = [line[12:] for line in request.decode().split("\r\n") if line.startswith("User-Agent: ")]
    assert agent == user_agent("https://svc.example")
    assert agent.startswith("svc-link-check/")
    assert "+https://svc.example" in agent
    for each in (agent, user_agent("")):
        assert load_bundle().explainer.agent_of(each).reason == "list"


async def test_url_of_many_links_is_requested_once(store, now, authority):
    for _ in range(2):
        await store.run(with_links("https://a.example/", "https://a.example/#part", "https://a.example/"))
    async with hosts(authority, sends(status(200)), "a.example") as server:
        service = checks(store, now, local_visitor(server, authority))
        async with trio.open_nursery() as nursery:  # two processes at the same time
            nursery.start_soon(service.check_due)
            nursery.start_soon(checks(store, now, local_visitor(server, authority)).check_due)
    assert server.urls == ["a.example/"]


async def test_problem_of_our_own_network_is_not_recorded(store, now, authority):
    await store.run(with_links("https://a.example/", "https://b.example/"))

    def offline(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    async with hosts(authority, sends(status(404)), "a.example") as server:
        for _ in range(2):
            await checks(store, now, local_visitor(server, authority, lookup=offline)).check_due()
            now.now_ms += PERIOD_MS
        assert await store.read(unsolved()) == []
        # A visitor that trusts no certificate, for example because of a broken installation.
        untrusting = local_visitor(server, trustme.CA())
        for _ in range(2):
            await checks(store, now, untrusting).check_due()
            now.now_ms += PERIOD_MS
    assert await store.read(unsolved()) == []
    assert server.urls == []


def unsolved() -> Tx[list[str]]:
    rows = yield sql("select url from target_checks where problem is not null")
    return [row["url"] for row in rows]


async def test_unknown_host_is_recorded_after_one_request_to_the_api(store, now, authority):
    await store.run(with_links("https://a.example/", "https://b.example/"))

    def lookup(host: str) -> list[str]:
        if host == "api.example":
            return [PUBLIC]
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    async with hosts(authority, sends(status(403))) as server:
        service = checks(store, now, local_visitor(server, authority, lookup=lookup), Budget(pause_s=0, concurrency=1))
        await service.check_due()
        assert server.urls == ["api.example/"]
        now.now_ms += CONFIRM_MS
        await service.check_due()
    assert await store.read(problems()) == dict.fromkeys(("https://a.example/", "https://b.example/"), "unknown_host")


async def test_hosts_get_one_request_at_a_time_within_the_budget(store, now, authority):
    """The links' targets redirect to another host, which must also get only one request at a time."""
    names = [f"{name}.example" for name in "abcdefgh"]
    await store.run(with_links(*[f"https://{name}/{n}" for name in names for n in range(5)]))
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    both: list[int] = []

    async def respond(stream, request):
        host = host_of(request)
        running[host] += 1
        most[host] = max(most[host], running[host])
        both.append(sum(running.values()))
        await trio.testing.wait_all_tasks_blocked(0.001)
        running[host] -= 1
        response = status(200) if host == "hub.example" else status(302, f"https://hub.example{path_of(request)}")
        await stream.send_all(response)

    async with hosts(authority, respond, "hub.example", *names) as server:
        budget = Budget(requests=24, concurrency=3, requests_per_host=4, pause_s=0)
        await checks(store, now, local_visitor(server, authority), budget).check_due()
    first = Counter(url.partition("/")[0] for url in server.urls)
    assert first.pop("hub.example") == first.total() == 24
    assert max(first.values()) <= 4
    assert set(most.values()) == {1}
    assert max(both) <= 3
    # The remaining targets are due within six hours, so later rounds request them.
    rest = await store.read(target_checks.due(NOW + 6 * HOUR_MS, 100))
    assert len(rest) == 40 - 24


async def test_pause_between_two_requests_to_a_host(store, now, authority):
    await store.run(with_links(*[f"https://a.example/{n}" for n in range(3)]))
    async with hosts(authority, sends(status(200)), "a.example") as server, trio.open_nursery() as nursery:
        service = checks(store, now, local_visitor(server, authority), Budget(pause_s=3_600))
        nursery.start_soon(service.check_due)
        while not await store.read(claimed()):
            await trio.testing.wait_all_tasks_blocked(0.01)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert await store.read(claimed()) == 1
        nursery.cancel_scope.cancel()


def claimed() -> Tx[int]:
    [row] = yield sql("select count(*) as n from target_checks where requested_at is not null")
    return int(row["n"])


def test_first_requests_of_ten_thousand_links_are_spread_over_the_week():
    hours = Counter(first_wait_ms(target_digest(f"https://shop.example/{n}")) // HOUR_MS for n in range(10_000))
    assert set(hours) == set(range(7 * 24))
    # Six requests a minute are allowed per host.
    assert max(hours.values()) < 2 * 10_000 / (7 * 24)
    assert all(0 <= share_of(target_digest(str(n))) < 1 for n in range(100))


async def test_ten_thousand_due_targets_of_one_user_do_not_delay_others(store, now, authority):
    """After an outage of a week, 10,000 targets of one user are due before the target of another user."""
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    batch = [replace(new_link(user_id, account_id, f"code{n}"), url=f"https://a.example/{n}") for n in range(1_200)]
    for first in range(0, len(batch), 400):
        await store.run(links.add_links(batch[first : first + 400], 10_000))
    await store.run(due_now())
    await store.run(with_links("https://b.example/"))
    await store.run(later_by_a_second("https://b.example/"))
    async with hosts(authority, sends(status(200)), "a.example", "b.example") as server:
        service = checks(store, now, local_visitor(server, authority))
        for _ in range(3):  # each round reads 500 targets
            now.now_ms += 60_000
            await service.check_due()
    assert Counter(url.partition("/")[0] for url in server.urls) == {"a.example": 3 * 6, "b.example": 1}


def later_by_a_second(url: str) -> Tx[None]:
    yield sql("update target_checks set due_at = due_at + 1000 where url = $1", url)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("dies_at", range(1, 9))
async def test_killed_process_repeats_no_request_and_no_email(store, now, authority, dies_at, after):
    now.now_ms += 8 * HOUR_MS
    await store.run(with_links("https://a.example/"))
    async with hosts(authority, sends(status(404)), "a.example") as server:
        visitor = local_visitor(server, authority)
        for start in (now(), now() + CONFIRM_MS):
            now.now_ms = start
            async with killed():
                mortal = checks(Mortal(store, dies_at, after=after), now, visitor)
                await mortal.check_due()
                await mortal.notify_users()
            again = checks(store, now, visitor)
            await again.check_due()
            await again.notify_users()
        assert len(server.urls) <= 2
        # A request whose result was lost is repeated after a week.
        for _ in range(2):
            now.now_ms += PERIOD_MS
            service = checks(store, now, visitor)
            await service.check_due()
            await service.notify_users()
    assert await store.read(problems()) == {"https://a.example/": "http_404"}
    assert [len(each["targets"]) for each in await store.read(emails())] == [1]


@asynccontextmanager
async def killed() -> AsyncIterator[None]:
    """Ignore the exception that simulates killing the process."""
    try:
        yield
    except Killed:
        pass
    except BaseExceptionGroup as group:
        if group.split(Killed)[1] is not None:
            raise


async def test_unavailable_store_ends_no_check(store, now, authority):
    await store.run(with_links("https://a.example/", "https://b.example/"))

    class Away(Passing):
        async def run(self, tx: Any) -> Any:
            tx.close()
            raise StoreUnavailable("away")

    async with hosts(authority, sends(status(200)), "a.example", "b.example") as server:
        await checks(Away(store), now, local_visitor(server, authority)).check_due()
        assert server.urls == []
        await checks(store, now, local_visitor(server, authority)).check_due()
        assert len(server.urls) == 2


async def test_emails_are_sent_in_the_morning(store, now, authority):
    user_id = await store.run(with_links("https://a.example/"))
    async with hosts(authority, sends(status(404)), "a.example") as server:
        service = checks(store, now, local_visitor(server, authority))
        await service.check_due()
        now.now_ms += CONFIRM_MS
        await service.check_due()
        morning = day_of(now()) * DAY_MS + (7 * 60 + user_id % 60) * 60_000
        for time, count in ((morning - 1, 0), (morning, 1), (morning + HOUR_MS, 1), (morning + DAY_MS, 1)):
            now.now_ms = time
            await service.notify_users()
            assert len(await store.read(emails())) == count, time


async def test_results_are_counted(store, now, authority):
    await store.run(with_links("https://a.example/", "https://b.example/"))
    async with hosts(authority, sends_by_url({"a.example/": status(404)}), "a.example", "b.example") as server:
        made = context(store, now, local_visitor(server, authority))
        await TargetChecks(made, QUICK).check_due()
    assert scrape(made.metrics).counts(TARGET_CHECKS.name, "result") == {("http_404",): 1, ("works",): 1}


async def test_nothing_is_requested_if_the_operator_turned_the_requests_off(store, now, authority):
    await store.run(with_links("https://a.example/"))
    async with hosts(authority, sends(status(404)), "a.example") as server:
        visitor = local_visitor(server, authority)
        for _ in range(2):
            await checks(store, now, visitor).check_due()
            now.now_ms += CONFIRM_MS
        assert len(await store.read(problems())) == 1
        off = LinksConfig(check_targets=False)
        await run_target_checks(context(store, now, visitor, links=off))
        assert await store.read(problems()) == {}
        assert len(server.urls) == 2


async def test_nothing_is_requested_with_an_emulated_edge(store, now):
    await store.run(with_links("https://a.example/"))
    await run_target_checks(context(store, now, Visitor("https://127.0.0.1:1")))
    assert await store.read(claimed()) == 0


@pytest.mark.parametrize(
    ("moved_ms", "passed_s", "is_set"),
    [
        (60_000, 60.0, False),
        (900_000, 900.5, False),
        (HOUR_MS, 1.0, False),
        (HOUR_MS + 60_001, 60.0, True),
        (-HOUR_MS, 60.0, True),
        (0, 3_601.0, True),
    ],
)
def test_clock_that_was_set(moved_ms, passed_s, is_set):
    assert was_clock_set((NOW, 5.0), (NOW + moved_ms, 5.0 + passed_s)) is is_set


async def test_confirmations_restart_after_the_clock_was_set(store, now, authority):
    await store.run(with_links("https://a.example/"))
    async with hosts(authority, sends(status(404)), "a.example") as server:
        service = checks(store, now, local_visitor(server, authority), Budget(round_s=0.01, pause_s=0))
        await service.check_due()
        now.now_ms += CONFIRM_MS
        async with trio.open_nursery() as nursery:
            nursery.start_soon(service.run)
            await trio.testing.wait_all_tasks_blocked()
            now.now_ms += DAY_MS
            while await store.read(unsolved()):
                await trio.testing.wait_all_tasks_blocked(0.01)
            nursery.cancel_scope.cancel()
    assert await store.read(problems()) == {}
    assert server.urls == ["a.example/"]
