"""Tests of links: create links with rules; test, scan, import, find and delete them; edit one in two windows."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
import zxingcpp
from playwright.sync_api import expect

from tests.qr.test_svg import read
from tests.web.browser import close, fetched, new_context, sign_in
from tests.web.places import EMAIL, PASSWORD
from tests.web.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route

    from tests.web.places import Place

HOST = "go.shop.example"
# Draws an image file, and returns its width and the red value of each pixel.
PIXELS = """async (file) => {
  const bytes = Uint8Array.from(atob(file), (sign) => sign.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const { data } = canvas.getImageData(0, 0, image.width, image.height);
  return { width: image.width, red: Array.from({ length: data.length / 4 }, (_, i) => data[4 * i]) };
}"""


@pytest.fixture
def api(furnished: Place) -> Iterator[httpx.Client]:
    """An API client for the user of `furnished`."""
    with httpx.Client(base_url=furnished.url, trust_env=False, timeout=30) as client:
        session = client.post("/auth/sign-in", json={"email": EMAIL, "password": PASSWORD}).json()
        client.headers["Authorization"] = f"Bearer {session['access_token']}"
        yield client


@pytest.fixture
def visit(browser: Browser, furnished: Place) -> Iterator[Visit]:
    context = new_context(browser, permissions=["clipboard-read", "clipboard-write"], accept_downloads=True)
    sign_in(context, furnished)
    yield Visit(context.new_page(), furnished.url)
    close(context)


def link_of(api: httpx.Client, code: str) -> dict[str, Any]:
    """Return the link with this code from the API."""
    (found,) = [one for one in api.get("/v1/links", params={"q": code}).json()["links"] if one["code"] == code]
    return dict(found)


def pick(page: Page, rule: int, *countries: str) -> None:
    """Choose countries for a rule by typing their names."""
    row = page.get_by_role("group", name=f"Rule {rule}", exact=True)
    if row.get_by_label("Find a country").count() == 0:
        row.get_by_role("button", name=f"Countries of rule {rule}").click()
    for country in countries:
        row.get_by_label("Find a country").fill(country)
        page.keyboard.press("Enter")  # selects the only match without submitting the form
    row.get_by_role("button", name="Done").click()


def test_create_test_scan_edit_and_delete_link(visit, furnished, api, tmp_path):
    page = visit.page
    page.goto(f"{furnished.url}/links")
    page.get_by_role("table", name="Links").wait_for()
    page.keyboard.press("n")
    page.get_by_label("Destination", exact=True).fill("https://shop.example/all")
    page.get_by_label("Code").fill("sale")
    page.get_by_role("button", name="Add rule").click()
    pick(page, 1, "Germany", "Austria")
    page.get_by_label("go to").fill("ftp://shop.example/dach")
    page.get_by_role("button", name="Add rule").click()
    pick(page, 2, "Germany")
    page.get_by_label("Devices of rule 2").select_option("mobile")
    page.get_by_label("go to").nth(1).fill("https://shop.example/de-mobile")
    page.get_by_role("button", name="Create link").click()
    wrong = page.get_by_label("go to").first
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(wrong).to_be_focused()
    visit.found.clear()  # the browser logs an error response
    page.get_by_role("button", name="Countries of rule 1: Germany and Austria").click()
    page.get_by_label("Find a country").fill("land")
    visit.axe("with a wrong rule and the countries")
    wrong.fill("shop.example/dach")
    expect(wrong).not_to_have_attribute("aria-invalid", "true")  # a corrected field loses its error immediately
    check_country_groups(page)
    page.get_by_role("button", name="Move up: rule 2").click()
    expect(page.get_by_role("button", name="Move up: rule 1")).to_be_focused()
    expect(page.get_by_role("button", name="Move up: rule 1")).to_have_attribute("title", "Move up: rule 1")
    expect(page.get_by_role("img", name="Drag to move this rule")).to_have_count(2)
    page.get_by_role("button", name="Create link").click()
    page.get_by_role("heading", level=1, name=f"{HOST}/sale").wait_for()
    link = link_of(api, "sale")
    assert (link["url"], link["rules"]) == (
        "https://shop.example/all",
        [
            {"countries": ["DE"], "devices": ["mobile"], "url": "https://shop.example/de-mobile"},
            {"countries": ["DE", "AT"], "url": "https://shop.example/dach"},
        ],
    )
    page.locator(".mark", has_text="Live").wait_for()
    check_test_form_matches_edge(page, furnished)
    visit.axe("with what was tried")

    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("q")
    check_qr_code(page, tmp_path)
    visit.axe("with the QR code")
    page.keyboard.press("Escape")

    check_edit_in_two_windows(visit, api, link["id"])

    page.get_by_role("button", name="Delete").click()
    expect(
        page.get_by_role("dialog", name=f"Delete {HOST}/sale?").get_by_label("To confirm, type sale")
    ).to_be_focused()
    page.keyboard.type("sale")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Links", exact=True).wait_for()
    expect(page.get_by_role("link", name="hello", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="sale", exact=True)).to_have_count(0)
    assert api.get(f"/v1/links/{link['id']}").json()["link"]["state"] == "deleted"
    page.goto(f"{furnished.url}/links/{link['id']}")
    page.get_by_text("This link was deleted.").wait_for()
    check_deleted_link_is_listed(visit, furnished)
    assert visit.found == []


def check_country_groups(page: Page) -> None:
    """Check that the button of a country group selects or deselects the group's countries, and no others. The button
    shows whether all of these countries are selected.
    """
    row = page.get_by_role("group", name="Rule 1", exact=True)
    nordics = row.get_by_role("button", name="Nordic countries")
    expect(nordics).to_have_attribute("aria-pressed", "false")
    nordics.click()
    expect(nordics).to_have_attribute("aria-pressed", "true")
    expect(
        row.get_by_role("button", name="Countries of rule 1: Germany, Austria, Denmark, Finland, Iceland")
    ).to_be_visible()
    nordics.click()
    expect(row.get_by_role("button", name="Countries of rule 1: Germany and Austria")).to_be_visible()


def check_deleted_link_is_listed(visit: Visit, place: Place) -> None:
    """Check that a deleted link is listed with its report, and can be restored."""
    page = visit.page
    page.goto(f"{place.url}/links")
    expect(page.get_by_role("link", name="hello", exact=True)).to_be_visible()
    page.goto(f"{place.url}/links?state=deleted")  # the filters are hidden if there are few links
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="sale", exact=True))
    expect(row.locator(".mark", has_text="Deleted")).to_be_visible()
    expect(row.get_by_role("button")).to_have_text(["Restore"])
    hello = page.get_by_role("row").filter(has=page.get_by_role("link", name="hello", exact=True))
    expect(hello.locator(".mark", has_text="Live")).to_have_count(0)
    visit.axe("with the deleted links")
    row.get_by_role("link", name="sale").click()
    page.get_by_text("This link was deleted.").wait_for()


def test_breakdowns_of_another_period_are_read_only_when_visible(browser: Browser, furnished: Place) -> None:
    """The breakdowns of the first period are read when its chart is shown."""
    context = new_context(browser, viewport={"width": 800, "height": 300})
    sign_in(context, furnished)
    page = context.new_page()
    read: list[str] = []
    page.on("request", lambda request: read.append(request.url) if "breakdowns=1" in request.url else None)
    page.goto(f"{furnished.url}/links")
    page.get_by_role("link", name="hello", exact=True).click()
    page.locator(".report .totals .figure").first.wait_for()
    page.get_by_role("link", name="30 days").click()
    page.locator(".report .totals .figure").first.wait_for()
    assert queries(read) == ["period=7d&by=day&breakdowns=1"]
    with page.expect_response(lambda response: "breakdowns=1" in response.url):
        page.locator(".report .lists").scroll_into_view_if_needed()
    assert queries(read) == ["period=7d&by=day&breakdowns=1", "period=30d&by=day&breakdowns=1"]
    close(context)


def queries(urls: list[str]) -> list[str]:
    return [url.partition("?")[2] for url in urls]


def check_test_form_matches_edge(page: Page, place: Place) -> None:
    """Check that the test form shows the destination to which the edge redirects."""
    page.locator("summary", has_text="Test link").click()
    expect(page.get_by_label("Country", exact=True)).to_have_value("DE")
    landed = []
    visitors = [
        ("DE", "phone", "Safari"),
        ("AT", "phone", "Mobile"),
        ("DE", "computer", "Chrome"),
        ("XX", "phone", "iOS"),
    ]
    for country, agent, counted in visitors:
        page.get_by_label("Country", exact=True).select_option(country)
        page.get_by_label("Device", exact=True).select_option(agent)
        with page.expect_response("**/explain") as asked:
            page.get_by_role("button", name="Test", exact=True).click()
        sent = json.loads(asked.value.request.post_data or "")
        headers = {"User-Agent": sent["user_agent"]}
        real = place.visit(HOST, "/sale", headers=headers, cf={"country": country})["headers"]["location"]
        note = page.get_by_role("region", name="Destinations").locator(".note")
        expect(note.locator("code")).to_have_text(real)
        expect(note).to_contain_text(counted)
        landed.append(real.rpartition("/")[2])
    assert landed == ["de-mobile", "dach", "dach", "all"]
    page.get_by_label("Device", exact=True).select_option("crawler")
    page.get_by_role("button", name="Test", exact=True).click()
    page.get_by_text("Counted as a bot").wait_for()


def check_qr_code(page: Page, folder: Path) -> None:
    """Check that the image and both files encode the short URL with the parameter that marks a scan."""
    dialog = page.get_by_role("dialog")
    address = f"https://{HOST}/sale?q"
    expect(dialog.get_by_role("img", name=f"QR code for {address}")).to_be_visible()
    expect(dialog.get_by_role("button", name="Download PNG")).to_be_focused()
    expect(dialog.get_by_label("Size").locator("option:checked")).to_have_text(
        re.compile("1024 pixels, for printing at up to 9 cm")
    )
    dialog.get_by_label("Size").select_option("256")
    files = {}
    for kind in ("PNG", "SVG"):
        with page.expect_download() as download:
            dialog.get_by_role("button", name=f"Download {kind}").click()
        assert download.value.suggested_filename == f"sale-256.{kind.lower()}"
        files[kind] = folder / kind
        download.value.save_as(files[kind])
    assert read(files["SVG"].read_text()).text == address
    drawn = page.evaluate(PIXELS, base64.b64encode(files["PNG"].read_bytes()).decode())
    assert drawn["width"] == 256
    (code,) = zxingcpp.read_barcodes(np.array(drawn["red"], dtype=np.uint8).reshape(256, 256))
    assert code.text == address


def check_edit_in_two_windows(visit: Visit, api: httpx.Client, link_id: str) -> None:
    """Check that a conflicting edit shows the current version before overwriting it."""
    page = visit.page
    other = page.context.new_page()
    other.goto(f"{page.url}/edit")
    other.get_by_label("Destination", exact=True).fill("https://shop.example/second")
    page.keyboard.press("e")
    page.get_by_role("heading", level=1, name="Edit link").wait_for()
    page.get_by_label("Destination", exact=True).fill("https://shop.example/first")
    page.get_by_role("button", name="Remove rule 2").click()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", level=1, name=f"{HOST}/sale").wait_for()

    other.get_by_role("button", name="Save changes").click()
    note = other.locator(".note", has_text="changed by someone else")
    expect(note).to_contain_text("Everyone else goes to https://shop.example/first")
    assert api.get(f"/v1/links/{link_id}").json()["link"]["url"] == "https://shop.example/first"
    other.get_by_role("button", name="Save changes").click()
    other.get_by_role("heading", level=1, name=f"{HOST}/sale").wait_for()
    link = api.get(f"/v1/links/{link_id}").json()["link"]
    assert (link["url"], len(link["rules"])) == ("https://shop.example/second", 2)
    other.close()


def test_restricted_links_are_imported_only_when_included(visit, furnished, api):
    page = visit.page
    page.goto(f"{furnished.url}/links/import")
    lines = [f"kutt-{i},https://shop.example/kutt,{banned},{password}" for i, banned, password in
             ((1, "f", ""), (2, "t", ""), (3, "f", "$2b$12$x"))]  # fmt: skip
    page.get_by_label("Links", exact=True).fill("\n".join(["address,target,banned,password", *lines]))
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Import 1 link").wait_for()
    restricted = page.get_by_role("table", name=re.compile("2 links were restricted"))
    expect(restricted.get_by_role("row").nth(1)).to_contain_text("Banned or marked as unsafe")
    expect(restricted.get_by_role("row").nth(2)).to_contain_text("Password-protected")
    visit.axe("with restricted links")
    include = page.get_by_label("Import these links too.")
    include.check()
    page.get_by_role("button", name="Import 3 links").wait_for()
    include.uncheck()
    page.get_by_role("button", name="Import 1 link").click()
    page.get_by_role("heading", name="1 link was imported.").wait_for()
    assert [link["code"] for link in api.get("/v1/links", params={"q": "kutt-"}).json()["links"]] == ["kutt-1"]


def downloaded(page: Page) -> list[str]:
    """Download the lines that were not accepted. Return the lines of the file."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Download these lines as CSV").click()
    return download.value.path().read_text("utf-8-sig").splitlines()


