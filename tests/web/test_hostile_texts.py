"""Texts from visitors and customers are never interpreted as markup."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from playwright.sync_api import expect

from tests.web.browser import close, fetched, new_context, sign_in
from tests.web.places import pages, states

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

    from edge_worker.emulator.client import Customer
    from tests.web.world import World

# Two elements, the end tag of a script, quotes, an entity, and a right-to-left override.
HOSTILE = "<img src=x onerror=\"broken.push('ran')\"><svg onload=alert(1)></script>'\"&lt;b&gt;\u202e"
# Response fields that contain texts from other people: names, hosts, paths, sources, addresses, and messages.
WRITTEN = {
    "name", "host", "url", "text", "short_url", "code", "path", "excluded_paths", "pages", "sources", "countries",
    "devices", "browsers", "os", "bots", "key", "message", "remedy", "browser", "email", "ip", "zones", "allow_ips",
    "revoke_tokens", "revoke_token", "target_name", "via_name",
}  # fmt: skip
# This text has no quotes, because headers and lines of a beacon cannot contain them.
ELEMENT = "<img src=x onerror=broken.push(1)>"


# The fields with hostile text that have occurred in responses so far.
SPOILED: set[str] = set()


def written(value: Any, *, theirs: bool = False) -> Any:
    """Return the JSON with hostile text in all fields that contain texts from other people."""
    match value:
        case dict():
            SPOILED.update(WRITTEN & value.keys())
            return {key: written(each, theirs=theirs or key in WRITTEN) for key, each in value.items()}
        case list():
            return [written(each, theirs=theirs) for each in value]
        case str() if theirs:
            return HOSTILE
        case _:
            return value


def only_text(page: Page, where: str) -> None:
    """Check that no hostile text became an element or was run as a script."""
    assert page.locator("img[src=x], [onload], [onerror]").count() == 0, where
    assert page.evaluate("broken") == [], where


def test_hostile_responses_are_text_on_every_page(browser, furnished, world):
    body = {"site_id": furnished.ids["sites"], "day": time.strftime("%Y-%m-%d", time.gmtime()), "text": "Newsletter"}
    note = world.call("POST", "/v1/notes", body)["note"]
    context = new_context(browser)
    sign_in(context, furnished)
    page = context.new_page()

    def spoiled(route: Route) -> None:
        response = fetched(route)
        if response.headers.get("content-type") != "application/json":
            route.fulfill(response=response)
        else:
            body = response.json()
            for event in body.get("events", ()):  # as if an API key had made each change
                event.update(via=f"key_{'a' * 20}", via_name="robot")
            route.fulfill(response=response, json=written(body))

    context.route(lambda url: "/v1/" in url, spoiled)
    shown = []
    for path in [each["path"] for each in pages() if not each["public"]] + states():
        page.goto(furnished.at(path))
        page.locator("h1").first.wait_for()
        page.wait_for_load_state("networkidle")
        for lists in page.locator(".report .lists").all():  # the lists of a report are read once they are visible
            lists.scroll_into_view_if_needed()
        page.locator(".skeleton").first.wait_for(state="detached")
        only_text(page, path)
        links = page.locator("a").evaluate_all("(all) => all.map((one) => one.protocol)")
        assert set(links) <= {"http:", "https:", "mailto:", ":"}, path  # ":" means a link without a valid URL
        if "<img src=x" in page.locator("body").inner_text():
            shown.append(path)
    close(context)
    world.call("DELETE", f"/v1/notes/{note['id']}", {})
    assert {"/", "/accounts", "/accounts/:id", "/sites", "/sites/:id", "/links", "/links/:id", "/keys"} <= set(shown)
    # The other fields occur only in errors, which test_connect.py checks.
    assert WRITTEN - {"revoke_tokens", "revoke_token", "remedy", "message"} <= SPOILED


def test_hostile_visits_and_names_are_text(browser: Browser, world: World, customer: Customer, zone: str) -> None:
    """Show hostile paths, referrers and campaigns that the Worker counts, and hostile names, rules and user agents."""
    account_id = world.connected(customer)
    context = new_context(browser, user_agent=f"{ELEMENT}/1.0 {ELEMENT}")
    sign_in(context, world.place)
    page = context.new_page()
    page.goto(f"{world.place.url}/accounts/{account_id}")
    page.get_by_text(re.compile("Ready$")).first.wait_for()
    world.call("PATCH", f"/v1/accounts/{account_id}", {"name": ELEMENT})
    page.reload()
    page.get_by_role("heading", level=1, name=ELEMENT, exact=True).wait_for()
    only_text(page, "the account")

    site = world.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})["site"]
    path, source = f"/{quote(ELEMENT)}", f"https://{ELEMENT}.example/{ELEMENT}"
    world.seen(customer, site, f"{path}\n", f"/a\n{source}", f"/b\n\n?utm_source={ELEMENT}", f"/c\n\n?ref={HOSTILE}")
    page.goto(f"{world.place.url}/sites/{site['id']}")
    for shown in ("Pages", "Sources"):
        expect(page.get_by_role("region", name=shown, exact=True)).to_contain_text("onerror")
    only_text(page, "the report")
    page.goto(f"{world.place.url}/profile")
    page.get_by_role("table", name="Active sessions").get_by_role("row").nth(1).wait_for()
    only_text(page, "the sessions")
    page.goto(f"{world.place.url}/events")
    page.get_by_role("table").get_by_role("row").nth(1).wait_for()
    only_text(page, "the history")
    close(context)
    world.call("DELETE", f"/v1/accounts/{account_id}", {})
