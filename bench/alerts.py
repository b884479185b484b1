"""Measures alerts: false alarms in a year, the delay of correct alerts, and the CPU time to check an hour's views."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, cast

import trio

from bench.figures import Row
from bench.service import ENGINES, new_config
from bench.traffic import STEADY, YEAR_FROM, YEAR_TO, Traffic
from svc.actors.context import Context
from svc.actors.service.alerts import Alerts
from svc.actors.service.unusual_hours import PAST_MS, Checked, Series, check_hour, is_suspect
from svc.clock import DAY_MS, HOUR_MS
from svc.config import Config
from svc.store import open_store
from svc.store.tx import many, sql
from tests.store.makers import a_site
from tests.store.watched import an_active_account, with_alerts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from svc.actors.service.unusual_hours import Alert
    from svc.model import AlertKind
    from svc.store.tx import Store, Tx

# The maximum time from the end of an hour until the service has checked the hour's views. A Worker pushes these views
# up to 52 minutes and 44 seconds after the hour has ended, and the service checks them within two minutes of the push.
_REPORTED_AFTER_MS = 55 * 60_000
_SITES_OF_A_KIND = 10
_CHANGES = 200
_SPIKE_HOURS = 3
_SITES, _HOURS = 1_000, 12


def alerts_of(views: Mapping[int, int], from_ms: int = YEAR_FROM, to_ms: int = YEAR_TO) -> list[Alert]:
    """Check each hour as the service does, and return the alerts about a site with these hourly views."""
    state, found = Checked(), []
    for hour in range(from_ms, to_ms, HOUR_MS):
        series = Series(views, hour - PAST_MS, hour + HOUR_MS)
        if state.lasting is not None or is_suspect(series, hour):
            state, alert = check_hour(series, hour, state)
            if alert is not None:
                found.append(alert)
    return found


def delay_ms(traffic: Traffic, kind: AlertKind, chance: random.Random, *, least: float = 0.0) -> int | None:
    """Return the time in ms between a change and its alert, or None if there is no alert.

    The time of the change is random. For a spike, the site gets ten times its usual views for three hours. For
    silence, the site gets no more views. `least`: the minimum number of usual views in each of the seven hours that
    follow the change.
    """
    while True:
        at = chance.randrange(YEAR_FROM, YEAR_TO - 7 * DAY_MS)
        if min(traffic.expected(at + hours * HOUR_MS) for hours in range(7)) >= least:
            break
    begin = at - at % HOUR_MS
    views = traffic.hours(chance, begin - begin % DAY_MS - PAST_MS, begin + DAY_MS)
    if kind == "spike":
        at = begin
        for hour in range(begin, begin + _SPIKE_HOURS * HOUR_MS, HOUR_MS):
            views[hour] = views.get(hour, 0) + round(9 * traffic.expected(hour))
    else:
        views[begin] = round(views.get(begin, 0) * (at - begin) / HOUR_MS)
        views = {hour: count for hour, count in views.items() if hour <= begin}
    for alert in alerts_of(views, begin, begin + DAY_MS):
        if alert.kind == kind:
            return alert.first + alert.hours * HOUR_MS + _REPORTED_AFTER_MS - at
    return None


async def false_alarms() -> AsyncIterator[Row]:
    """Simulate a year for several sites of each kind in `STEADY`."""
    for name, traffic in STEADY.items():
        counts: dict[AlertKind, int] = {"spike": 0, "drop": 0, "silence": 0}
        for number in range(_SITES_OF_A_KIND):
            for alert in alerts_of(traffic.hours(random.Random(f"{name} {number}"))):  # not used for secrets
                counts[alert.kind] += 1
            await trio.lowlevel.checkpoint()
        each = ", ".join(f"{kind} {count / _SITES_OF_A_KIND:g}" for kind, count in counts.items())
        yield Row(f"alerts: false alarms a year, {name}", each, "at most 1")


async def delays() -> AsyncIterator[Row]:
    """Measure how long it takes to report a tenfold spike and a missing snippet."""
    cases: tuple[tuple[AlertKind, str, float, int], ...] = (
        ("spike", "20 views an hour", 10, 2),
        ("spike", "200 views an hour", 10, 2),
        ("silence", "20 views an hour", 20, 7),
        ("silence", "200 views an hour", 20, 7),
    )
    for kind, name, least, limit_h in cases:
        chance = random.Random(name)  # not used for secrets
        found = [delay_ms(STEADY[name], kind, chance, least=least) for _ in range(_CHANGES)]
        hours = sorted(each / HOUR_MS for each in found if each is not None)
        within = sum(each <= limit_h for each in hours)
        text = f"{within} of {_CHANGES}; median {hours[len(hours) // 2]:.1f} h, at most {hours[-1]:.1f} h"
        yield Row(f"alerts: {kind} reported within {limit_h} hours, {name}", text, "all")
        await trio.lowlevel.checkpoint()


async def cpu() -> AsyncIterator[Row]:
    """Measure the check of an hour for 1,000 sites of all kinds, and a poll that finds no new hour."""
    for engine in ENGINES:
        async with new_config(engine) as config, open_store(config) as store:
            async for row in _cpu(store, engine):
                yield row


async def _cpu(store: Store, engine: str) -> AsyncIterator[Row]:
    first, last = YEAR_FROM - PAST_MS - DAY_MS, YEAR_FROM + DAY_MS
    kinds = [traffic.hours(random.Random(name), first, last) for name, traffic in STEADY.items()]  # no secret
    for number in range(_SITES):
        await store.run(_add_site(number, kinds[number % len(kinds)], first))
    none = cast("Any", None)
    context = Context(
        store=store, edge=none, vault=none, config=Config(), clock=lambda: YEAR_FROM, bundle=none, push_url=""
    )
    duty = Alerts(context)
    await store.run(_pushed(YEAR_FROM))
    await duty.check_due()
    hours: list[float] = []
    polls: list[float] = []
    for hour in range(YEAR_FROM, YEAR_FROM + _HOURS * HOUR_MS, HOUR_MS):
        await store.run(_pushed(hour + HOUR_MS))
        for times in (hours, polls):
            began = time.process_time()
            await duty.check_due()
            times.append(time.process_time() - began)
    what = f"alerts: CPU of the service for {_SITES:,} sites, {engine}"
    yield Row(f"{what}, checks of an hour", f"{1000 * sum(hours) / _HOURS:.0f} ms", "2 s")
    yield Row(f"{what}, a poll", f"{1000 * sum(polls) / _HOURS:.1f} ms", "20 ms")


def _add_site(number: int, views: Mapping[int, int], first: int) -> Tx[None]:
    account_id = yield from an_active_account()
    site_id = yield from a_site(account_id, f"s{number}.example")
    yield sql(
        "update sites set state = 'active', created_at = $2, first_view_at = $2, live_at = $2 where id = $1",
        site_id,
        first,
    )
    yield from with_alerts(account_id, site_id, recipients=[f"p{number}@example.org"])
    yield many(
        "insert into hours (target, at, views, bots, visitors, as_of, final) values ($1, $2, $3, $4, $5, $6, $7)",
        [(site_id, at, count, 0, count, at + HOUR_MS, 1) for at, count in views.items()],
    )


def _pushed(as_of: int) -> Tx[None]:
    yield sql(
        "insert into pushed (account_id, as_of) select id, cast($1 as bigint) from accounts where true"
        " on conflict (account_id) do update set as_of = excluded.as_of",
        as_of,
    )


MEASURES = (false_alarms, delays, cpu)
