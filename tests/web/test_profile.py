"""Tests of API keys, sessions, the password, the export, and the activity list."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from tests.web.browser import close, new_context, sign_in, signed_in_tab
from tests.web.places import PASSWORD
from tests.web.visit import Visit
from tests.web.world import sign_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.web.places import Place

BEA = "bea@example.com"
CHOSEN = "another long one"


@pytest.fixture(scope="session")
def bea(place: Place) -> Place:
    """The service of `place` with another user, who has no data."""
    sign_up(place, BEA)
    return place


@pytest.fixture
def tab(browser: Browser, bea: Place) -> Iterator[Page]:
    with signed_in_tab(
        browser, bea, BEA, accept_downloads=True, permissions=["clipboard-read", "clipboard-write"]
    ) as tab:
        yield tab


def asked_with(key: str, place: Place) -> int:
    response = httpx.get(f"{place.url}/v1/links", headers={"Authorization": f"Bearer {key}"}, trust_env=False)
    return response.status_code


def test_create_use_rename_and_revoke_api_key(tab, bea):
    tab.goto(f"{bea.url}/keys")
    tab.get_by_text("No API keys yet.").wait_for()
    tab.keyboard.press("n")
    expect(tab.get_by_role("checkbox", name="Reports")).to_be_checked()
    assert tab.get_by_role("checkbox", checked=True).count() == 1
    tab.get_by_role("checkbox", name="Reports").uncheck()
    tab.get_by_role("button", name="Create key").click()
    tab.get_by_text("Select at least one.").wait_for()
    tab.get_by_label("Name").fill("nightly")
    tab.locator("input[value=links]").check()
    tab.get_by_label("Selected IP addresses").check()
    tab.get_by_label("IP addresses and ranges").fill("127.0.0.0/8\nnowhere")
    tab.get_by_role("button", name="Create key").click()
    tab.get_by_role("alert").wait_for()
    tab.get_by_label("IP addresses and ranges").fill("127.0.0.0/8\n2001:db8::/32")
    tab.get_by_role("button", name="Create key").click()

    dialog = tab.get_by_role("dialog", name="Your new API key “nightly”")
    visit = Visit(tab, bea.url)
    visit.axe("with the key's value")
    key = dialog.locator("#key-value").inner_text()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Escape")
    dialog.get_by_role("button", name="Copy command").click()
    dialog.get_by_text("Copied").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == (f'curl -H "Authorization: Bearer {key}" {bea.url}/v1/me')
    dialog.get_by_role("button", name="I have saved the key").click()
    row = tab.get_by_role("row", name="nightly")
    assert "Links" in row.inner_text()
    assert "Only from 127.0.0.0/8 and 2001:db8::/32" in row.inner_text()
    assert key not in tab.content()
    assert key[:12] in tab.content()
    expect(tab.get_by_role("meter", name="API keys")).to_have_attribute("aria-valuetext", "1 of 1")
    tab.get_by_text("Plan: Free", exact=True).wait_for()
    expect(tab.get_by_role("button", name="New API key")).to_have_count(0)
    assert asked_with(key, bea) == 200
    tab.reload()
    expect(row.get_by_role("time").filter(has_text="today")).to_have_attribute("title", re.compile(r"20\d\d UTC$"))

    row.get_by_role("button", name="Rename “nightly”").click()
    tab.get_by_role("dialog").get_by_label("Name").fill("weekly")
    tab.keyboard.press("Enter")
    tab.get_by_role("button", name="Revoke “weekly”").click()
    visit.axe("asked whether to revoke")
    tab.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    tab.get_by_text("No API keys yet.").wait_for()
    assert asked_with(key, bea) == 401
    assert visit.found == []


def test_new_password_ends_other_sessions_and_is_in_activity(tab, bea, browser):
    other = new_context(browser, user_agent="curl/8.5.0")
    sign_in(other, bea, BEA)
    there = other.new_page()
    there.goto(f"{bea.url}/profile")
    sessions = tab.get_by_role("table", name="Active sessions")
    tab.goto(f"{bea.url}/profile")
    sessions.get_by_role("row", name="curl").wait_for()
    expect(sessions.get_by_role("time").first).to_have_attribute("title", re.compile(r" 20\d\d, "))
    limits = tab.get_by_role("region", name="Usage and limits")
    assert [meter.get_attribute("aria-valuetext") for meter in limits.get_by_role("meter").all()] == [
        "0 of 10",
        "0 of 100",
        "0 of 10,000",
        "0 of 1",
    ]
    tab.get_by_label("Current password").fill(PASSWORD)
    tab.get_by_label("New password").fill(CHOSEN)
    tab.get_by_role("button", name="Change password").click()
    tab.get_by_text("All your other sessions were ended").wait_for()
    sessions.get_by_role("row", name="curl").wait_for(state="detached")
    assert sessions.get_by_role("row").count() == 2  # two rows: the header, and this session
    there.reload()
    there.get_by_role("heading", level=1, name="Sign in").wait_for()
    close(other)

    switch = tab.get_by_role("switch")
    switch.click()
    expect(switch).not_to_be_checked()
    tab.get_by_label("Current password").fill(CHOSEN)
    tab.get_by_label("New password").fill(PASSWORD)
    tab.get_by_role("button", name="Change password").click()
    expect(tab.get_by_label("Current password")).to_have_value("")  # the field is empty after the change

    tab.goto(f"{bea.url}/events")
    tab.get_by_role("row", name="Password changed").first.wait_for()
    actions = tab.get_by_role("table").get_by_role("rowheader").all_inner_texts()
    assert actions[:3] == ["Password changed", "Email settings changed", "Password changed"]
    assert actions[-2:] == ["Email address confirmed", "Signed up"]


def test_activity_is_paginated(tab, bea):
    tab.route("**/v1/events?limit=50", lambda route: route.continue_(url=f"{bea.url}/v1/events?limit=2"))
    tab.goto(f"{bea.url}/events")
    rows = tab.get_by_role("table").get_by_role("rowheader")
    rows.nth(1).wait_for()
    assert rows.count() == 2
    tab.get_by_role("button", name="Show 50 more").click()
    rows.nth(2).wait_for()
    expect(rows.nth(2)).to_be_focused()
    assert rows.last.inner_text() == "Signed up"
    expect(tab.get_by_role("button", name="Show 50 more")).to_have_count(0)


def test_export_is_readable_zip_file(tab, bea):
    tab.goto(f"{bea.url}/profile")
    with tab.expect_download() as begun:
        tab.get_by_role("button", name="Download my data").click()
    file = Path(begun.value.path()).read_bytes()
    assert begun.value.suggested_filename.startswith("svc-export-20")
    names = zipfile.ZipFile(io.BytesIO(file)).namelist()
    assert {"README.txt", "events.csv"} <= {name.rsplit("/", 1)[-1] for name in names}
    tab.get_by_text("The file is in your downloads.").wait_for()


def test_profile_buttons_do_not_move_while_loading(tab, bea):
    held = []
    tab.route("**/v1/me/sessions", lambda route: held.append(route))
    with tab.expect_request("**/v1/me/sessions"):
        tab.goto(f"{bea.url}/profile")
    tab.get_by_role("heading", name="Profile", level=1).wait_for()
    button = tab.get_by_role("button", name="Delete user account…")
    assert button.count() == 0
    held[0].continue_()
    button.wait_for()
    assert tab.get_by_role("table", name="Active sessions").count() == 1
