"""Lists of sites and links, their buttons, and the pages of objects that do not exist."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.web.browser import fetched
from tests.web.visit import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place
    from tests.web.world import World


@pytest.mark.parametrize(
    ("path", "title", "button", "place"),
    [
        ("/sites/bad", "This site does not exist", "Go to sites", "/sites"),
        ("/sites/site_a/settings", "This site does not exist", "Go to sites", "/sites"),
        ("/links/%3Cscript%3E", "This link does not exist", "Go to links", "/links"),
        ("/links/lnk_a/edit", "This link does not exist", "Go to links", "/links"),
        ("/accounts/acc_a", "This account does not exist", "Go to accounts", "/accounts"),
    ],
)
def test_page_of_an_unknown_object_says_so(
    furnished: Place, tab: Page, path: str, title: str, button: str, place: str
) -> None:
    tab.goto(furnished.url + path)
    tab.get_by_role("heading", level=1, name=title).wait_for()
    assert tab.get_by_role("alert").count() == 0
    assert tab.get_by_role("button", name="Try again").count() == 0
    expect(tab.get_by_role("heading", level=1)).to_be_focused()
    tab.get_by_role("main").get_by_role("link", name=button).click()
    tab.wait_for_url(f"**{place}")


def many(kind: str, number: int) -> Any:
    """Return a route handler that responds to a list request with `number` copies of the list's first entry."""

    def answer(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        [first, *_] = body[kind]
        names = {"sites": "host", "links": "code"}
        body[kind] = [{**first, "id": f"{first['id']}{i}", names[kind]: f"name{i}.example"} for i in range(number)]
        body.pop("next_cursor", None)
        route.fulfill(response=response, json=body)

    return answer


@pytest.mark.parametrize("kind", ["sites", "links"])
def test_filters_appear_from_ten_rows_on(furnished: Place, tab: Page, kind: str) -> None:
    """A list with fewer than ten rows has no filters, but has a link to the deleted objects. If the URL contains a
    filter, the list always has filters.
    """
    order = tab.get_by_label("Sort by")
    for number, shown in ((9, 0), (10, 1)):
        tab.route(re.compile(rf"/v1/{kind}\?.*limit=50"), many(kind, number))
        tab.goto(f"{furnished.url}/{kind}")
        expect(tab.locator(".rows tbody tr")).to_have_count(number)
        expect(order).to_have_count(shown)
        expect(tab.get_by_role("link", name=f"Show deleted {kind}")).to_have_count(1 - shown)
        tab.unroute_all(behavior="wait")
    tab.goto(f"{furnished.url}/{kind}?state=deleted")
    expect(order).to_have_count(1)


def test_buttons_of_a_link_are_icons_with_names(furnished: Place, tab: Page) -> None:
    """A row has a status only if there is something to report."""
    tab.goto(f"{furnished.url}/links?q=hello")
    row = tab.get_by_role("row").filter(has_text="hello")
    for role, name in (("button", "Copy"), ("button", "QR code"), ("link", "Edit")):
        element = row.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]  # one of the roles above
        expect(element).to_have_attribute("title", name)
        expect(element).to_have_text("")

    def syncing(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        for link in body["links"]:
            link["config"] = "pending" if link["code"] == "hello" else "synced"
        route.fulfill(response=response, json=body)

    tab.route(re.compile(r"/v1/links\?.*limit=50"), syncing)
    tab.reload()
    expect(row).to_contain_text("Syncing")
    tab.unroute_all(behavior="wait")


def test_refused_copy_shows_the_text(furnished: Place, tab: Page) -> None:
    """If the browser provides no clipboard API, the page selects and copies the text. If the browser refuses this as
    well, the page shows the text.
    """
    tab.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    tab.goto(f"{furnished.url}/links?q=hello")
    row = tab.get_by_role("row").filter(has_text="hello")
    row.get_by_role("button", name="Copy", exact=True).click()
    expect(row.get_by_role("status")).to_have_text("Copied")
    tab.evaluate("document.execCommand = () => false")
    row.get_by_role("button", name="Copy", exact=True).click()
    expect(row.get_by_role("status")).to_have_text(re.compile(r"The browser does not allow copying.*https://.*/hello"))
    expect(row.get_by_role("button", name="Copy", exact=True)).to_be_focused()


def test_rules_of_a_link_come_before_its_report(furnished: Place, tab: Page) -> None:
    tab.goto(furnished.at("/links/:id"))
    tab.locator(".breakdown").first.wait_for()
    headings = tab.get_by_role("main").get_by_role("heading", level=2).all_inner_texts()
    assert headings.index("Destinations") < headings.index("Over time")
    visit = Visit(tab, furnished.url)
    visit.open("a link", tab.url)
    assert visit.found == []


def test_key_hints_follow_the_setting(furnished: Place, tab: Page) -> None:
    """Each button that creates an object shows its shortcut key, unless the user has turned shortcuts off."""
    for path, name in (("/sites", "Add site"), ("/links", "New link"), ("/accounts", "Connect an account")):
        tab.goto(furnished.url + path)
        button = tab.locator(".page-head").get_by_role("link", name=name, exact=True)
        expect(button.locator("kbd")).to_have_text("n")
    tab.evaluate("localStorage.setItem('shortcuts', 'off')")
    tab.goto(f"{furnished.url}/sites")
    tab.get_by_role("link", name="Add site", exact=True).first.wait_for()
    expect(tab.locator("kbd.hint-key")).to_have_count(0)


def test_activity_shows_a_connect_as_one_entry(furnished: Place, tab: Page, world: World, customer: Customer) -> None:
    """The entry shows the account's latest status as its result. The user can expand it to see the status changes that
    the connect operation caused.
    """
    account_id = world.connected(customer)
    tab.goto(f"{furnished.url}/accounts/{account_id}")
    expect(tab.locator("main .mark").filter(has_text="Ready").first).to_be_visible()
    tab.goto(f"{furnished.url}/events")
    # Other tests may have connected other accounts.
    account = tab.locator(f"a[href='/accounts/{account_id}']")
    row = tab.get_by_role("row").filter(has=tab.get_by_role("rowheader", name=re.compile("^Account connected")))
    row = row.filter(has=account)
    expect(row).to_have_count(1)
    expect(row.get_by_role("cell").last).to_have_text(re.compile("Ready"))
    expect(tab.get_by_role("rowheader", name=re.compile("^Account status changed"))).to_have_count(0)
    row.locator("summary").click()
    expect(row.get_by_role("listitem").first).to_contain_text("Connecting")
    expect(row.get_by_role("listitem").last).to_contain_text("Ready")
    box = tab.get_by_role("checkbox", name="Also show automatic status changes")
    box.check()
    tab.wait_for_url("**/events?states=on")
    visit = Visit(tab, furnished.url)
    visit.open("the activity", tab.url)
    assert visit.found == []


@pytest.mark.parametrize(("age", "marked"), [(timedelta(minutes=5), 0), (timedelta(hours=3), 1)])
def test_site_without_views_is_marked_only_when_the_worker_could_have_reported_one(
    furnished: Place, tab: Page, age: timedelta, marked: int
) -> None:
    def answer(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        created_at = (datetime.now(tz=UTC) - age).isoformat().replace("+00:00", "Z")
        without = {"first_view_at": None, "views_7d": 0, "created_at": created_at}
        body["sites"] = [{**each, **without} for each in body["sites"]]
        route.fulfill(response=response, json=body)

    tab.route("**/v1/sites?*", answer)
    tab.goto(f"{furnished.url}/sites")
    row = tab.get_by_role("row").filter(has_text="shop.example")
    row.wait_for()
    expect(row.get_by_text("No views yet")).to_have_count(marked)
