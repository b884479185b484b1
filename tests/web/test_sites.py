"""Sites and their reports in a real browser: what a user sees is what was sent, and what the service has."""

from __future__ import annotations

import csv
import io
import re
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from playwright.sync_api import expect

from edge_worker.harness.visitors import DESKTOP_CHROME
from tests.web.places import EMAIL, PASSWORD, new_context, signed_in_tab
from tests.web.test_every_page import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page, Route

    from tests.web.places import Place

HOST = "www.shop.example"
DAY_MS = 86_400_000
SEEN = "The first view was seen."
# As a person's browser does, this one does not say that a program drives it.
UNDRIVEN = "Object.defineProperty(Navigator.prototype, 'webdriver', {get: () => false})"


@pytest.fixture
def tab(browser: Browser, furnished: Place) -> Iterator[Page]:
    """A tab in which the user of `furnished` is signed in."""
    with signed_in_tab(browser, furnished, permissions=["clipboard-read", "clipboard-write"]) as tab:
        yield tab


def read(place: Place, path: str, **headers: str) -> httpx.Response:
    """What the service itself answers to the user."""
    signed_in = httpx.post(
        f"{place.url}/auth/sign-in", json={"email": EMAIL, "password": PASSWORD}, trust_env=False
    ).json()
    headers["Authorization"] = f"Bearer {signed_in['access_token']}"
    return httpx.get(place.url + path, headers=headers, trust_env=False).raise_for_status()


def site_of(place: Place, page: Page) -> dict[str, Any]:
    [found] = re.findall(r"/sites/(site_\w+)", page.url)
    site: dict[str, Any] = read(place, f"/v1/sites/{found}").json()["site"]
    return site


def browse(browser: Browser, place: Place, page: str, *paths: str) -> None:
    """Open pages of the customer's, which have the snippet, in a browser whose network ends at the emulated edge."""
    control = httpx.Client(base_url=place.control, trust_env=False, timeout=30)
    context = new_context(browser, user_agent=DESKTOP_CHROME.user_agent)
    context.add_init_script(UNDRIVEN)

    def through_the_edge(route: Route) -> None:
        request = route.request
        more = {"method": request.method, "headers": {"user-agent": DESKTOP_CHROME.user_agent}}
        visited = place.visit(
            HOST, "/" + request.url.split("/", 3)[3], **more, body=request.post_data, cf={"country": "DE"}
        )
        route.fulfill(status=visited["status"], headers=visited["headers"], body=visited["body"])

    context.route("**/*", through_the_edge)
    tab = context.new_page()
    for path in ("/favicon.ico", *paths):
        control.post("/pages", json={"host": HOST, "path": path, "body": page}).raise_for_status()
    for path in paths:
        tab.goto(f"http://{HOST}{path}", wait_until="networkidle")
    control.post("/settled", json={}).raise_for_status()
    context.close()
    control.close()


def listed(page: Page, name: str) -> dict[str, int]:
    """A list of the report: what and how often."""
    rows = page.locator(f".breakdown.{name} li")
    return {
        row.locator(".what").inner_text().split("\n")[0].strip(): whole(row.locator(".number")) for row in rows.all()
    }


def whole(number: Locator) -> int:
    return int(number.inner_text().replace(",", ""))


