"""Lives of accounts, lived through with all parts real, in a world whose clock is moved.

All lives of a world share the steps of the clock, and what befalls the pushes. What is asked of them in the end, and at
moments within: each report says what `recount` says.
"""

from __future__ import annotations

import itertools
import json
import random
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from svc.clock import day_of
from svc.model import Counts
from svc.store import imported_days
from tests.journeys import recount
from tests.journeys.histories import MINUTE_MS, SECOND_MS, Life, Moment, Plan, Seen, Site, Visit, moments
from tests.journeys.recount import DAY_MS, DAYS, HOUR_MS, Event, Target

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from tests.journeys.moved_world import MovedWorld

# A cron's run that has nothing to do reads three rows, and now and then notes itself.
_IDLE_STATEMENTS = 5
_MOST_RUNS = 120
# Within this time what is closed is sent.
_PUSHED_MS = 61 * MINUTE_MS
# The crons before a moment, and then what users do: time goes on by itself meanwhile, on a slow machine for minutes.
_BEFORE_MS, _BEFORE_DEEDS_MS = 9 * MINUTE_MS, 5 * MINUTE_MS
_CONNECTIONS = 16
# Most of the time they wait: changes of a worker's configuration are written at once, and then once in ten seconds.
_AT_ONCE = 24
# The emulator starts all workers anew for each installation, one after the other.
_INSTALLED_AT_ONCE = 6
# Visits end so long before the hour does: what is asked before is to be answered before, on a slow machine, too.
_BEFORE_HOUR_MS = 10 * SECOND_MS


def _subdomains() -> Iterator[str]:
    yield from ("", "www.", "blog.")
    for number in itertools.count():
        yield f"s{number}."


