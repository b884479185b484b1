"""Many events over three days: the final numbers that the service receives equal an independent count."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.installed import (
    CHROME,
    DAY_MS,
    HOUR_MS,
    LINK_HOST,
    MINUTE_MS,
    SITE_HOST,
    SITE_PATH,
    VOCABULARY,
    InstalledWorker,
    accepted,
)
from edge_worker.harness.sampling import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = 100_000 if EVERYTHING else 9_000
PEOPLE = EVENTS // 5
LINKS = 8
DAYS = 3
# Three bursts per day in different hours, with crons between them and occasional lost responses.
BURST_HOURS = (1, 9, 23)
CONNECTIONS = 16
CURL = "curl/8.5.0"
# The site's exclusions, and the headers of the excluded visitors, by the last digit of the visitor's number. Exclusions
# do not apply to clicks on links.
SITE: dict[str, Any] = {
    "target": "site_a", "script": "k3f", "respect_gpc": True, "excluded_networks": ["10.0.1.0/24", "10.0.2.0/23"],
    "excluded_countries": ["FR"], "excluded_asns": [64496], "visitor_opt_out": True,
}  # fmt: skip
EXCLUDED_DIGITS = {
    3: 'x-emulator-cf: {"country": "FR"}\r\n',
    5: 'x-emulator-cf: {"country": "DE", "asn": 64496}\r\n',
    7: "sec-gpc: 1\r\n",
}
# Before this share of the events, a person turns counting off, or turns it on again. The browser stores the cookie.
SWITCHES = 0.05
COOKIE = "__Secure-uncounted=1"
ROWS_PER_DAY, ROWS_READ_PER_DAY = 100_000, 5_000_000


class Expected:
    """An independent count of the events that the test sends."""

    def __init__(self) -> None:
        self.excluded = 0
        self.opted_out: set[int] = set()  # numbers of the people whose browsers have the opt-out cookie
        self.not_counted = 0  # number of views with the opt-out cookie, except those by excluded visitors
        self.views: Counter[tuple[str, int]] = Counter()
        self.bots: Counter[tuple[str, int]] = Counter()
        self.hour_people: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        self.day_people: defaultdict[tuple[str, int], set[int]] = defaultdict(set)

    def add(self, target: str, person: int, at: int, *, bot: bool, off: bool) -> None:
        """Count one event, unless it is a view by an excluded visitor, or a view with the opt-out cookie (`off`)."""
        if target == "site_a" and (person // 256 in {1, 2, 3} or person % 10 in EXCLUDED_DIGITS):
            self.excluded += 1
            return
        if target == "site_a" and off:
            self.not_counted += 1
            return
        hour = at // HOUR_MS
        if bot:
            self.bots[target, hour] += 1
            return
        self.views[target, hour] += 1
        self.hour_people[target, hour].add(person)
        self.day_people[target, hour // 24].add(person)

    def hours(self) -> dict[tuple[str, int], tuple[int, int, int]]:
        """Return the numbers by target and start of the hour, in the receiver's format."""
        return {
            (target, hour * HOUR_MS): (
                self.views[target, hour], self.bots[target, hour], len(self.hour_people[target, hour]),
            )
            for target, hour in {*self.views, *self.bots}
        }  # fmt: skip


