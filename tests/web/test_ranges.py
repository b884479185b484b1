"""Tests of the periods of a report: their choice, steps, comparison and URLs, with a site that has years of history."""

from __future__ import annotations

import csv
import io
import random
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import environment
from tests.web.browser import HEIGHT, THEMES, close, new_context, sign_in, signed_in_tab
from tests.web.places import EMAIL, ROOT, open_furnished
from tests.web.visit import LOCALES, Visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page, Route

    from tests.web.places import Place

HISTORY_DAYS = 1_200
# The last imported day is two days ago. The site was added today, but its views are two hours old, so they may be from
# yesterday.
LAST_IMPORTED_AGO = 2


def views_of(day: date) -> int:
    """Return the imported views of a day. Each day of a month has a different number."""
    return 100 * day.month + day.day


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service whose site has three years of imported totals."""
    with open_furnished(tmp_path_factory.mktemp("history") / "svc") as place:
        first = today() - timedelta(HISTORY_DAYS)
        days = [first + timedelta(number) for number in range(HISTORY_DAYS - LAST_IMPORTED_AGO + 1)]
        rows = [f"{day},{views_of(day)},{day.day},1" for day in days]
        file = place.folder / "history.csv"
        file.write_text("\n".join(["day,views,visitors,bots", *rows]))
        command = ["-m", "svc", "import", "totals", str(file), "--site", "shop.example", "--user", EMAIL, "--apply"]
        subprocess.run([sys.executable, *command], cwd=ROOT, env=environment(place.folder, {}), check=True)
        yield place


@pytest.fixture
def tab(browser: Browser, history: Place) -> Iterator[Page]:
    with signed_in_tab(browser, history) as opened:
        yield opened


@pytest.fixture
def show(tab: Page, history: Place) -> Callable[[str], None]:
    """A function that opens the site's report with a query, and waits until the report is shown."""

    def shown(query: str) -> None:
        tab.goto(history.at("/sites/:id") + query)
        tab.locator(".range").wait_for()
        tab.locator(".totals, .note.bad").first.wait_for()

    return shown


def today() -> date:
    return datetime.now(UTC).date()


def month_before(day: date) -> tuple[date, date]:
    last = day.replace(day=1) - timedelta(1)
    return last.replace(day=1), last


def sum_of(first: date, last: date) -> int:
    return sum(views_of(first + timedelta(number)) for number in range((last - first).days + 1))


def days_text(text: str) -> str:
    """Return the text with the kind of dash and spaces that browsers use to format a range of dates."""
    return text.replace(" - ", "\u2009\u2013\u2009")


def panel(tab: Page) -> None:
    tab.locator(".range-period button[aria-expanded]").click()


def test_last_month_and_its_comparison_have_the_imported_numbers(tab: Page, show: Callable[[str], None]) -> None:
    first, last = month_before(today())
    earlier = month_before(first)
    show("?period=last_month")
    if last >= today() - timedelta(LAST_IMPORTED_AGO):
        first, last = earlier
        tab.get_by_role("button", name="Earlier").click()
    expect(tab.locator(".totals .views .figure")).to_have_text(f"{sum_of(first, last):,}")
    assert tab.locator(".plot rect.views").count() == last.day
    assert tab.locator(".plot path.before").count() == 1


def test_any_days_are_chosen_by_keyboard_only(tab: Page, show: Callable[[str], None]) -> None:
    show("")
    button = tab.get_by_role("button", name="Other period")
    button.focus()
    tab.keyboard.press("Enter")
    dialog = tab.get_by_role("dialog", name="Other period")
    dialog.wait_for()
    tab.keyboard.press("Escape")
    expect(button).to_be_focused()
    tab.keyboard.press("Enter")
    dialog.get_by_label("From (UTC)").focus()
    tab.keyboard.type("03292025")
    dialog.get_by_label("To (UTC)").focus()
    tab.keyboard.type("04022025")
    # An arrow key changes one part of the date, such as the month.
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**?from=2025-03-29&to=2025-04-01")
    expect(tab.locator(".plot rect.views")).to_have_count(4)
    expect(tab.locator(".totals .views .figure")).to_have_text(f"{sum_of(date(2025, 3, 29), date(2025, 4, 1)):,}")
    expect(dialog).to_have_count(0)


