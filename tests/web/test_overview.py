"""Tests of the overview: a new user's four steps to the first view, and the deletion of that user."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import trio
from playwright.sync_api import expect

from edge_worker.emulator.client import Emulator, proxied_zone
from edge_worker.harness.service import Service
from edge_worker.harness.visitors import DESKTOP_CHROME
from edge_worker.local_http import local_client
from tests.web.browser import fetched, sign_in
from tests.web.places import PASSWORD, push

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.sync_api import Locator, Page

    from tests.web.places import Place

ANN, HOST = "ann@example.com", "ann.example"
HOUR_MS = 3_600_000


def beside(place: Place, work: Callable[[Service, Emulator], Awaitable[Any]]) -> Any:
    """Run an action outside the browser. `work` gets access to the service (as Ann) and to the platform."""

    async def done() -> Any:
        async with local_client(timeout=60) as client:
            service = Service(place.url, None, place.folder, client)  # type: ignore[arg-type]  # not stopped here
            session = await service.call("POST", "/auth/sign-in", {"email": ANN, "password": PASSWORD})
            service.headers = {"Authorization": f"Bearer {session['access_token']}"}
            return await work(service, Emulator({"api": "", "edge": "", "control": place.control}, client, 0))

    return trio.run(done)


async def confirm(service: Service, _: Emulator) -> None:
    token = await service.mailed_token(ANN, "confirm")
    await service.call("POST", "/auth/confirm", {"token": token})


async def connect(service: Service, platform: Emulator) -> str:
    customer = await platform.create_account([proxied_zone(HOST)])
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
    await service.account_in(account["id"], "ready")
    return str(customer.account_id)


async def be_seen(service: Service, platform: Emulator) -> int:
    """Send a view of the site with a time in an hour that has ended. Return the start of this hour (epoch ms)."""
    [site] = (await service.call("GET", "/v1/sites"))["sites"]
    await service.synced(f"/v1/sites/{site['id']}")
    now = time.time_ns() // 1_000_000
    hour_at = (now // HOUR_MS - 2) * HOUR_MS
    await platform.clock((hour_at + 20 * 60_000 - now) / 1000)
    headers = {"User-Agent": DESKTOP_CHROME.user_agent, "Content-Type": "text/plain"}
    await platform.visit(HOST, site["path"], method="POST", headers=headers, body="/\n")
    await platform.settled()
    await platform.clock(0)
    return hour_at


async def push_view(hour_at: int, service: Service, platform: Emulator) -> None:
    """Let the Worker push the view of this hour."""
    [site] = (await service.call("GET", "/v1/sites"))["sites"]
    [account] = (await service.call("GET", "/v1/accounts"))["accounts"]
    await push(service, platform, account["edge_account_id"], site["id"], hour_at)


def open_step(page: Page, name: str) -> Locator:
    """Reload the page with the keyboard shortcut. Return the current step once it has this name."""
    page.get_by_role("heading", level=1, name="Overview").wait_for()
    page.keyboard.press("r")
    step = page.locator("[aria-current=step]")
    step.get_by_role("heading", name=name).wait_for()
    return step


def test_new_user_completes_all_steps_and_is_deleted(stranger, furnished):
    place, page = furnished, stranger.new_page()
    response = stranger.request.post(f"{place.url}/auth/sign-up", data={"email": ANN, "password": PASSWORD})
    assert response.ok
    sign_in(stranger, place, ANN)
    page.goto(place.url)
    step = open_step(page, "Confirm your email address")
    assert step.get_by_text(ANN).count() == 1
    assert [mark.inner_text().strip("○◐") for mark in page.locator(".first-steps .mark").all()] == [
        "Next", "Later", "Later", "Later",
    ]  # fmt: skip
    beside(place, confirm)

    step = open_step(page, "Connect an account")
    assert step.get_by_role("link", name="Connect an account").get_attribute("href") == "/accounts/connect"
    beside(place, connect)

    step = open_step(page, "Add a site or a short link")
    step.get_by_label("Host").fill("not a host")
    step.get_by_role("button", name="Add site").click()
    step.get_by_role("alert").wait_for()
    step.get_by_label("Host").fill(HOST)
    step.get_by_role("button", name="Add site").click()
    page.wait_for_url("**/sites/site_*")
    page.get_by_role("link", name="Overview").click()

    step = open_step(page, "See your first page view")
    assert step.get_by_role("link", name=f"Snippet for {HOST}").count() == 1
    hour_at = beside(place, be_seen)
    page.keyboard.press("r")
    row = page.get_by_role("table", name="Sites").get_by_role("row", name=HOST)
    row.get_by_text("First view received").wait_for()  # this text appears before the Worker has pushed the view
    assert row.locator(".number").all_inner_texts()[:2] == ["\N{EN DASH}", "\N{EN DASH}"]
    assert page.locator(".overview-totals").count() == 0
    gap = """(heading) => heading.getBoundingClientRect().top
        - document.querySelector(".periods").getBoundingClientRect().bottom"""
    assert page.get_by_role("heading", name="Sites").evaluate(gap) >= 20
    beside(place, partial(push_view, hour_at))
    page.keyboard.press("r")
    # Shortly after midnight, the view belongs to yesterday.
    drawn = row.get_by_role("img", name=re.compile(r"oldest first: (0, ){28}(0, and 1|1, and 0)$"))
    drawn.wait_for()
    assert row.get_by_text("First view received").count() == 0
    assert page.get_by_role("heading", name="Needs attention").count() == 0

    page.goto(f"{place.url}/profile")
    page.get_by_role("button", name="Delete user account…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Password").fill("not the password")
    dialog.get_by_role("button", name="Delete user account").click()
    dialog.get_by_text("invalid_password").wait_for()
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Delete user account").click()
    page.get_by_role("heading", level=1, name="Your user account was deleted").wait_for()
    assert page.get_by_role("listitem").filter(has_text="svc-op_").count() == 1
    gone = stranger.request.post(f"{place.url}/auth/sign-in", data={"email": ANN, "password": PASSWORD})
    assert gone.status == 401
    page.get_by_role("button", name="Done").click()
    page.get_by_role("heading", level=1, name="Sign in").wait_for()


def test_problems_and_top_links_are_shown(stranger, furnished):
    """The test changes the service's responses, because these states do not occur in the test's service."""
    sign_in(stranger, furnished)
    page = stranger.new_page()

    def failing(route: Any) -> None:
        response = fetched(route)
        body = response.json()
        error = {"code": "worker_silent", "message": "It is silent.", "details": {"remedy": "Install it again."}}
        body["accounts"][0] |= {"state": "no_connection", "error": error}
        route.fulfill(response=response, json=body)

    def clicked(route: Any) -> None:
        response = fetched(route)
        body = response.json()
        body["overview"]["links"]["entries"][0]["totals"]["views"] = 1_234
        route.fulfill(response=response, json=body)

    stranger.route("**/v1/accounts", failing)
    stranger.route("**/v1/overview?*", clicked)
    page.goto(furnished.url)
    need = page.locator(".needs li").filter(has_text="Not reporting")
    need.wait_for()
    assert need.get_by_role("link").get_attribute("href") == furnished.at("/accounts/:id").removeprefix(furnished.url)
    row = page.get_by_role("table", name="Top links").get_by_role("row", name="hello")
    assert "1,234" in row.inner_text()
    # The columns of both tables are aligned.
    tables = [page.get_by_role("table", name=name).get_by_role("columnheader") for name in ("Sites", "Top links")]
    sites, links = ([cell.bounding_box()["x"] for cell in table.all()] for table in tables)
    assert len(sites) == 5
    assert sites == links


def test_sites_are_sorted_and_compared(stranger, furnished):
    """The test changes the service's responses, because the furnished service has few sites."""
    sign_in(stranger, furnished)
    page = stranger.new_page()
    asked: list[str] = []

    def with_sites(route: Any) -> None:
        asked.append(route.request.url)
        response = fetched(route)
        body = response.json()
        group = body["overview"]["sites"]
        entry = group["entries"][0]

        def like(host: str, views: int, before: int | None) -> dict[str, Any]:
            counts = {"views": views, "bots": 0, "visitors": views}
            earlier = None if before is None else {"views": before, "bots": 0, "visitors": before}
            site = {**entry["site"], "id": f"site_{host}", "host": host}
            return {**entry, "site": site, "totals": counts, "totals_before": earlier}

        entries = [like("up.example", 123, 100), like("down.example", 50, 100), like("new.example", 7, None)]
        body["overview"]["sites"] = {**group, "number": 1_000, "totals": entries[0]["totals"], "entries": entries}
        route.fulfill(response=response, json=body)

    stranger.route("**/v1/overview?*", with_sites)
    page.goto(furnished.url)
    table = page.get_by_role("table", name="Sites")
    table.get_by_role("row").nth(3).wait_for()
    # The lists of sites and links cover different days than the overview, so the column's heading names the days.
    days = page.locator(".overview-totals strong")
    week = days.inner_text()
    header = table.get_by_role("columnheader").nth(3)
    expect(header).to_have_text(f"Views, {week}")
    changes = [row.locator("td").last.inner_text() for row in table.get_by_role("row").all()[1:]]
    assert changes == ["▲ 23%\nup 23%, from 100", "▼ 50%\ndown 50%, from 100", "\N{EN DASH}\nno earlier data"]
    assert page.get_by_role("link", name="All sites (1000)").get_attribute("href") == "/sites"

    page.get_by_label("Sort by").select_option("Largest change")
    page.wait_for_url("**order=change")
    page.keyboard.press("t")
    page.wait_for_url("**period=30d")
    expect(days).not_to_have_text(week)
    expect(header).to_have_text(f"Views, {days.inner_text()}")
    assert "period=30d&order=change" in asked[-1]