async def burst(worker: InstalledWorker, expected: Expected, chance: random.Random, events: int, at: int) -> None:
    """Send the events concurrently over several connections to the emulated edge, all within the hour of `at` (epoch
    ms).
    """

    def requests() -> Iterator[tuple[str, str, str, int, bool]]:
        for _ in range(events):
            person, bot = chance.randrange(PEOPLE), chance.random() < 0.1
            if chance.random() < SWITCHES:
                yield ("POST", SITE_HOST, f"{SITE_PATH}/off", person, False)
            if chance.random() < 0.5:
                yield ("POST", SITE_HOST, SITE_PATH, person, bot)
            else:
                yield ("GET", LINK_HOST, f"/code{chance.randrange(LINKS)}", person, bot)

    todo = requests()

    port = int(worker.emulator.edge.rsplit(":", 1)[1])

    async def connection() -> None:
        # Use plain sockets, because an HTTP client takes more CPU time than the Worker. Reading the response is simple,
        # because it has no body.
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            for method, host, path, person, bot in todo:
                body = f"/p{person % 7}\n" if path == SITE_PATH else ""
                off = person in expected.opted_out
                switches = path.endswith("/off")
                if switches:
                    # the form on the page sends one or the other, depending on the cookie
                    path += "?on" if off else "?off"
                cookie = f"cookie: theme=dark; {COOKIE}\r\n" if off else ""
                await stream.send_all(
                    f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: {CURL if bot else CHROME}\r\n"
                    f"x-emulator-ip: 10.{person // 65_536}.{person // 256 % 256}.{person % 256}\r\n"
                    f"{EXCLUDED_DIGITS.get(person % 10, '')}{cookie}origin: http://{host}\r\n"
                    f"content-length: {len(body)}\r\n\r\n{body}".encode()
                )
                response = b""
                while not response.endswith(b"\r\n\r\n"):
                    response += await stream.receive_some()
                if switches:
                    assert response.startswith(b"HTTP/1.1 303"), response
                    has_cookie = f"{COOKIE};".encode() in response
                    (expected.opted_out.add if has_cookie else expected.opted_out.discard)(person)
                    continue
                assert response.startswith(b"HTTP/1.1 204" if body else b"HTTP/1.1 302"), response
                target = "site_a" if body else f"lnk_{path[-1]}"
                expected.add(target, person, at, bot=bot, off=off)

    async with trio.open_nursery() as nursery:
        for _ in range(CONNECTIONS):
            nursery.start_soon(connection)
    await worker.emulator.settled()


@pytest.mark.rule("W2")
@pytest.mark.rule("W3")
@pytest.mark.rule("W5")
@pytest.mark.rule("Y9")
@pytest.mark.timeout(1_800)
async def test_three_days_of_events_are_counted_exactly_within_the_free_plan(worker: InstalledWorker) -> None:
    chance = random.Random(20261121)
    expected = Expected()
    receiver = worker.receiver
    await worker.configure(
        {f"link:code{i}": {"target": f"lnk_{i}", "url": f"https://example.net/{i}"} for i in range(LINKS)}
        | {f"path:{SITE_HOST}{SITE_PATH}": SITE}
    )
    real = await worker.clock(0)
    midnight = real - real % DAY_MS + DAY_MS
    await worker.clock((midnight - real) / 1000)
    await worker.cron(midnight)

    def accept_without_response(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        receiver.apply(body)
        return 502, {}, {}

    def accept_twice(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        receiver.apply(body)
        receiver.apply(body)
        return 200, accepted(body), {}

    for day in range(DAYS):
        for hour in BURST_HOURS:
            at = midnight + day * DAY_MS + hour * HOUR_MS + 2 * MINUTE_MS
            await worker.clock((at - real) / 1000 - 30)
            await burst(worker, expected, chance, EVENTS // (DAYS * len(BURST_HOURS)), at)
            receiver.responses += [accept_without_response, accept_twice]
            next_at = at + HOUR_MS + 2 * MINUTE_MS
            await worker.clock((next_at - real) / 1000)
            await worker.crons_until_quiet(next_at)
    at = midnight + DAYS * DAY_MS + 20 * MINUTE_MS
    await worker.clock((at - real) / 1000)
    await worker.crons_until_quiet(at)

    counted = sum(expected.views.values()) + sum(expected.bots.values())
    assert counted + expected.excluded + expected.not_counted == EVENTS // 9 * 9
    assert expected.excluded > EVENTS // 10
    assert expected.not_counted > EVENTS // 100
    assert receiver.hours == expected.hours()
    days = {(target, receiver_day(day)): counts for (target, day), counts in receiver.days.items()}
    assert {key: counts[2] for key, counts in days.items()} == {
        key: len(people) for key, people in expected.day_people.items()
    }
    assert sum(counts[0] + counts[1] for counts in days.values()) == counted
    assert (await worker.state())["dropped"] == dict.fromkeys(VOCABULARY["drop_reasons"], 0)
    account = (await worker.emulator.state())["accounts"][worker.customer.account_id]
    assert max(usage["rows_written"] for usage in account["usage"].values()) < ROWS_PER_DAY
    assert max(usage["rows_read"] for usage in account["usage"].values()) < ROWS_READ_PER_DAY
    assert account["scripts"]["svc-edge"]["max_d1_queries"] <= 50


def receiver_day(day: str) -> int:
    """Return the epoch day of a date."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000) // DAY_MS
