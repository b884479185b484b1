"""Tests of stored totals. A push contains totals and not increments, so the result does not depend on the order of
pushes, or on whether a push is repeated.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge_worker.harness.sampling import EVERYTHING
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.model import Counts
from svc.store import open_store, sites, totals
from svc.store.totals import Ingested, ingest
from svc.worker.pushed import CountRow, PushedHour, PushedPart
from tests.cases import cases
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, an_account, new_site, owner_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.store.tx import Tx

TODAY = day_of(START_MS)
MIDNIGHT = TODAY * DAY_MS


def row(target: str, counts: Counts) -> CountRow:
    return target, counts.views, counts.bots, counts.visitors


def part(
    number: int = 1,
    *,
    day: int = TODAY,
    hours: int = 4,
    final: bool = False,
    counts: Mapping[str, Counts] = MappingProxyType({}),
    hourly: Mapping[int, Mapping[str, Counts]] = MappingProxyType({}),
    refused: Sequence[int] = (),
) -> PushedPart:
    """Return a part with the counts up to the start of hour `hours`.

    `counts`: {target: Counts}. `hourly`: {hour: {target: Counts}}.
    """
    return PushedPart(
        id=number,
        day=day,
        as_of=day * DAY_MS + hours * HOUR_MS,
        final=final,
        hours=tuple(
            PushedHour(day * DAY_MS + hour * HOUR_MS, tuple(row(*each) for each in rows.items()))
            for hour, rows in hourly.items()
        ),
        refused_hours=tuple(day * DAY_MS + hour * HOUR_MS for hour in refused),
        days=tuple(row(*each) for each in counts.items()),
    )


def everything(account_id: str, target: str) -> Tx[tuple[object, ...]]:
    """Return everything that is stored about a target and its account."""
    days = yield from totals.day_counts(target, TODAY - 100, TODAY + 100)
    hours = yield from totals.hour_counts(target, 0, MIDNIGHT + 100 * DAY_MS)
    as_of = yield from totals.pushed_as_of(account_id)
    final = yield from totals.final_days(account_id, TODAY - 100, TODAY + 100)
    refused = yield from totals.refused_hours(account_id, 0, MIDNIGHT + 100 * DAY_MS)
    return days, hours, as_of, final, refused


async def test_push_is_stored(store):
    account_id = await store.run(an_account())
    site, link = await store.run(a_site(account_id)), await store.run(a_link(account_id))
    pushed = part(
        counts={site: Counts(12, 3, 7), link: Counts(2, 1, 2)},
        hourly={2: {site: Counts(5, 1, 4)}, 3: {site: Counts(7, 2, 5), link: Counts(2, 1, 2)}},
        refused=(1,),
    )
    assert await store.run(ingest(account_id, [pushed], START_MS)) == Ingested((1,), (), ())
    as_of = MIDNIGHT + 4 * HOUR_MS
    assert await store.read(everything(account_id, site)) == (
        {TODAY: (Counts(12, 3, 7), as_of, False)},
        [(MIDNIGHT + 2 * HOUR_MS, Counts(5, 1, 4)), (MIDNIGHT + 3 * HOUR_MS, Counts(7, 2, 5))],
        as_of,
        set(),
        [MIDNIGHT + HOUR_MS],
    )
    assert await store.read(totals.day_counts(link, TODAY, TODAY)) == {TODAY: (Counts(2, 1, 2), as_of, False)}


@pytest.mark.rule("W3")
async def test_repeated_push_changes_nothing(store):
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    pushed = [
        part(1, day=TODAY - 1, hours=24, final=True, counts={site: Counts(30, 1, 9)}),
        part(2, counts={site: Counts(12, 3, 7)}, hourly={3: {site: Counts(7, 2, 5)}}, refused=(1,)),
    ]
    first = await store.run(ingest(account_id, pushed, START_MS))
    stored = await store.read(everything(account_id, site))
    again = await store.run(ingest(account_id, pushed, START_MS + 60_000))
    assert first == again == Ingested((1, 2), (), ())
    assert await store.read(everything(account_id, site)) == stored
    assert stored[3] == {TODAY - 1}


@pytest.mark.rule("W3")
async def test_concurrent_identical_pushes_are_stored_once(store):
    account_id = await store.run(an_account())
    targets = [await store.run(a_link(account_id, f"code{number}")) for number in range(20)]
    pushes = [
        part(counts={target: Counts(12, 3, 7) for target in order}, hourly={3: {t: Counts(7, 2, 5) for t in order}})
        for order in (targets, targets[::-1])
    ]
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            for pushed in pushes:
                nursery.start_soon(store.run, ingest(account_id, [pushed], START_MS))
    for target in targets:
        days = await store.read(totals.day_counts(target, TODAY, TODAY))
        assert days[TODAY][0] == Counts(12, 3, 7)


async def test_older_part_does_not_lower_stored_counts(store):
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    newer = part(2, hours=4, counts={site: Counts(12, 3, 7)}, hourly={1: {site: Counts(4, 1, 3)}})
    older = part(1, hours=2, counts={site: Counts(5, 1, 4)}, hourly={1: {site: Counts(3, 1, 3)}, 0: {site: Counts(1)}})
    for pushed in (newer, older):
        assert (await store.run(ingest(account_id, [pushed], START_MS))).accepted == (pushed.id,)
    days, hours, as_of, _, _ = await store.read(everything(account_id, site))
    assert days == {TODAY: (Counts(12, 3, 7), newer.as_of, False)}
    assert hours == [(MIDNIGHT, Counts(1)), (MIDNIGHT + HOUR_MS, Counts(4, 1, 3))]
    assert as_of == newer.as_of


async def test_final_part_wins_and_late_hours_still_count(store):
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    yesterday = TODAY - 1
    open_part = part(1, day=yesterday, hours=24, counts={site: Counts(30, 1, 9)})
    final = part(
        2, day=yesterday, hours=24, final=True, counts={site: Counts(31, 1, 9)}, hourly={23: {site: Counts(2)}}
    )
    for pushed in (final, open_part):
        await store.run(ingest(account_id, [pushed], START_MS))
    late_hour = part(3, day=yesterday, hours=23, hourly={22: {site: Counts(9)}})
    await store.run(ingest(account_id, [late_hour], START_MS))
    days, hours, _, final_days, _ = await store.read(everything(account_id, site))
    assert days == {yesterday: (Counts(31, 1, 9), MIDNIGHT, True)}
    assert [counts for _, counts in hours] == [Counts(9), Counts(2)]
    assert final_days == {yesterday}


async def test_newer_part_may_have_lower_counts(store):
    """The counts can be lower if the Worker's database was recreated, and are correct in this case."""
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    await store.run(ingest(account_id, [part(1, hours=2, counts={site: Counts(50)})], START_MS))
    await store.run(ingest(account_id, [part(1, hours=3, counts={site: Counts(2)})], START_MS))
    assert (await store.read(totals.day_counts(site, TODAY, TODAY)))[TODAY][0] == Counts(2)


