"""Sends many events through the whole system: the emulated edge, the Worker with its crons and pushes, and the service.

The events have various targets and come from thousands of people. The test moves the platform's clock through three UTC
days. Every hourly, daily and visitor count that the service stores must equal an independent count.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING
from edge_worker.harness.service import open_service
from edge_worker.harness.visitors import DESKTOP_CHROME
from svc.store import accounts, open_store, totals
from tests.databases import sqlite_config
from tests.journeys.conftest import PUSHED_BY_MS, connect, crons, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = 100_000 if EVERYTHING else 2_700
PEOPLE = EVENTS // 5
# The number of cron runs that are needed to fold the events of an hour.
FOLDS = 30 if EVERYTHING else 5
LINKS = 5
CONNECTIONS = 16
HOUR_MS, DAY_MS, MINUTE_MS = 3_600_000, 86_400_000, 60_000
# The days are in the past, because the service rejects totals for future days.
DAYS_AGO = (3, 2, 1)
HOURS = (1, 12, 23)
FAILURES = ("egress_drop_before", "egress_drop_after", "egress_status")


class Expected:
    """An independent count, made by the test itself."""

    def __init__(self) -> None:
        self.views: Counter[tuple[str, int]] = Counter()
        self.bots: Counter[tuple[str, int]] = Counter()
        self.people: defaultdict[tuple[str, int], set[int]] = defaultdict(set)

    def add(self, target: str, person: int, hour: int, *, bot: bool) -> None:
        """Count one event."""
        if bot:
            self.bots[target, hour] += 1
        else:
            self.views[target, hour] += 1
            self.people[target, hour].add(person)

    def counts(self, target: str, hours: range) -> tuple[int, int, int]:
        """Return a target's views, bots and unique visitors in a range of epoch hours."""
        seen = set().union(*(self.people[target, hour] for hour in hours))
        return sum(self.views[target, h] for h in hours), sum(self.bots[target, h] for h in hours), len(seen)


async def burst(emulator, expected, chance, events, hour, site, links) -> None:
    """Send `events` events to the edge within one hour, concurrently over several connections."""
    port = int(emulator.edge.rsplit(":", 1)[1])

    def planned() -> Iterator[tuple[str, str, str, str]]:
        for _ in range(events):
            person, bot = chance.randrange(PEOPLE), chance.random() < 0.1
            agent = "curl/8.14.1" if bot else DESKTOP_CHROME.user_agent
            address = f"10.{person // 65_536}.{person // 256 % 256}.{person % 256}"
            head = f"user-agent: {agent}\r\nx-emulator-ip: {address}\r\n"
            if chance.random() < 0.5:
                target, line, body = site["id"], f"POST {site['path']}", f"/p{person % 7}\n"
                host = site["host"]
            else:
                link = chance.choice(links)
                target, line, body, host = link["id"], f"GET /{link['code']}", "", "go.shop.example"
            expected.add(target, person, hour, bot=bot)
            yield line, host, head, body

    todo = planned()

    async def connection() -> None:
        # Use plain sockets, because an HTTP client takes more CPU time than the Worker. Reading a response is simple,
        # because it has no body.
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            for line, host, head, body in todo:
                request = f"{line} HTTP/1.1\r\nhost: {host}\r\n{head}content-length: {len(body)}\r\n\r\n{body}"
                await stream.send_all(request.encode())
                response = b""
                while not response.endswith(b"\r\n\r\n"):
                    response += await stream.receive_some()
                assert response.startswith(b"HTTP/1.1 204" if body else b"HTTP/1.1 302"), response

    async with trio.open_nursery() as nursery:
        for _ in range(CONNECTIONS):
            nursery.start_soon(connection)
    await emulator.settled()