def test_presets_and_shortcuts_have_addresses_and_work_back_and_forward(tab: Page, show: Callable[[str], None]) -> None:
    show("?bots=on")
    panel(tab)
    tab.get_by_role("link", name="12 months").click()
    tab.wait_for_url("**?bots=on&period=12mo")
    expect(tab.locator(".plot g > rect.views")).to_have_count(12)
    expect(tab.get_by_role("button", name="12 months")).to_be_visible()
    tab.keyboard.press("a")
    tab.wait_for_url("**?bots=on&period=all")
    expect(tab.get_by_label("Compare with")).to_have_count(0)
    tab.keyboard.press("y")
    tab.wait_for_url("**?bots=on&period=year")
    tab.get_by_label("By", exact=True).select_option("Week")
    tab.wait_for_url("**?bots=on&period=year&by=week")
    tab.get_by_label("Compare with").select_option("Previous year")
    tab.wait_for_url("**&compare=year")
    expect(tab.locator(".legend").get_by_role("button", name="Previous year")).to_be_visible()
    for query in ("period=year&by=week", "period=year", "period=all", "period=12mo"):
        tab.go_back()
        tab.wait_for_url(f"**?bots=on&{query}")
    expect(tab.locator(".plot g > rect.views")).to_have_count(12)
    for query in ("period=all", "period=year", "period=year&by=week", "period=year&by=week&compare=year"):
        tab.go_forward()
        tab.wait_for_url(f"**?bots=on&{query}")
    tab.reload()
    expect(tab.get_by_label("By", exact=True)).to_have_value("week")
    expect(tab.get_by_label("Compare with")).to_have_value("year")


def test_months_step_over_the_end_of_a_year_and_a_leap_day(tab: Page, show: Callable[[str], None]) -> None:
    show("?from=2025-01-01&to=2025-01-31")
    previous = tab.get_by_role("button", name="Earlier")
    following = tab.get_by_role("button", name="Later", exact=True)
    expect(tab.locator(".range").get_by_role("button", name="Jan 2025")).to_be_visible()
    previous.click()
    tab.wait_for_url("**?from=2024-12-01&to=2024-12-31")
    expect(tab.locator(".totals .views .figure")).to_have_text(f"{sum_of(date(2024, 12, 1), date(2024, 12, 31)):,}")
    expect(tab.locator(".report")).to_contain_text(days_text("Compared with Nov 1 - 30, 2024."))
    following.click()
    tab.wait_for_url("**?from=2025-01-01&to=2025-01-31")
    tab.go_back()
    tab.wait_for_url("**?from=2024-12-01&to=2024-12-31")
    show("?from=2024-03-01&to=2024-03-31")
    tab.keyboard.press("p")
    tab.wait_for_url("**?from=2024-02-01&to=2024-02-29")
    tab.keyboard.press("n")
    tab.wait_for_url("**?from=2024-03-01&to=2024-03-31")
    show("?period=month")
    expect(following).to_have_attribute("aria-disabled", "true")
    tab.keyboard.press("n")
    previous.click()
    first, last = month_before(today())
    tab.wait_for_url(f"**?from={first}&to={last}")
    following.click()
    tab.wait_for_url("**?period=month")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("?period=foo", "Period: Select one of the available values."),
        ("?from=2026-02-30", "From: Enter a date such as 2026-11-21."),
        ("?from=2999-01-01", "From: Enter today or an earlier day."),
        ("?from=2026-01-02&to=2026-01-01", "To: Enter a later end date or time."),
        ("?period=7d&from=2026-01-02", "Period: This value cannot be combined with the other values."),
        (
            "?period=year&by=hour",
            "By: Hourly counts for these days are no longer stored. Select another interval or more recent days.",
        ),
        ("?from=2016-01-01&by=day", "By: Select a longer interval. The chart would have more than 1200 points."),
        ("?compare=foo", "Compare with: Select one of the available values."),
        ("?from=0001-01-01", "From: Enter a later first day. A report covers at most 100 years."),
    ],
)
def test_invalid_address_says_why_and_leads_back(tab: Page, show: Callable[[str], None], query: str, text: str) -> None:
    if query == "?period=year&by=hour" and today().timetuple().tm_yday <= 39:
        query = "?period=12mo&by=hour"
    show(query + "&bots=on&unknown=1")
    problem = tab.get_by_role("alert")
    expect(problem).to_contain_text("This period cannot be shown.")
    expect(problem.get_by_role("listitem")).to_have_text([text])
    assert tab.locator(".report .note").count() == 1
    problem.get_by_role("link", name="Show the last 7 days").click()
    tab.wait_for_url("**?bots=on&unknown=1")
    expect(tab.locator(".plot g > rect.views")).to_have_count(7)
    tab.go_back()
    expect(problem).to_contain_text("This period cannot be shown.")