def test_qr_code_opens_from_the_list(visit, furnished):
    """The dialog has readable buttons, and none of its text is clipped."""
    page = visit.page
    page.goto(f"{furnished.url}/links")
    page.get_by_role("group", name=f"{HOST}/hello").get_by_role("button", name="QR code").click()
    dialog = page.get_by_role("dialog", name=f"QR code for {HOST}/hello")
    dialog.get_by_role("img").wait_for()
    visit.axe("with the QR code of a row")
    assert dialog.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    expect(dialog.get_by_text("Scans are counted")).to_have_css("white-space-collapse", "collapse")
    assert visit.found == []


# The browser's time on pages whose content depends on the time. It does not advance, so the result is the same on a
# slow machine.
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


def test_new_link_is_previewed_copied_and_undone(visit, furnished, api):
    page = visit.page
    page.clock.set_fixed_time(NOON)
    page.goto(f"{furnished.url}/links/new")
    code = page.get_by_label("Code")
    expect(code).to_have_accessible_description(f"{HOST}/ Leave empty for a random code.")
    page.get_by_label("Destination", exact=True).fill("shop.example/sale?x=%2F&utm_source=old&y=1#top")
    preview = page.locator(".preview")
    expect(preview).to_contain_text(f"{HOST}/random code → https://shop.example/sale?x=%2F")
    page.locator("summary", has_text="UTM parameters").click()
    expect(page.get_by_label("Source")).to_have_value("old")
    page.get_by_label("Source").fill("spring news")
    page.get_by_label("Medium").fill("email")
    target = "https://shop.example/sale?x=%2F&utm_source=spring%20news&y=1&utm_medium=email#top"
    code.fill("x")
    expect(preview).to_contain_text(f"{HOST}/x → {target}")
    page.get_by_role("button", name="Create link").click()
    page.get_by_text("Use 3 to 32 characters: letters (A to Z), digits, hyphens and underscores.").wait_for()
    visit.found.clear()  # the browser logs an error response
    visit.axe("with a wrong code")
    code.fill("undone")
    page.get_by_role("button", name="Create link").click()
    page.get_by_role("status").filter(has_text="Link created. The short link was copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == f"https://{HOST}/undone"
    link = link_of(api, "undone")
    assert link["url"] == target
    page.get_by_role("img", name=f"QR code for https://{HOST}/undone?q").wait_for()
    visit.axe("with the new link")
    page.get_by_role("button", name="Undo").press("Enter")
    page.get_by_role("status").filter(has_text="The new link was deleted.").wait_for()
    page.get_by_text("This link was deleted.").wait_for()
    assert api.get(f"/v1/links/{link['id']}").json()["link"]["state"] == "deleted"
    page.get_by_role("link", name="Create another link").click()
    expect(page.get_by_label("Destination", exact=True)).to_have_value(target)
    assert visit.found == []


def test_undo_is_offered_for_ten_seconds(visit, furnished, api):
    page = visit.page
    page.clock.set_fixed_time(NOON)
    page.goto(f"{furnished.url}/links/new?url=shop.example")
    page.get_by_label("Code").fill("kept-link")
    page.get_by_role("button", name="Create link").click()
    undo = page.get_by_role("button", name="Undo")
    undo.wait_for()
    page.clock.set_fixed_time(NOON + dt.timedelta(seconds=10))
    expect(undo).to_have_count(0)
    expect(page.get_by_role("button", name="Copy short link")).to_be_visible()
    page.get_by_role("link", name="Links", exact=True).first.click()
    page.get_by_role("link", name="kept-link", exact=True).click()
    page.get_by_role("heading", level=1, name=f"{HOST}/kept-link").wait_for()
    expect(page.get_by_text("Link created.")).to_have_count(0)
    assert api.delete(f"/v1/links/{link_of(api, 'kept-link')['id']}").status_code == 200


def test_import_creates_each_link_once(visit, furnished, api):
    """Import a list with invalid lines. The first response is lost. Then search for the links."""
    page = visit.page
    page.goto(f"{furnished.url}/links/import")
    lines = [f"https://shop.example/menu/{i},menu-{i:02}" for i in range(55)]
    lines[3:3] = [
        ",nowhere",
        "https://shop.example/short,ab",
        "https://shop.example/taken,hello",
        "http://shop.example/plain,plain",
    ]
    page.get_by_label("Links", exact=True).fill("\n".join(lines))
    page.get_by_role("button", name="Preview").click()
    wrong = page.get_by_role("table", name=re.compile("cannot be imported"))
    expect(wrong.get_by_role("row").nth(1)).to_contain_text("The URL is missing.")
    expect(wrong.get_by_role("row").nth(2)).to_contain_text("The code is too short. Use at least 3 characters.")
    assert downloaded(page) == [
        "line,url,code,rules,text,reason",
        '4,,,,",nowhere",The URL is missing.',
        "5,https://shop.example/short,ab,,,The code is too short. Use at least 3 characters.",
    ]
    assert api.get("/v1/links", params={"q": "menu-"}).json()["links"] == []

    lost: list[Route] = []

    def lose_once(route: Route) -> None:
        lost.append(route)
        if len(lost) == 1:
            fetched(route)
            route.fulfill(status=500, json={"error": {"code": "internal", "message": "Lost.", "details": {}}})
        else:
            route.continue_()

    page.route("**/v1/links/bulk", lose_once)
    page.get_by_role("button", name="Import 57 links").click()
    page.get_by_role("alert").wait_for()
    page.get_by_role("button", name="Import 57 links").click()
    page.get_by_role("heading", name="55 links were imported.").wait_for()
    refused = page.get_by_role("table", name="2 lines were rejected:")
    expect(refused.get_by_role("row").nth(1)).to_contain_text("has a link with this code")
    expect(refused.get_by_role("row").nth(2)).to_contain_text("starts with https://")
    assert [line.split(",")[:3] for line in downloaded(page)[1:]] == [
        ["6", "https://shop.example/taken", "hello"],
        ["7", "http://shop.example/plain", "plain"],
    ]
    visit.found.clear()  # the browser logs the lost response as an error
    visit.axe("with what was refused")
    assert len(api.get("/v1/links", params={"q": "menu-"}).json()["links"]) == 55
    page.get_by_role("button", name="Fix these lines").click()
    expect(page.get_by_label("Links", exact=True)).to_have_value(re.compile("taken.*\n.*plain"))

    page.goto(f"{furnished.url}/links?order=code&q=menu-")
    rows = page.get_by_role("table", name="Links").locator("tbody tr")
    expect(rows).to_have_count(50)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("c")
    expect(page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    assert page.evaluate("navigator.clipboard.readText()") == f"https://{HOST}/menu-01"
    page.get_by_role("button", name="Show 50 more").click()
    expect(rows).to_have_count(55)
    expect(rows.nth(50).get_by_role("link").first).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("MENU/7")
    expect(rows).to_have_count(1)
    page.wait_for_url("**/links?order=code&q=MENU%2F7")
    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_label("Search").fill("shop.example/<b>new</b>")
    page.get_by_role("link", name="Press Enter to shorten this URL").wait_for()
    page.get_by_label("Search").press("Enter")
    expect(page.get_by_label("Destination", exact=True)).to_have_value("https://shop.example/<b>new</b>")
    assert visit.found == []
    # Delete the links, because other tests share this service and expect their link on the first page of the list.
    for link in api.get("/v1/links", params={"q": "menu-"}).json()["links"]:
        assert api.delete(f"/v1/links/{link['id']}").status_code == 200


def test_new_link_without_an_account_leads_to_connecting_one(context, place):
    page = context.new_page()
    page.goto(f"{place.url}/links/new")
    page.get_by_role("main").get_by_role("link", name="Connect an account").wait_for()