def test_a_site_from_its_first_view_to_its_end(browser: Browser, furnished: Place, tab: Page) -> None:
    tab.goto(f"{furnished.url}/sites")
    tab.get_by_role("link", name="shop.example").wait_for()
    tab.keyboard.press("n")
    tab.get_by_label("Host").fill("nowhere.else.example")
    tab.get_by_role("button", name="Add a site").click()
    tab.get_by_role("alert").get_by_text("zone_not_found").wait_for()
    tab.get_by_label("Host").fill(HOST)
    tab.get_by_text("What is not counted").click()
    tab.get_by_label("Excluded paths").fill("admin\n")
    tab.get_by_role("button", name="Add a site").click()
    excluded = tab.get_by_label("Excluded paths")
    tab.locator("textarea[aria-invalid=true]").wait_for()
    excluded.fill("/admin\n\n/private")
    tab.get_by_role("button", name="Add a site").click()

    tab.get_by_role("heading", level=1, name=HOST).wait_for()
    tab.get_by_role("listitem").filter(has_text="Worker knows the site").locator(".good").wait_for()
    site = site_of(furnished, tab)
    assert (site["excluded_paths"], site["config"], site["state"]) == (["/admin", "/private"], "synced", "active")
    tab.get_by_role("button", name="Copy the snippet").click()
    assert tab.evaluate("navigator.clipboard.readText()") == site["snippet"]["inline"]
    tab.get_by_text("Content-Security-Policy").click()
    assert site["snippet"]["csp_hash"] in tab.locator(".snippet details pre").inner_text()
    tab.get_by_role("tab", name="In the page").press("ArrowRight")
    assert tab.locator(".snippet pre").first.inner_text() == site["snippet"]["script_tag"]

    visit = Visit(tab, furnished.url)
    visit.open("a site without a view", tab.url)
    assert visit.found == []

    # A page that is not counted is no first view; one that is, is. Where none comes it is said what may be wrong.
    head = f"<!doctype html><title>Shop</title>{site['snippet']['inline']}"
    browse(browser, furnished, head, "/admin/users")
    tab.clock.set_fixed_time(datetime.now(tz=UTC) + timedelta(minutes=6))
    with tab.expect_response(lambda answer: answer.url.endswith("/first-view")) as looked:
        tab.get_by_role("button", name="Look now").click()
    assert looked.value.json()["first_view"]["seen"] is False
    tab.get_by_text("Nothing for five minutes?").wait_for()
    assert tab.get_by_text(SEEN).count() == 0
    browse(browser, furnished, head, "/shoes")
    tab.get_by_text(SEEN).wait_for()  # by itself, within seconds
    tab.locator(".report .lists").scroll_into_view_if_needed()
    tab.locator(".breakdown.pages li").wait_for()
    assert listed(tab, "pages") == {"/shoes": 1}
    assert listed(tab, "sources") == {"Direct, or not told": 1}
    assert listed(tab, "countries") == {"Germany": 1}

    tab.keyboard.press("e")
    tab.get_by_role("heading", level=1, name=f"{HOST}: Settings").wait_for()
    tab.get_by_label("Excluded paths").fill("/private")
    tab.get_by_label("Do not count visitors").check()
    tab.get_by_role("button", name="Save").click()
    tab.get_by_text("Saved").wait_for()
    changed = site_of(furnished, tab)
    assert (changed["excluded_paths"], changed["respect_gpc"]) == (["/private"], True)
    tab.get_by_role("button", name="Change the path").click()
    tab.get_by_role("dialog").get_by_role("button", name="Change the path").press("Enter")
    tab.get_by_text("Old paths that are still counted").wait_for()
    rotated = site_of(furnished, tab)
    assert tab.locator("#rotate ~ ul code").inner_text() == site["path"] == rotated["retiring"][0]["path"]
    assert tab.locator(".snippet pre").first.inner_text() == rotated["snippet"]["inline"] != site["snippet"]["inline"]

    look_through_the_list(furnished, tab)
    tab.goto(f"{furnished.url}/sites/{site['id']}/settings")
    tab.get_by_role("button", name="Delete the site").click()
    tab.get_by_role("dialog").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_role("dialog").wait_for(state="detached")
    tab.get_by_role("button", name="Delete the site").click()
    tab.get_by_role("dialog", name=f"Delete {HOST}?").get_by_role("button", name="Delete the site").click()
    tab.get_by_role("heading", level=1, name="Sites").wait_for()
    expect(tab.get_by_role("link", name="shop.example", exact=True)).to_be_visible()
    expect(tab.get_by_role("link", name=HOST)).to_have_count(0)
    tab.get_by_label("Which").select_option("deleted")
    tab.get_by_role("link", name=HOST).click()
    tab.get_by_text("not counted any more").wait_for()
    assert site_of(furnished, tab)["state"] == "deleted"
    expect(tab.get_by_role("link", name="Settings")).to_have_count(0)


def look_through_the_list(place: Place, tab: Page) -> None:
    """Sites, of which the service gives one at a time: more of them, in order, searched."""
    hosts = [site["host"] for site in read(place, "/v1/sites?order=host").json()["sites"]]
    tab.route("**/v1/sites?*", lambda route: route.continue_(url=route.request.url.replace("limit=50", "limit=1")))
    tab.goto(f"{place.url}/sites?order=host")
    rows = tab.locator(".rows tbody th")
    tab.get_by_role("button", name="Show 50 more").click()
    tab.locator(".rows tbody tr:nth-child(2) a:focus").wait_for()
    assert rows.all_inner_texts() == hosts[:2]
    expect(tab.get_by_role("button", name="Show 50 more")).to_have_count(0 if len(hosts) == 2 else 1)
    tab.keyboard.press("k")
    assert tab.evaluate("document.activeElement.textContent") == hosts[0]
    tab.keyboard.press("/")
    tab.keyboard.type("WWW.")
    tab.wait_for_url("**/sites?order=host&q=WWW.")
    tab.get_by_role("link", name=hosts[0], exact=True).wait_for(state="detached")
    assert rows.all_inner_texts() == [HOST]
    tab.keyboard.type("nowhere")
    tab.get_by_text("No site has “WWW.nowhere” in its host.").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_role("link", name=hosts[0], exact=True).wait_for()
    tab.unroute("**/v1/sites?*")