def test_invalid_address_is_explained_in_german(browser: Browser, history: Place) -> None:
    with signed_in_tab(browser, history, locale="de-DE") as tab:
        tab.goto(history.at("/sites/:id") + "?from=2026-01-02&to=2026-01-01")
        problem = tab.get_by_role("alert")
        expect(problem).to_contain_text("Dieser Zeitraum kann nicht angezeigt werden.")
        expect(problem).to_contain_text("Bis: Wählen Sie ein späteres Ende.")
        problem.get_by_role("link", name="Die letzten 7 Tage anzeigen").click()
        expect(tab.locator(".plot g > rect.views")).to_have_count(7)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Pacific/Apia"])
def test_days_are_utc_days_over_a_change_of_the_clocks(browser: Browser, history: Place, zone: str) -> None:
    """In 2025, the clocks in Berlin changed on March 30 and October 26, and in New York on March 9 and November 2."""
    with signed_in_tab(browser, history, timezone_id=zone) as tab:
        for first, last in (("2025-03-08", "2025-03-31"), ("2025-10-25", "2025-11-03")):
            tab.goto(history.at("/sites/:id") + f"?from={first}&to={last}")
            tab.get_by_text("Show as table").click()
            rows = tab.locator(".figures tbody tr")
            start = date.fromisoformat(first)
            expected = [start + timedelta(number) for number in range((date.fromisoformat(last) - start).days + 1)]
            expect(rows).to_have_count(len(expected))
            assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [
                [f"{day:%b} {day.day}, {day.year}", f"{views_of(day):,}"] for day in expected
            ]