@pytest.mark.rule("W2", "W3", "W5", "R1", "R2")
@pytest.mark.timeout(1_800)
async def test_every_event_of_three_days_is_counted_once(emulator, customer, tmp_path):
    chance = random.Random(20_261_121)
    expected = Expected()
    config = sqlite_config(tmp_path)
    real = await emulator.clock(0)
    # The Worker pushes the last hours of a day within two hours after the day ends. By the service's clock, these two
    # hours must have passed.
    today = (real - 2 * HOUR_MS) // DAY_MS
    async with open_service(tmp_path / "svc", settings_of(emulator, config)) as service:
        await service.sign_up("a@example.com", "a long password")
        await emulator.clock(((today - 3) * DAY_MS + 20 * MINUTE_MS - real) / 1000)
        account_id = await connect(service, customer)
        body = {"account_id": account_id, "host": "shop.example"}
        site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
        links = []
        for number in range(LINKS):
            body = {"account_id": account_id, "url": f"https://a.example/{number}", "code": f"code{number}"}
            links.append((await service.call("POST", "/v1/links", body, expect=201))["link"])
        await service.synced(f"/v1/sites/{site['id']}", *(f"/v1/links/{link['id']}" for link in links))
        async with open_store(config) as store:
            before = accounts.present(await store.read(accounts.account_by_id(account_id)))

        for ago in DAYS_AGO:
            for number, hour in enumerate(HOURS):
                at = (today - ago) * DAY_MS + hour * HOUR_MS + 2 * MINUTE_MS
                await emulator.clock((at - real) / 1000)
                await burst(emulator, expected, chance, EVENTS // 9, at // HOUR_MS, site, links)
                # In each hour's first push, the request or the response is lost, or the service is killed.
                await emulator.fault(FAILURES[number], "*/edge/push")
                end = at // HOUR_MS * HOUR_MS + HOUR_MS
                await crons(emulator, customer, real, end + 4 * MINUTE_MS, FOLDS)
                await crons(emulator, customer, real, end + PUSHED_BY_MS, 5)
        # If a push was sent before the day was closed, the totals of the closed day follow in another push an hour
        # later.
        await crons(emulator, customer, real, today * DAY_MS + HOUR_MS + PUSHED_BY_MS, 5)
        account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
        assert account["push"]["queue"] == 0
        assert sum(account["push"]["dropped"].values()) == 0
        report = (await service.call("GET", f"/v1/sites/{site['id']}/report?period=7d"))["report"]

    first, last = (today - 3) * 24, today * 24
    async with open_store(config) as store:
        # The configuration version is unchanged. The service would have raised it and rewritten the whole configuration
        # if it had assumed that the Worker's database was lost.
        after = accounts.present(await store.read(accounts.account_by_id(account_id)))
        assert (after.config_version, after.restored_as_of) == (before.config_version, None)
        for target in (site["id"], *(link["id"] for link in links)):
            hours = dict(await store.read(totals.hour_counts(target, first * HOUR_MS, last * HOUR_MS)))
            stored = {at // HOUR_MS: (c.views, c.bots, c.visitors) for at, c in hours.items()}
            sent = {hour: expected.counts(target, range(hour, hour + 1)) for hour in range(first, last)}
            assert stored == {hour: counts for hour, counts in sent.items() if any(counts)}
            days = await store.read(totals.day_counts(target, today - 3, today))
            for day in range(today - 3, today):
                counts, _, final = days[day]
                assert (counts.views, counts.bots, counts.visitors) == expected.counts(
                    target, range(day * 24, day * 24 + 24)
                )
                assert final
    assert sum(expected.views.values()) + sum(expected.bots.values()) == EVENTS // 9 * 9
    by_day = [expected.counts(site["id"], range(day * 24, day * 24 + 24)) for day in range(today - 3, today)]
    assert tuple(report["totals"].values()) == tuple(map(sum, zip(*by_day, strict=True)))

    held = (await emulator.state())["accounts"][customer.account_id]
    assert max(day["rows_written"] for day in held["usage"].values()) < 100_000
    assert max(day["rows_read"] for day in held["usage"].values()) < 5_000_000
    assert held["scripts"]["svc-edge"]["max_d1_queries"] <= 50