def test_a_report_has_the_numbers_that_were_sent(furnished: Place, tab: Page) -> None:
    today = time.time_ns() // 1_000_000 // DAY_MS
    sent = furnished.sent.days(today - 6, today)
    top = furnished.sent.top
    tab.goto(furnished.at("/sites/:id"))
    tab.locator(".breakdown.pages li").first.wait_for()
    for name, count in sent.items():
        assert whole(tab.locator(f".totals .{name} .figure")) == count
    assert listed(tab, "pages") == top("pages", today - 6, today)
    assert listed(tab, "browsers") == top("browsers", today - 6, today)
    assert listed(tab, "sources").pop("Direct, or not told") == top("sources", today - 6, today)[""]
    assert sum(listed(tab, "countries").values()) == sent["views"]
    assert sum(listed(tab, "bots").values()) == sent["bots"] > 0

    tab.get_by_text("Show as a table").click()
    rows = [[cell.inner_text() for cell in row.locator("td").all()] for row in tab.locator(".figures tbody tr").all()]
    assert len(rows) == 7
    for place, name in enumerate(("views", "visitors", "bots")):
        assert sum(int(row[place]) for row in rows) == sent[name]
    tab.locator(".chart").focus()
    tab.keyboard.press("End")
    assert f"Views {rows[-1][0]} · Visitors {rows[-1][1]}" in tab.locator(".reading").inner_text()
    tab.get_by_role("button", name="Bots").click()
    assert tab.locator(".plot rect.bots").count() == sum(row[2] != "0" for row in rows)

    with tab.expect_download() as saved:
        tab.get_by_role("button", name="All days as CSV").click()
    assert saved.value.suggested_filename == "shop.example.csv"
    exported = saved.value.path().read_bytes()
    path = f"/v1/sites/{furnished.ids['sites']}/totals"
    assert exported == read(furnished, path, Accept="text/csv").content
    days = csv.DictReader(io.StringIO(exported.decode()))
    assert sum(int(day["views"]) for day in days) == sent["views"]

    # The period, and what is compared, are in the address: it can be kept and sent on.
    tab.keyboard.press("t")
    expect(tab.locator(".plot g:not(.visitors)")).to_have_count(30)
    tab.keyboard.press("x")
    tab.reload()
    tab.locator(".plot").wait_for()
    assert tab.url.endswith("?bots=on&period=30d&compare=off")
    assert tab.get_by_role("button", name="Period before").get_attribute("aria-pressed") == "false"
    tab.keyboard.press("d")
    if furnished.sent.days(today, today)["views"]:
        expect(tab.locator(".plot g:not(.visitors)")).to_have_count(24)
    else:  # what was sent is two hours old, and of yesterday when it is not yet two o'clock
        tab.get_by_text("No page was viewed in this time.").wait_for()


def test_a_report_says_what_it_does_not_have(furnished: Place, tab: Page) -> None:
    """The account's database does not answer; the numbers that the service has are there all the same."""
    control = httpx.Client(base_url=furnished.control, trust_env=False, timeout=30)
    fault = {"kind": "refuse", "path": "*/query", "status": 503, "times": None}
    control.post("/faults", json=fault).raise_for_status()
    try:
        tab.goto(furnished.at("/sites/:id") + "?period=30d")
        tab.get_by_text("Cloudflare did not answer in time.").wait_for()
        tab.locator(".plot").wait_for()
        tab.goto(furnished.at("/links/:id") + "?period=today")
        tab.get_by_text("Today is not in these numbers").wait_for()
        assert tab.locator(".totals").count() == 0
    finally:
        control.delete("/faults").raise_for_status()
        control.close()
    tab.goto(furnished.at("/sites/:id") + "?period=30d")
    tab.locator(".breakdown.pages li").first.wait_for()


def test_lists_of_fewer_days_than_the_report_name_their_first_day(furnished: Place, tab: Page) -> None:
    days: list[str] = []

    def as_of_a_worker_that_keeps_fewer_days(route: Route) -> None:
        response = route.fetch()
        answer = response.json()
        answer["report"]["breakdowns_from"] = answer["report"]["to"]
        days.append(answer["report"]["to"])
        route.fulfill(response=response, json=answer)

    tab.route("**/report?*breakdowns=1*", as_of_a_worker_that_keeps_fewer_days)
    for noun in ("sites", "links"):
        tab.goto(furnished.at(f"/{noun}/:id") + "?period=30d")
        tab.locator(".report .lists").scroll_into_view_if_needed()
        lists = tab.get_by_role("region", name="Where from, what, with what")
        lists.wait_for()
        day = datetime.fromisoformat(days[-1])
        expect(lists.get_by_text(f"These lists start on {day:%b} {day.day} (UTC)")).to_be_visible()
        # A report of one day has no earlier ones.
        tab.goto(furnished.at(f"/{noun}/:id") + "?period=today")
        tab.locator(".breakdown.sources, .report .empty").first.wait_for()
        assert tab.get_by_text("These lists start on").count() == 0


def test_numbers_of_another_period_step_back_until_those_asked_for_come(furnished: Place, tab: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "period=30d" in route.request.url:
            held.append(route)
        else:
            route.continue_()

    tab.route("**/report?*", hold)
    tab.goto(furnished.at("/sites/:id"))
    figures = tab.locator(".totals .figure")
    expect(figures.first).to_be_visible()
    expect(tab.locator("[aria-busy=true]")).to_have_count(0)
    tab.get_by_role("link", name="30 days").click()
    old = tab.locator("[aria-busy=true]").filter(has=figures)
    expect(old).to_have_css("opacity", "0.4")
    while len(held) < 2:  # the numbers, and the lists
        tab.wait_for_timeout(10)
    for route in held:
        route.continue_()
    expect(old).to_have_count(0)
    expect(figures.first).to_be_visible()