def test_page_does_not_move_when_the_lists_appear(tab: Page, show: Callable[[str], None]) -> None:
    """The user is at the end of the page. Lists of days without breakdowns are shorter than their placeholder."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    tab.route("**/report?*breakdowns=1*", hold)
    show("?from=2025-10-25&to=2025-11-03")
    table = tab.get_by_text("Show as table")
    tab.locator(".lists .skeleton").wait_for()
    tab.mouse.wheel(0, 10_000)
    tab.wait_for_function("scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 1")
    before = table.bounding_box()
    held.pop().continue_()
    tab.locator(".lists h2").wait_for()
    expect(tab.locator(".lists .skeleton")).to_have_count(0)
    assert table.bounding_box() == before


def test_week_and_month_are_named_and_the_running_one_is_hatched(tab: Page, show: Callable[[str], None]) -> None:
    show("?period=12mo")
    bars = tab.locator(".plot g > rect.views")
    expect(bars).to_have_count(12)
    assert tab.locator(".plot rect.running").count() == 1
    assert "running" in (bars.last.get_attribute("class") or "")
    assert tab.locator(".chart .names text").last.inner_html() == f"{today():%b %Y}"
    chart = tab.get_by_role("slider", name="Views and visitors by month (UTC)")
    chart.focus()
    tab.keyboard.press("End")
    expect(tab.locator(".tip")).to_contain_text("so far")
    tab.keyboard.press("ArrowLeft")
    first, last = month_before(today())
    expect(tab.locator(".tip b")).to_have_text(f"{first:%b %Y} UTC")
    expect(tab.locator(".tip")).to_contain_text(f"compared with {first:%b} {first.year - 1} UTC")
    assert f"{first:%b %Y} UTC: Views" in (chart.get_attribute("aria-valuetext") or "")
    if last < today() - timedelta(LAST_IMPORTED_AGO):
        row = tab.locator(".tip tr").first
        expect(row.locator("td").first).to_have_text(f"{sum_of(first, last):,}")

    show("?from=2025-11-05&to=2025-11-30&by=week")
    expect(bars).to_have_count(4)
    assert tab.locator(".plot rect.running").count() == 0
    assert tab.locator(".chart .names text").first.inner_html() == "Week 45"
    tab.locator(".chart").focus()
    tab.keyboard.press("Home")
    expect(tab.locator(".tip b")).to_have_text(days_text("Week 45: Nov 5 - 9, 2025 UTC"))


def test_comparison_shows_both_dates_and_is_exported(tab: Page, show: Callable[[str], None]) -> None:
    show("?from=2025-06-01&to=2025-06-30&compare=year")
    total, before = (sum_of(date(year, 6, 1), date(year, 6, 30)) for year in (2025, 2024))
    assert total == before
    expect(tab.locator(".totals .views")).to_contain_text("unchanged")
    expect(tab.locator(".report")).to_contain_text(days_text("Compared with Jun 1 - 30, 2024."))
    assert tab.locator(".plot path.before").count() == 1
    tab.locator(".chart").focus()
    tab.keyboard.press("Home")
    tip = tab.locator(".tip")
    expect(tip).to_contain_text("Sun, Jun 1, 2025 UTC")
    expect(tip).to_contain_text("compared with Sat, Jun 1, 2024 UTC")
    tab.get_by_role("button", name="Export this report as CSV").scroll_into_view_if_needed()
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Export this report as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text())))
    assert {row["list"] for row in rows} == {"time"}, "there are no breakdowns of imported days"
    assert [(row["key"], row["key_before"]) for row in rows] == [
        (f"2025-06-{day:02}", f"2024-06-{day:02}") for day in range(1, 31)
    ]
    assert sum(int(row["views"]) for row in rows) == total
    assert sum(int(row["views_before"]) for row in rows) == before
    tab.keyboard.press("x")
    tab.wait_for_url("**compare=off")
    expect(tab.locator(".plot path.before")).to_have_count(0)
    tab.keyboard.press("x")
    tab.wait_for_url("**compare=year")


def test_nothing_before_the_first_day_is_not_drawn_as_zero(tab: Page, show: Callable[[str], None]) -> None:
    first = today() - timedelta(HISTORY_DAYS)
    show(f"?from={first}&to={first + timedelta(9)}")
    expect(tab.locator(".totals .views")).to_contain_text("no earlier data")
    assert tab.locator(".plot path.before").count() == 0
    assert "Compared with" not in tab.locator(".report").inner_text().replace("Compare with", "")


def test_range_before_the_site_existed_is_empty(tab: Page, show: Callable[[str], None]) -> None:
    show("?from=2015-01-01&to=2015-01-31")
    expect(tab.get_by_text("No views in this period.")).to_be_visible()
    expect(tab.locator(".totals .views .figure")).to_have_text("0")
    expect(tab.locator(".report strong").first).to_have_text(days_text("Jan 1 - 31, 2015"))


def test_ten_years_have_a_bar_per_month(tab: Page, show: Callable[[str], None]) -> None:
    last = today().replace(day=1) - timedelta(1)
    first = date(last.year - 10, last.month, 1) + timedelta(32)
    first = first.replace(day=1)
    show(f"?from={first}&to={last}")
    expect(tab.locator(".plot g > rect.views")).to_have_count(120)
    labels = tab.locator(".chart .names text:visible")
    edges = labels.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect()).map((b) => [b.left, b.right])")
    assert all(right < left for (_, right), (left, _) in pairwise(edges))
    assert tab.get_by_label("By", exact=True).count() == 0


def test_all_days_of_a_new_link_are_today(tab: Page, history: Place) -> None:
    tab.goto(history.at("/links/:id") + "?period=all&compare=year")
    tab.locator(".range").wait_for()
    expect(tab.locator(".totals .views .figure")).not_to_have_text("0")
    expect(tab.get_by_role("button", name="All time")).to_be_visible()
    assert tab.get_by_label("Compare with").count() == 0
    assert tab.locator(".legend button").all_inner_texts() == ["Bots"]


@pytest.mark.parametrize("locale", LOCALES if EVERYTHING else [random.Random(SEED).choice(LOCALES)])
def test_period_choice_is_accessible_and_fits_small_screens(browser: Browser, history: Place, locale: str) -> None:
    context = new_context(browser, locale=locale)
    sign_in(context, history)
    tab = context.new_page()
    visit = Visit(tab, history.url)
    *others, narrowest = 1440, 768, 390, 320
    drawn = random.Random(SEED)
    widths = [*(others if EVERYTHING else [drawn.choice(others)]), narrowest]
    for theme in THEMES if EVERYTHING else [drawn.choice(THEMES)]:
        tab.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        for width in widths:
            tab.set_viewport_size({"width": width, "height": HEIGHT})
            tab.goto(history.at("/sites/:id") + "?period=last_month&compare=year")
            panel(tab)
            tab.locator(".range-panel input").first.wait_for()
            box = tab.locator(".range-panel").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
        visit.axe(theme)
    assert visit.found == []
    close(context)
