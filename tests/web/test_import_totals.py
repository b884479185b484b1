"""Tests of the import of earlier totals on the page of a site or link."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.imports.totals.files import PLAUSIBLE, zipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import FilePayload, Page, Route

    from tests.web.world import World


@pytest.fixture
def link_id(world: World) -> Iterator[str]:
    """A new link, which is deleted after the test."""
    known = next(link for link in world.call("GET", "/v1/links")["links"] if link["code"] == "hello")
    body = {"account_id": known["account_id"], "url": "https://www.example.com/imported"}
    link_id: str = world.call("POST", "/v1/links", body)["link"]["id"]
    yield link_id
    world.call("DELETE", f"/v1/links/{link_id}", {})


def test_page_views_of_web_analytics_are_checked(tab: Page, world: World) -> None:
    account = world.call("GET", f"/v1/accounts/{world.place.ids['accounts']}")["account"]
    at = time.time_ns() // 1_000_000 // 86_400_000 - 100
    day = datetime.fromtimestamp(at * 86_400, UTC)
    views = {"shop.example": (70, 30), "other.example": (9, 9)}
    world.platform(lambda emulator: emulator.set_usage(account["edge_account_id"], at, web_views=views))
    tab.goto(world.place.at("/sites/:id/settings"))
    part = tab.get_by_role("region", name="Import earlier totals")
    button = part.get_by_role("button", name="Check Cloudflare Web Analytics")
    expect(button).to_have_class("quiet")  # this button is quiet, because the section already has a primary button
    button.click()
    expect(part).to_contain_text("Format: Cloudflare Web Analytics")
    expect(part).to_contain_text(f"1 day to import ({day:%b} {day.day}, {day.year}), with 70 views")
    expect(part).to_contain_text("0 of 1 days are estimates")
    expect(part.get_by_role("button", name="Import 1 day")).to_be_visible()


def test_file_is_checked_before_it_is_imported(tab: Page, world: World, link_id: str) -> None:
    totals = f"/v1/links/{link_id}/totals"
    tab.goto(f"{world.place.url}/links/{link_id}/edit")
    part = tab.get_by_role("region", name="Import earlier totals")
    file = part.get_by_label("Exported file")

    file.set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"nothing to count"})
    part.get_by_role("button", name="Check file").click()
    expect(part.get_by_text("This file cannot be imported")).to_be_visible()

    table = b"day,views\n2025-01-01,5\n2025-01-02,7\nyesterday,1\n"
    file.set_input_files({"name": "totals.csv", "mimeType": "text/csv", "buffer": table})
    part.get_by_role("button", name="Check file").click()
    expect(part).to_contain_text(re.compile(r"2 days to import \(Jan 1 . 2, 2025\), with 12 views"))
    expect(part).to_contain_text("1 line cannot be imported:")
    assert world.call("GET", totals)["totals"] == []
    part.get_by_role("button", name="Import 2 days").click()
    expect(part.get_by_role("status")).to_have_text("2 days imported.")
    assert [total["views"] for total in world.call("GET", totals)["totals"]] == [5, 7]

    table = b"day,views\n2025-01-01,5\n2025-01-02,9\n2025-01-03,1\n"
    file.set_input_files({"name": "totals.csv", "mimeType": "text/csv", "buffer": table})
    part.get_by_role("button", name="Check file").click()
    part.get_by_role("button", name="Import 1 day").click()
    expect(part.get_by_role("status")).to_have_text("1 day imported.")
    assert [total["views"] for total in world.call("GET", totals)["totals"]] == [5, 7, 1]

    table = b"day,views\n2025-01-01,5\n2025-01-02,8\n"
    file.set_input_files({"name": "totals.csv", "mimeType": "text/csv", "buffer": table})
    part.get_by_role("button", name="Check file").click()
    expect(part).to_contain_text("1 day already imported with different numbers")
    expect(part.get_by_role("button", name="Import")).to_have_count(0)
    part.get_by_label("Overwrite days whose numbers differ from the file").check()
    part.get_by_role("button", name="Import 1 day").click()
    expect(part.get_by_role("status")).to_have_text("1 day imported.")
    assert [total["views"] for total in world.call("GET", totals)["totals"]] == [5, 8, 1]


def test_result_of_a_check_disappears_with_another_file(tab: Page, world: World, link_id: str) -> None:
    """The page never offers to import a file that is no longer selected."""
    tab.goto(f"{world.place.url}/links/{link_id}/edit")
    part = tab.get_by_role("region", name="Import earlier totals")
    file = part.get_by_label("Exported file")
    check, submit = part.get_by_role("button", name="Check file"), part.get_by_role("button", name="Import")
    one: FilePayload = {"name": "one.csv", "mimeType": "text/csv", "buffer": b"day,views\n2025-01-01,5\n"}
    two: FilePayload = {"name": "two.csv", "mimeType": "text/csv", "buffer": b"day,views\n2025-01-01,6\n2025-01-02,7\n"}
    file.set_input_files(one)
    check.click()
    expect(submit).to_have_text("Import 1 day")
    file.set_input_files(two)
    expect(submit).to_have_count(0)

    held: list[Route] = []
    tab.route("**/totals", lambda route: held.append(route))
    with tab.expect_request("**/totals"):
        check.click()
    file.set_input_files(one)
    held.pop().continue_()
    tab.unroute_all(behavior="wait")
    expect(check).to_be_visible()  # the response has arrived
    expect(submit).to_have_count(0)
    check.click()
    expect(submit).to_have_text("Import 1 day")

    # While totals are imported, the file cannot be changed, because its result is shown here.
    tab.route("**/totals", lambda route: held.append(route))
    with tab.expect_request("**/totals"):
        submit.click()
    expect(file).to_be_disabled()
    held.pop().continue_()
    tab.unroute_all(behavior="wait")
    expect(part.get_by_role("status")).to_have_text("1 day imported.")
    expect(file).to_be_enabled()
    file.set_input_files(two)
    expect(part.get_by_role("status")).to_have_text("")


def test_lists_of_plausible_are_offered_by_month(tab: Page, world: World) -> None:
    """The user can import the totals without the lists, for example while Cloudflare is unreachable."""
    visitors = f'{PLAUSIBLE}"2025-01-30",1,5,0,1,0\n"2025-02-01",1,7,0,1,0\n'
    pages = "date,hostname,page,visits,visitors,pageviews\n2025-01-30,h,/a,1,1,5\n2025-02-01,h,/b,1,1,7\n"
    archive = zipped({"imported_visitors_1.csv": visitors, "imported_pages_1.csv": pages})
    tab.goto(world.place.at("/sites/:id/settings"))
    part = tab.get_by_role("region", name="Import earlier totals")
    file: FilePayload = {"name": "shop.zip", "mimeType": "application/zip", "buffer": archive}
    part.get_by_label("Exported file").set_input_files(file)
    part.get_by_role("button", name="Check file").click()
    lists = part.get_by_label("Also import the lists of pages, sources, countries and devices (2 months)")
    expect(lists).to_be_checked()
    with tab.expect_request("**/totals") as asked:
        part.get_by_role("button", name="Import 2 days").click()
    assert (asked.value.post_data_json or {})["breakdowns"] is True
    expect(part.get_by_role("status")).to_have_text("2 days imported.")
    report = f"/v1/sites/{world.place.ids['sites']}/report?from=2025-01-01&to=2025-02-28&breakdowns=1"
    found = world.call("GET", report)["report"]["breakdowns"]["pages"]
    assert {page["key"]: page["n"] for page in found} == {"/a": 5, "/b": 7}

    part.get_by_label("Exported file").set_input_files(file)
    part.get_by_role("button", name="Check file").click()
    expect(part.get_by_role("button", name="Import lists")).to_be_visible()
    lists.uncheck()
    expect(part.get_by_role("button", name="Import lists")).to_have_count(0)