async def test_targets_of_other_accounts_are_skipped_and_listed(store):
    account_id, stranger = await store.run(an_account()), await store.run(an_account())
    mine, foreign = await store.run(a_site(account_id)), await store.run(a_site(stranger))
    counts = {mine: Counts(1), foreign: Counts(2), "lnk_nowhere": Counts(3), "nonsense": Counts(4)}
    ingested = await store.run(ingest(account_id, [part(counts=counts, hourly={1: counts})], START_MS))
    assert ingested == Ingested((1,), (), tuple(sorted([foreign, "lnk_nowhere", "nonsense"])))
    assert (await store.read(totals.day_counts(mine, TODAY, TODAY)))[TODAY][0] == Counts(1)
    for other in (foreign, "lnk_nowhere", "nonsense"):
        assert await store.read(totals.day_counts(other, TODAY, TODAY)) == {}
        assert await store.read(totals.hour_counts(other, 0, START_MS)) == []


@pytest.mark.rule("W3")
async def test_batch_of_pushes_equals_single_pushes(store):
    pushes: list[tuple[str, list[PushedPart]]] = []
    targets: list[tuple[str, str, str]] = []
    for number in range(4):
        account_id = await store.run(an_account())
        site, link = await store.run(a_site(account_id)), await store.run(a_link(account_id))
        foreign = targets[0][1] if targets else "site_nobodys"
        targets.append((account_id, site, link))
        counts = {site: Counts(number + 1), link: Counts(2), foreign: Counts(9)}
        closed = part(1, day=TODAY - 1, hours=24, final=True, counts=counts)
        pushes.append((account_id, [closed, part(2, counts=counts, hourly={1: counts, 2: counts}, refused=(number,))]))
        pushes.append(
            (account_id, [part(3, day=TODAY - 60), part(4, hours=5), part(5, hours=1, counts={site: Counts(7)})])
        )
    together = await store.run(totals.ingest_all(pushes, START_MS))
    stored = [await store.read(everything(account_id, target)) for account_id, *own in targets for target in own]
    assert [len(kept.accepted) for kept in together] == [2, 1] * 4
    assert together[0].unknown_targets == ("site_nobodys",)
    assert together[2].unknown_targets == (targets[0][1],)
    one_by_one = [await store.run(ingest(*push, START_MS)) for push in pushes]
    assert one_by_one == together
    assert [await store.read(everything(a, target)) for a, *own in targets for target in own] == stored


