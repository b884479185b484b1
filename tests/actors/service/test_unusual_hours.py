"""Sites with usual traffic rarely cause alerts, and unusual hours are reported early."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.alerts import alerts_of, delay_ms
from bench.traffic import FIRST_DAY, STEADY, YEAR_FROM
from svc.actors.service.unusual_hours import (
    MAX_ALERTS_A_DAY,
    MIN_SPIKE,
    PAST_MS,
    WEEK_MS,
    WEEKS,
    Alert,
    Checked,
    Series,
    check_hour,
    compared_hours,
    is_suspect,
)
from svc.clock import DAY_MS, HOUR_MS, day_of

pytestmark = pytest.mark.rule("Y15")

START = FIRST_DAY * DAY_MS
# A Monday at noon, after six weeks with data. The hours after this time are checked.
NOON = START + 6 * WEEK_MS + 12 * HOUR_MS


def flat(views: int, hours: int = 0) -> dict[int, int]:
    """Return six weeks, half a day and `hours` more hours, with `views` views in each hour."""
    return {START + n * HOUR_MS: views for n in range((NOON - START) // HOUR_MS + hours)}


def following(past: dict[int, int], *counts: int) -> dict[int, int]:
    return past | {NOON + n * HOUR_MS: count for n, count in enumerate(counts) if count}


def checked(views: dict[int, int], hours: int, **more: object) -> list[Alert]:
    """Return the alerts in the hours after noon."""
    state, found = Checked(), []
    for hour in range(NOON, NOON + hours * HOUR_MS, HOUR_MS):
        series = replace(Series(views, START, hour + HOUR_MS), **more)  # type: ignore[arg-type]
        state, alert = check_hour(series, hour, state)
        found += [] if alert is None else [alert]
    return found


@pytest.mark.parametrize("name", STEADY)
def test_steady_site_has_at_most_one_false_alarm_a_year(name: str) -> None:
    assert len(alerts_of(STEADY[name].hours(random.Random(f"{name} 0")))) <= 1


@pytest.mark.parametrize("name", ["20 views an hour", "200 views an hour"])
def test_tenfold_spike_is_reported_within_two_hours(name: str) -> None:
    chance = random.Random(f"spike {name}")
    found = [delay_ms(STEADY[name], "spike", chance, least=10) for _ in range(20)]
    assert all(each is not None and each <= 2 * HOUR_MS for each in found), found


@pytest.mark.parametrize("name", ["20 views an hour", "200 views an hour"])
def test_missing_snippet_is_reported_within_seven_hours(name: str) -> None:
    chance = random.Random(f"silence {name}")
    found = [delay_ms(STEADY[name], "silence", chance, least=20) for _ in range(20)]
    assert all(each is not None and each <= 7 * HOUR_MS for each in found), found


def test_spike_states_what_is_usual() -> None:
    assert checked(following(flat(20), 400), 1) == [Alert("spike", NOON, 1, 400, 20)]


@pytest.mark.parametrize(("usual", "views"), [(20, 59), (1, MIN_SPIKE - 1), (1_000, 2_999)])
def test_smaller_increase_is_no_spike(usual: int, views: int) -> None:
    assert checked(following(flat(usual), views), 1) == []


def test_silence_is_reported_after_the_views_that_are_missing() -> None:
    assert checked(flat(5), 10) == [Alert("silence", NOON, 8, 0, 40)]
    assert checked(flat(500), 8) == [Alert("silence", NOON, 3, 0, 1_500)]
    assert checked(flat(1), 71) == [Alert("silence", NOON, 36, 0, 36)]


def test_site_without_minimum_volume_is_never_silent() -> None:
    few = {hour: 1 for hour in flat(1) if hour // HOUR_MS % 24 == 9}
    assert checked(few, 100) == []


def test_drop_has_views_in_the_last_hour() -> None:
    [alert] = checked(following(flat(500), *[20] * 8), 8)
    assert alert == Alert("drop", NOON, 3, 60, 1_500)
    assert checked(following(flat(500), *[250] * 8), 8) == []


def test_silence_after_a_drop_is_reported_once_and_a_drop_after_silence_is_not() -> None:
    drop_first = following(flat(500), 20, 20, 20, *[0] * 6)
    assert [alert.kind for alert in checked(drop_first, 9)] == ["drop", "silence"]
    silence_first = following(flat(500), 0, 0, 0, 0, *[20] * 6)
    assert [alert.kind for alert in checked(silence_first, 10)] == ["silence"]


def test_condition_that_lasts_is_not_repeated() -> None:
    assert len(checked(flat(500), 30 * 24)) == 1
    assert len(checked(following(flat(20), *[400] * 24 * 7), 24 * 7)) == 1
    # A few views by the owner of the site must not count as the end of the silence.
    owner = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0]
    assert len(checked(following(flat(500), *owner), len(owner))) == 1


def test_condition_that_has_ended_can_be_reported_again() -> None:
    silence = [0, 0, 0, 500, 500, 500, 0, 0, 0]
    assert [alert.kind for alert in checked(following(flat(500), *silence), 9)] == ["silence", "silence"]
    spikes = [400, *[20] * 6, 400]
    assert [alert.kind for alert in checked(following(flat(20), *spikes), 8)] == ["spike", "spike"]


def test_at_most_two_alerts_a_day() -> None:
    days = [0, 0, 0, 500, 500, 500] * 4 * 3
    alerts = checked(following(flat(500), *days), len(days))
    by_day = [day_of(alert.first + (alert.hours - 1) * HOUR_MS) for alert in alerts]
    assert len(alerts) > MAX_ALERTS_A_DAY
    assert max(map(by_day.count, by_day)) == MAX_ALERTS_A_DAY


def test_site_younger_than_five_weeks_has_no_alerts() -> None:
    silent, spike = flat(500), following(flat(20), 2_000)
    young = NOON - WEEKS * WEEK_MS + HOUR_MS
    assert checked(silent, 1, first=young) == checked(spike, 1, first=young) == []
    assert checked(spike, 1, first=young - HOUR_MS) != []
    assert checked(silent, 3, first=young - HOUR_MS) != []


def test_unknown_hours_raise_no_alert() -> None:
    spike = following(flat(20), 2_000)
    assert checked(spike, 1, unknown=frozenset({NOON})) == []
    assert checked(flat(500), 5, unknown=frozenset({NOON + 2 * HOUR_MS})) == []
    # Two of the five compared hours may be unknown.
    weeks = [NOON - n * WEEK_MS for n in range(1, 4)]
    assert checked(spike, 1, unknown=frozenset(weeks[:2])) != []
    assert checked(spike, 1, unknown=frozenset(weeks)) == []


def test_too_few_views_are_found_only_in_hours_that_were_sent_in_time() -> None:
    assert checked(flat(500), 5, low_from=NOON + 3 * HOUR_MS) == []
    assert [alert.first for alert in checked(flat(500), 6, low_from=NOON + 3 * HOUR_MS)] == [NOON + 3 * HOUR_MS]
    assert len(checked(following(flat(20), 2_000), 1, low_from=NOON + DAY_MS)) == 1


def test_earlier_spike_does_not_hide_the_next_one() -> None:
    past = flat(20)
    past[NOON - WEEK_MS] = past[NOON - 2 * WEEK_MS] = 5_000
    assert [alert.kind for alert in checked(following(past, 400), 1)] == ["spike"]


def test_clock_change_is_no_spike_and_no_drop() -> None:
    """The traffic of a whole day moves by an hour, first to an earlier and then to a later time."""
    shape = [2, 2, 2, 2, 2, 5, 40, 400, *[500] * 10, 400, 40, 5, 2, 2, 2]
    for shift in (1, -1):
        past = {hour: shape[hour // HOUR_MS % 24] for hour in flat(1)}
        later = [shape[((NOON // HOUR_MS) + n + shift) % 24] for n in range(24 * 7)]
        assert checked(following(past, *later), len(later)) == []


def test_holiday_like_a_quiet_weekday_is_no_drop() -> None:
    past = {hour: 20 if (hour // DAY_MS - FIRST_DAY) % 7 in (5, 6) else 300 for hour in flat(1)}
    assert checked(following(past, *[20] * 12), 12) == []


@given(st.data())
def test_quick_check_misses_no_alert(data: st.DataObject) -> None:
    """Whenever `check_hour` finds an alert, the quick check `is_suspect` must return True. `is_suspect` gets only the
    hours that it needs.
    """
    chance = random.Random(data.draw(st.integers(0, 10**9)))
    traffic = STEADY[data.draw(st.sampled_from(sorted(STEADY)))]
    end = YEAR_FROM + chance.randrange(365) * DAY_MS
    views = traffic.hours(chance, end - PAST_MS - DAY_MS, end)
    factor = data.draw(st.sampled_from([0, 0, 0.02, 0.1, 5, 20]))
    begin = end - chance.randrange(1, 72) * HOUR_MS
    views = {hour: round(count * factor) if hour >= begin else count for hour, count in views.items()}
    low_from = begin if data.draw(st.booleans()) else 0
    for hour in range(begin, end, HOUR_MS):
        series = Series(views, hour - PAST_MS, hour + HOUR_MS, low_from=low_from)
        if check_hour(series, hour, Checked())[1] is not None:
            needed = {each: views[each] for each in compared_hours(hour) if each in views}
            assert is_suspect(replace(series, views=needed), hour)


@given(st.data())
def test_alerts_state_true_counts(data: st.DataObject) -> None:
    chance = random.Random(data.draw(st.integers(0, 10**9)))
    counts = data.draw(st.lists(st.sampled_from([0, 1, 30, 400, 10_000]), min_size=1, max_size=60))
    views = following({hour: chance.randrange(60) for hour in flat(1)}, *counts)
    alerts = checked(views, len(counts))
    for alert in alerts:
        hours = range(alert.first, alert.first + alert.hours * HOUR_MS, HOUR_MS)
        assert alert.views == sum(views.get(hour, 0) for hour in hours)
        assert (alert.views == 0) == (alert.kind == "silence")
        assert alert.views > alert.usual if alert.kind == "spike" else alert.views < alert.usual / 2