class Lives:
    """The lives of one world."""

    def __init__(self, plan: Plan, world: MovedWorld) -> None:
        self.plan, self.world = plan, world
        self.lives: list[Life] = []
        self.seen = Seen()
        self.moment_number = 0
        self._chance = random.Random(f"{plan.seed}")  # to make the same again, not to keep a secret
        self._unwell_at = 0  # epoch ms: when pushes were last lost

    async def live(self) -> None:
        """All lives, from their connects to the last report."""
        await self._begin()
        clock = self.world.clock
        before = clock()
        for number, here in enumerate(moments(self.plan, before, self._chance)[: self.plan.until_moment]):
            self.moment_number = number + 1
            await self._pass_time(before, here)
            await self.world.go_to(here.at - _BEFORE_DEEDS_MS)
            await self._each(partial(self._act, here))
            await self.world.go_to(here.at)
            await self._visit()
            if here.boundary:
                # What came before the hour's end is written after it.
                await self.world.go_to((here.at // HOUR_MS + 1) * HOUR_MS + SECOND_MS)
                await self._visit()
            # What came last is in an isolate's memory, or in the log, when an account is disconnected.
            await self._each(self._leave)
            await self.world.emulator.settled()
            await self._each(self._visit_dead_ends)
            for _ in range(self._chance.choice((0, 0, 2 * self.plan.lives))):
                await self.world.push_again(self._chance.randrange(10**6))
            await self._each(self._look_around)
            for life in self.lives:
                life.away = max(0, life.away - 1)
            before = clock()
        await self.world.go_to(clock() + 6 * MINUTE_MS)
        await self._each(self._look_at_all)

    async def _call(self, life: Life, method: str, path: str, body: object = None) -> Any:
        return await self.world.call(life.headers, method, path, body)

    async def _each(self, do: Callable[[Life], Awaitable[None]], at_once: int = _AT_ONCE) -> None:
        """Some lives at once. What goes wrong names the life."""
        places = trio.CapacityLimiter(at_once)

        async def one(life: Life) -> None:
            async with places:
                try:
                    await do(life)
                except AssertionError as error:
                    raise AssertionError(f"life {life.number} ({life.account_id}): {error}") from error

        async with trio.open_nursery() as nursery:
            for life in self.lives:
                nursery.start_soon(one, life)

    # ------------------------------------------------------------------------------------------------------- births

    async def _begin(self) -> None:
        """Connect all accounts, each with a link host, a site and a link."""
        emulator = self.world.emulator
        for number in range(self.plan.lives) if self.plan.only is None else [self.plan.only]:
            zone = f"z{number}-{secrets.token_hex(4)}.example"
            customer = await emulator.create_account([proxied_zone(zone)])
            _, hand = await emulator.create_token(customer.account_id, rights=["D1 Write"], expires_in_s=None)
            chance = random.Random(f"{self.plan.seed}/{number}")
            user, most = await self.world.new_user(), self.plan.most_of_one(chance)
            self.lives.append(Life(number, chance, customer, zone, user, hand, most))
        await self._each(self._connect, _INSTALLED_AT_ONCE)

    async def _connect(self, life: Life) -> None:
        customer = life.customer
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        life.account_id = (await self._call(life, "POST", "/v1/accounts", body))["account"]["id"]
        await self._installed(life)
        await self._call(life, "PUT", f"/v1/accounts/{life.account_id}/link-host", {"host": f"go.{life.zone}"})
        await self._add(life, ["site", "link", *life.kinds()])
        await self._synced(life)

    async def _installed(self, life: Life) -> None:
        async def look() -> bool | None:
            account = (await self._call(life, "GET", f"/v1/accounts/{life.account_id}"))["account"]
            assert account["state"] in ("pending", "installing", "ready"), account
            return True if account["state"] == "ready" else None

        await eventually(look, every_s=0.2)
        await self._cron(life, self.world.clock())

    async def _synced(self, life: Life) -> None:
        """Wait until the worker can know all that is there and nothing that is not."""
        for site in [site for site in life.sites if not site.synced]:

            async def look(site: Site = site) -> bool | None:
                [(_, shown)] = (await self._call(life, "GET", f"/v1/{site.target.kind}s/{site.target.id}")).items()
                return True if shown["config"] == "synced" and shown["state"] in ("active", "deleted") else None

            await eventually(look, every_s=1)
            site.synced = True

    # -------------------------------------------------------------------------------------------------------- deeds

    async def _act(self, here: Moment, life: Life) -> None:
        """What the account's user does, or what befalls the account, if anything."""
        today = day_of(self.world.clock())
        if life.level_day != today:
            life.level, life.since_level, life.refused_at = 0, 0, 0
        deed = life.deed(here)
        sites = [site for site in life.alive if site.target.kind == "site"]
        if deed == "add" and (kinds := life.kinds()):
            await self._add(life, kinds)
        elif deed == "delete" and len(life.alive) > 1:
            gone = life.chance.choice(life.alive)
            await self._call(life, "DELETE", f"/v1/{gone.target.kind}s/{gone.target.id}")
            gone.alive = gone.synced = False
        elif deed == "rotate" and sites:
            await self._rotate(life, life.chance.choice(sites))
        elif deed == "reinstall":
            await self._call(life, "POST", f"/v1/accounts/{life.account_id}/install")
            await self._installed(life)
        elif deed == "short budget" and not here.boundary:
            await self._write_much(life, life.chance.choice((1, 1, 2)), today)
        elif deed == "no crons":
            life.away = life.chance.randint(1, 4)
        elif deed == "disconnect":
            life.leaving = True
        else:
            return
        self.seen.note(deed)
        await self._synced(life)

    async def _add(self, life: Life, kinds: Sequence[str]) -> None:
        """Make sites and links, all at once."""
        taken = {site.host for site in life.alive}
        hosts = (host for name in _subdomains() if (host := f"{name}{life.zone}") not in taken)
        made: dict[int, tuple[Site, int]] = {}  # with when, epoch ms

        async def add(number: int, kind: str, host: str) -> None:
            body = {"account_id": life.account_id}
            body |= {"host": host} if kind == "site" else {"url": "https://a.example/", "code": f"code{number}"}
            shown = (await self._call(life, "POST", f"/v1/{kind}s", body))[kind]
            site = Site(Target(kind, shown["id"]), host, shown["path"] if kind == "site" else f"/code{number}")
            made[number] = site, recount.moment(shown["created_at"])

        async with trio.open_nursery() as nursery:
            for number, kind in enumerate(kinds, len(life.sites)):
                nursery.start_soon(add, number, kind, next(hosts) if kind == "site" else f"go.{life.zone}")
        for _, (site, created_at) in sorted(made.items()):
            life.sites.append(site)
            self.seen.histories += 1
            if life.chance.random() < 0.3:
                await self._import_days(life, site.target, created_at)

    async def _import_days(self, life: Life, target: Target, created_at: int) -> None:
        """Days of another product, from before the target was made."""
        for _ in range(4):
            day = created_at // DAY_MS - life.chance.randint(1, 29)
            views = life.chance.randint(0, 50)
            target.imported[day] = (views, life.chance.randint(0, 9), life.chance.randint(0, views))
        owner = imported_days.Target(
            target.id, life.account_id, target.kind, life.customer.account_id, name="", created_at=created_at
        )
        days = {day: Counts(*numbers) for day, numbers in target.imported.items()}
        await self.world.store.run(imported_days.import_days(owner, days))
        self.seen.note("import")

    async def _rotate(self, life: Life, site: Site) -> None:
        shown = (await self._call(life, "POST", f"/v1/sites/{site.target.id}/rotate"))["site"]
        site.path, site.synced = shown["path"], False
        site.old_paths = [(old["path"], recount.moment(old["until"])) for old in shown["retiring"]]

    async def _write_much(self, life: Life, level: int, today: int) -> None:
        """The worker believes to have written most of a day's rows."""
        headers = {"Authorization": f"Bearer {life.hand}"}
        databases = f"{self.world.emulator.api}/accounts/{life.customer.account_id}/d1/database"
        [database] = (await self.world.api.get(databases, headers=headers)).json()["result"]
        written = {"day": today, "rows": {1: 65_000, 2: 85_000}[level]}
        sql = "update meta set value = json_set(value, '$.written', json(?)) where key = 'state'"
        body = {"sql": sql, "params": [json.dumps(written)]}
        done = await self.world.api.post(f"{databases}/{database['uuid']}/query", json=body, headers=headers)
        assert done.is_success, done.text
        for _ in range(2):
            await self._cron(life, self.world.clock())
        life.level, life.level_day, life.since_level = level, today, 0

    async def _leave(self, life: Life) -> None:
        """Disconnect, if that is what the user wants."""
        if not (life.leaving and life.connected):
            return
        answer = await self._call(life, "DELETE", f"/v1/accounts/{life.account_id}")
        assert answer["left"] == [], answer
        life.connected, life.away = False, 0
        for site in life.sites:
            site.alive = False
        # All that came is stored; up to when it was counted is not before the last of it.
        life.as_of_at_least = max((event.at for site in life.sites for event in site.target.events), default=0)

    # ------------------------------------------------------------------------------------------------------- visits

    async def _visit(self) -> None:
        """Visitors come to all lives, over several connections at once."""
        clock = self.world.clock
        hour_end = (clock() // HOUR_MS + 1) * HOUR_MS
        todo = iter([(life, visit) for life in self.lives for visit in life.visits(clock())])

        async def connection() -> None:
            async with await self._connection() as stream:
                for life, visit in todo:
                    if clock() > hour_end - _BEFORE_HOUR_MS:
                        return
                    if life.waits(clock()):
                        life.since_level = life.since_level or clock()
                    visit.target.events.append(Event(clock(), visit.hit, visit.detailed))
                    self.seen.events += 1
                    await _request(stream, visit)

        async with trio.open_nursery() as nursery:
            for _ in range(_CONNECTIONS):
                nursery.start_soon(connection)
        assert clock() < hour_end, "the machine is too slow for this plan: the hour went by"

    async def _connection(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", int(self.world.emulator.edge.rsplit(":", 1)[1]))

    async def _visit_dead_ends(self, life: Life) -> None:
        for method, host, path in life.dead_ends(self.world.clock()):
            body = "/gone\n" if method == "POST" else ""
            async with await self._connection() as stream:
                met = await _ask(stream, f"{method} {path}", {"host": host}, body)
            assert not met.startswith((b"HTTP/1.1 204", b"HTTP/1.1 302")), (method, host, path, met)
            self.seen.note("dead end")

    # -------------------------------------------------------------------------------------------------------- crons

    async def _pass_time(self, before: int, here: Moment) -> None:
        """From one moment to the next: an hour's end, an hour before the next moment, right before it."""
        hour_end = (before // HOUR_MS + 1) * HOUR_MS + 4 * MINUTE_MS
        hour_before = here.at - _BEFORE_MS - _PUSHED_MS - MINUTE_MS
        if hour_end < here.at - _BEFORE_MS - 5 * MINUTE_MS:
            await self._crons(hour_end, here)
        if hour_end < hour_before - 5 * MINUTE_MS:
            await self._crons(hour_before, here.quiet())
        if before < here.at - _BEFORE_MS:
            await self._crons(here.at - _BEFORE_MS, here.quiet())

    async def _crons(self, at: int, here: Moment) -> None:
        """The platform's crons, as they would have run up to `at`, of those accounts whose crons do run."""
        await self.world.go_to(at)
        emulator = self.world.emulator
        if here.service_away:
            await emulator.fault("egress_status", "*/edge/push", times=None, status=503)
        if here.lost_answers:
            await emulator.fault("egress_drop_after", "*/edge/push", times=here.lost_answers)
        if here.lost_requests:
            await emulator.fault("egress_drop_before", "*/edge/push", times=here.lost_requests)
        if not here.well:
            self._unwell_at = at
            self.seen.note("lost pushes")

        served = [life for life in self.lives if life.connected and not life.away]
        await self._until_idle(served, at)
        await emulator.clear_faults()
        for life in served:
            self._expect(life, at)

    async def _until_idle(self, lives: Sequence[Life], at: int) -> None:
        """Run after run, of all of these at once, until there is nothing to do."""
        busy = {life.customer.account_id: life for life in lives}
        for number in range(_MOST_RUNS):
            if not busy:
                return
            fired = [(account_id, at + number * SECOND_MS) for account_id in busy]
            for done in await self.world.emulator.crons(fired, "svc-edge"):
                life = busy[done["account_id"]]
                assert done["outcome"] == "ok", f"life {life.number} ({life.account_id}): {done}"
                if done["d1_queries"] <= _IDLE_STATEMENTS:
                    del busy[done["account_id"]]
        raise AssertionError(f"the crons of life {next(iter(busy.values())).number} do not come to an end")

    def _expect(self, life: Life, at: int) -> None:
        """What must have come of crons that ran, and when."""
        life.ran_at = at
        # A push is due once an hour, or within an hour of one that failed.
        if self._unwell_at < at - _PUSHED_MS:
            sent = [until for closed_at, until in life.closed if closed_at < at - _PUSHED_MS]
            life.as_of_at_least = max(life.as_of_at_least, *sent, 0)
            if life.refused_at < at - _PUSHED_MS:
                life.incomplete_day = life.refused_at // DAY_MS
        until = (at - 4 * MINUTE_MS) // HOUR_MS * HOUR_MS
        if not life.level:
            life.closed.append((at, until))
        elif 0 < life.since_level < until and life.level_day == at // DAY_MS:
            life.refused_at = life.refused_at or at

    async def _cron(self, life: Life, at: int) -> None:
        """One run."""
        done = await self.world.emulator.cron(life.customer.account_id, "svc-edge", at=at)
        assert done["outcome"] == "ok", done

    # -------------------------------------------------------------------------------------------------------- looks

    async def _look_around(self, life: Life) -> None:
        """Some reports in the middle of a life."""
        if life.chance.random() < 0.3 or life.level_day == day_of(self.world.clock()):
            site, period = life.chance.choice(life.sites), life.chance.choice(tuple(DAYS))
            await self._check(life, site.target, period, with_breakdowns=life.chance.random() < 0.5)

    async def _look_at_all(self, life: Life) -> None:
        """All reports at the end of a life, and both lists."""
        for site in life.sites:
            for period in DAYS:
                await self._check(life, site.target, period, with_breakdowns=life.chance.random() < 0.7)
        await self._check_lists(life)

    async def _check(self, life: Life, target: Target, period: str, *, with_breakdowns: bool) -> None:
        """One report, each field of it."""
        path = f"/v1/{target.kind}s/{target.id}/report?period={period}" + ("&breakdowns=1" if with_breakdowns else "")
        now = self.world.clock()
        shown = (await self._call(life, "GET", path))["report"]
        until = None if shown["as_of"] is None else recount.moment(shown["as_of"])
        wanted: dict[str, Any] = {
            **recount.report(target, period, now, until),
            "as_of": shown["as_of"],
            "incomplete": False,
            "breakdowns": recount.breakdowns(target, period, now) if with_breakdowns and life.connected else None,
            "breakdowns_from": shown["from"] if with_breakdowns and life.connected else None,
            "unavailable": "not_installed" if with_breakdowns and not life.connected else None,
        }
        if target.kind == "site" and life.level_day == now // DAY_MS:
            # The hour may not be over yet, or its push not due.
            wanted["incomplete"] = shown["incomplete"] or life.incomplete_day == life.level_day
        assert shown == wanted, f"{path} at {now}:\n{shown}\nis not\n{wanted}"
        self._check_as_of(life, target, until, now)
        self.seen.reports += 1
        self.seen.incomplete += shown["incomplete"]
        self.seen.disconnected += not life.connected

    def _check_as_of(self, life: Life, target: Target, until: int | None, now: int) -> None:
        if target.kind == "link" and life.connected:
            assert until is not None
            assert abs(now - until) < MINUTE_MS, (until, now)
            return
        assert (until or 0) >= life.as_of_at_least, (until, life.as_of_at_least)
        assert until is None or until <= now, (until, now)
        assert until is None or until % HOUR_MS == 0 or not life.connected, until

    async def _check_lists(self, life: Life) -> None:
        """The views of the last seven closed days in both lists."""
        now = self.world.clock()
        sites = [site.target.id for site in life.alive if site.target.kind == "site"]
        if not sites:
            return  # nothing tells up to when the account's worker has sent
        as_of = (await self._call(life, "GET", f"/v1/sites/{sites[0]}/report"))["report"]["as_of"]
        until = 0 if as_of is None else recount.moment(as_of)
        for kind, number in (("site", "views_7d"), ("link", "clicks_7d")):
            own = {site.target.id: site.target for site in life.alive if site.target.kind == kind}
            listed = (await self._call(life, "GET", f"/v1/{kind}s?account_id={life.account_id}"))[f"{kind}s"]
            shown = {one["id"]: one[number] for one in listed}
            assert shown == {id_: recount.last_seven_days(target, now, until) for id_, target in own.items()}, number


async def _request(stream: trio.SocketStream, visit: Visit) -> None:
    """Send a visit and read its answer, which has no body. Raises AssertionError: it was not counted."""
    hit = visit.hit
    fields = {
        "host": visit.host,
        "user-agent": hit.user_agent,
        "x-emulator-ip": hit.address,
        "x-emulator-cf": json.dumps({"country": hit.country}),
        **dict(hit.bot.headers if hit.bot else ()),
    }
    if hit.referrer and not visit.body:
        fields["referer"] = hit.referrer
    answer = await _ask(stream, visit.line, fields, visit.body)
    assert answer.startswith(b"HTTP/1.1 204" if visit.body else b"HTTP/1.1 302"), (visit, answer)


async def _ask(stream: trio.SocketStream, line: str, fields: Mapping[str, str], body: str) -> bytes:
    """Send a request; the head of its answer. By hand, because a client library takes longer than the worker.

    Raises AssertionError when none comes.
    """
    fields = {**fields, "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    await stream.send_all(f"{line} HTTP/1.1\r\n{head}\r\n{body}".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        more = await stream.receive_some()
        assert more, f"the edge hangs up on {line}"
        answer += more
    return answer