@pytest.mark.rule("W4")
async def test_very_many_unknown_targets_are_listed_and_not_stored(store):
    account_id = await store.run(an_account())
    made_up = [f"{'site' if number % 2 else 'lnk'}_{number}" for number in range(70_000)]
    ingested = await store.run(ingest(account_id, [part(counts=dict.fromkeys(made_up, Counts(1)))], START_MS))
    assert (ingested.accepted, len(ingested.unknown_targets)) == ((1,), 70_000)
    assert await store.read(totals.day_counts(made_up[0], TODAY, TODAY)) == {}


@pytest.mark.rule("W4")
@cases(
    ("wrong", "code"),
    [
        (part(day=TODAY - 38, hours=24), "too_old"),
        (part(hours=3, hourly={3: {}}), "invalid"),  # when this part was created, the hour had not ended
        (replace(part(), as_of=MIDNIGHT - 1), "invalid"),
        (replace(part(day=TODAY - 1), as_of=MIDNIGHT + 1), "invalid"),
        (part(hourly={24: {}}), "invalid"),
        (part(hourly={-1: {}}), "invalid"),
        (part(refused=(24,)), "invalid"),
        (replace(part(), hours=(PushedHour(MIDNIGHT + 1, ()),)), "invalid"),
        (replace(part(), refused_hours=(MIDNIGHT + 30,)), "invalid"),
    ],
)
async def test_invalid_part_is_refused_and_the_others_are_accepted(store, wrong, code):
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    wrong = replace(wrong, id=7, days=(row(site, Counts(1_000)),))
    good = part(8, counts={site: Counts(1)})
    ingested = await store.run(ingest(account_id, [wrong, good], START_MS))
    assert ingested == Ingested((8,), ((7, code),), ())
    days, _, as_of, _, _ = await store.read(everything(account_id, site))
    assert days == {TODAY: (Counts(1), good.as_of, False)}
    assert as_of == good.as_of


@cases(
    "fine",
    [
        part(day=TODAY - 37, hours=24),
        replace(part(), as_of=START_MS + totals.EARLY_MS),
        part(hours=4, refused=(4,)),
        part(hours=0),
        part(day=TODAY - 1),
    ],
)
async def test_part_at_the_limits_is_accepted(store, fine):
    account_id = await store.run(an_account())
    assert (await store.run(ingest(account_id, [fine], START_MS))).accepted == (1,)


@pytest.mark.rule("W3")
@cases("early", [part(hours=5), part(hours=24, final=True), part(refused=(5,)), part(day=TODAY + 1)])
async def test_part_from_the_future_stays_in_the_workers_queue(store, early):
    """If the service's clock is slow, a part may seem to come from the future.

    The service neither stores nor acknowledges the part, so the Worker keeps it and sends it again.
    """
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    early = replace(early, id=7, days=(row(site, Counts(1_000)),))
    good = part(8, counts={site: Counts(1)})
    assert await store.run(ingest(account_id, [early, good], START_MS)) == Ingested((8,), (), ())
    assert (await store.read(everything(account_id, site)))[0] == {TODAY: (Counts(1), good.as_of, False)}
    later = await store.run(ingest(account_id, [early], START_MS + 2 * DAY_MS))
    assert later.accepted == (7,)


@pytest.mark.rule("R2")
async def test_nothing_is_known_before_the_first_part(store):
    account_id = await store.run(an_account())
    assert await store.run(ingest(account_id, [], START_MS)) == Ingested((), (), ())
    assert await store.read(totals.pushed_as_of(account_id)) is None


async def test_ranges_of_days_and_hours(store):
    account_id = await store.run(an_account())
    site = await store.run(a_site(account_id))
    for day in range(TODAY - 3, TODAY):
        whole = {hour: {site: Counts(hour + 1)} for hour in range(24)}
        pushed = part(day=day, hours=24, final=True, counts={site: Counts(day)}, hourly=whole, refused=(0, 23))
        await store.run(ingest(account_id, [pushed], START_MS))
    assert sorted(await store.read(totals.day_counts(site, TODAY - 2, TODAY - 1))) == [TODAY - 2, TODAY - 1]
    assert await store.read(totals.final_days(account_id, TODAY - 2, TODAY)) == {TODAY - 2, TODAY - 1}
    hours = await store.read(totals.hour_counts(site, MIDNIGHT - DAY_MS, MIDNIGHT))
    assert [at for at, _ in hours] == list(range(MIDNIGHT - DAY_MS, MIDNIGHT, HOUR_MS))
    refused = await store.read(totals.refused_hours(account_id, MIDNIGHT - DAY_MS, MIDNIGHT))
    assert refused == [MIDNIGHT - DAY_MS, MIDNIGHT - HOUR_MS]


_steps = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2), st.booleans()), min_size=1, max_size=9
)


def _history(steps: list[tuple[int, int, int, bool]], targets: list[str]) -> list[PushedPart]:
    """Return the parts that a Worker pushes while its counters grow.

    Each step closes an hour of yesterday or of today.
    """
    history = []
    day_sums: dict[tuple[int, str], Counts] = {}
    hour_sums: dict[tuple[int, str], Counts] = {}
    for number, (which, views, bots, named) in enumerate(steps):
        day, hour = TODAY - 1 + number // 5, 18 + number if number < 5 else number - 5
        target = targets[which % len(targets)]
        at = day * DAY_MS + min(hour, 23) * HOUR_MS
        more = Counts(views, bots, min(views, 1))
        day_sums[day, target] = day_sums.get((day, target), Counts()) + more
        hour_sums[at, target] = hour_sums.get((at, target), Counts()) + more
        rows = [row for row in day_sums if row[0] == day and (named or row[1] == target)]
        history.append(
            PushedPart(
                id=number,
                day=day,
                as_of=at + HOUR_MS,
                final=False,
                hours=(PushedHour(at, (row(target, hour_sums[at, target]),)),),
                refused_hours=(at,) if bots == 2 else (),
                days=tuple(row(name, day_sums[day, name]) for day, name in rows),
            )
        )
    last = [row for row in day_sums if row[0] == TODAY - 1]
    history.append(
        PushedPart(99, TODAY - 1, MIDNIGHT, True, (), (), tuple(row(each[1], day_sums[each]) for each in last))
    )
    return history


@pytest.mark.rule("W3")
@settings(max_examples=30 if EVERYTHING else 8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_steps, shuffle=st.randoms(use_true_random=False), copies=st.integers(1, 3), grouped=st.integers(1, 4))
def test_any_order_and_repetition_of_pushes_gives_the_same_totals(store_config, steps, shuffle, copies, grouped):
    async def main():
        async with open_store(store_config) as store:
            outcomes = []
            for mixed in (False, True):
                account_id = await store.run(an_account())
                targets = [await store.run(a_link(account_id, f"code{number}")) for number in range(3)]
                parts = _history(steps, targets) * (copies if mixed else 1)
                if mixed:
                    shuffle.shuffle(parts)
                for first in range(0, len(parts), grouped):
                    ingested = await store.run(ingest(account_id, parts[first : first + grouped], START_MS))
                    assert (ingested.refused, ingested.unknown_targets) == ((), ())
                outcomes.append([await store.read(everything(account_id, target)) for target in targets])
            assert outcomes[0] == outcomes[1]
            assert any(days for days, *_ in outcomes[0])

    trio.run(main)


async def first_view(store, account_id, site_id, *parts):
    """Push the parts, and return the time of the site's first view."""
    await store.run(ingest(account_id, parts, START_MS))
    user_id = await store.read(owner_of(account_id))
    return (await store.read(sites.get_site(user_id, site_id))).first_view_at


@pytest.mark.rule("W3")
async def test_first_view_is_in_the_earliest_hour_regardless_of_order(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    made_at = MIDNIGHT + HOUR_MS + 1_800_000
    site = (await store.run(sites.add_site(new_site(user_id, account_id, at=made_at), 9))).id
    other = await store.run(a_site(account_id, "other.example.com"))
    seen, bots = Counts(2, 0, 1), Counts(0, 5, 0)
    for hour, counts, expected in (
        (2, bots, None),
        (3, seen, MIDNIGHT + 3 * HOUR_MS),
        (3, seen, MIDNIGHT + 3 * HOUR_MS),
        (2, seen, MIDNIGHT + 2 * HOUR_MS),
        (3, Counts(9, 0, 1), MIDNIGHT + 2 * HOUR_MS),
        (1, seen, made_at),
    ):
        pushed = part(counts={site: counts}, hourly={hour: {site: counts, other: bots}})
        assert await first_view(store, account_id, site, pushed) == expected
    assert await first_view(store, account_id, site, part(hours=24, day=TODAY - 1, final=True)) == made_at
    assert await first_view(store, account_id, other) is None


@pytest.mark.rule("W3")
async def test_first_view_of_a_day_without_hours_is_its_start(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    site = (await store.run(sites.add_site(new_site(user_id, account_id, at=MIDNIGHT - 9 * DAY_MS), 9))).id
    seen = {site: Counts(2, 0, 1)}
    late = part(1, day=TODAY - 1, hours=24, counts=seen, hourly={7: seen})
    again = part(2, day=TODAY - 1, hours=24, counts=seen, final=True)
    at_seven = MIDNIGHT - 17 * HOUR_MS
    assert await first_view(store, account_id, site, late, again) == at_seven
    assert await first_view(store, account_id, site, again) == at_seven
    before = part(3, day=TODAY - 3, hours=24, counts=seen, final=True)
    assert await first_view(store, account_id, site, before, late) == MIDNIGHT - 3 * DAY_MS
