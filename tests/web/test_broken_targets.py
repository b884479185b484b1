"""Broken targets of links in the overview, in the list of links, and on the link's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from playwright.sync_api import expect
from pydantic import SecretStr

from edge_worker.harness.service import eventually
from svc.clock import system_clock
from svc.config import StoreConfig
from svc.store import open_store
from tests.store.makers import a_broken_target
from tests.web.browser import close, new_context, sign_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from edge_worker.emulator.client import Customer
    from tests.web.world import World


def break_target(world: World, url: str) -> None:
    """Record two requests with a problem, as the service does."""

    async def apply() -> None:
        async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{world.place.folder / 'svc.db'}"))) as store:
            await store.run(a_broken_target(url, "http_404", system_clock()))

    trio.run(apply)


@pytest.fixture
def link(world: World, customer: Customer, zone: str) -> Iterator[dict[str, Any]]:
    """Add an account with two links, one of which has a broken target, and yield this link."""
    account_id = world.connected(customer)

    async def ready() -> bool | None:
        state = world.call("GET", f"/v1/accounts/{account_id}")["account"]["state"]
        return state in ("ready", "connected") or None

    trio.run(eventually, ready)
    world.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    world.call("POST", "/v1/links", {"account_id": account_id, "code": "works", "url": "https://works.example/"})
    url = "https://shop.example/%3Cb%3Esale%3C/b%3E"
    made = world.call("POST", "/v1/links", {"account_id": account_id, "code": "broken", "url": url})["link"]
    break_target(world, url)
    yield made
    world.call("DELETE", f"/v1/accounts/{account_id}")


def tab(browser: Browser, world: World, **more: Any) -> Page:
    context = new_context(browser, **more)
    sign_in(context, world.place)
    return context.new_page()


def test_broken_target_is_found_explained_and_fixed(browser: Browser, world: World, link: dict[str, Any]) -> None:
    page = tab(browser, world)
    page.goto(world.place.url)
    needs = page.get_by_role("region", name="Needs attention").get_by_role("listitem")
    needs = needs.filter(has_text="Links with broken destinations: 1")
    needs.get_by_role("link", name="Links").click()

    rows = page.get_by_role("row")
    expect(rows).to_have_count(2)  # the number includes the header row
    expect(rows.nth(1)).to_contain_text("Broken destination")
    expect(page.get_by_label("Show", exact=True)).to_have_value("broken")
    page.get_by_role("link", name="broken", exact=True).click()

    destinations = page.get_by_role("region", name="Destinations")
    expect(destinations).to_contain_text("The page was not found (status 404).")
    expect(destinations).to_contain_text("Open the destination in a browser.")
    expect(destinations.locator("b")).to_have_count(0)
    world.call("PATCH", f"/v1/links/{link['id']}", {"url": "https://shop.example/new"})
    page.reload()
    expect(destinations).to_contain_text("shop.example/new")
    expect(destinations).not_to_contain_text("status 404")

    page.goto(world.place.at("/links?state=broken"))
    expect(page.get_by_text("No broken destinations.")).to_be_visible()
    close(page.context)


def test_broken_target_in_german(browser: Browser, world: World, link: dict[str, Any]) -> None:
    page = tab(browser, world, locale="de-DE")
    page.goto(world.place.at(f"/links/{link['id']}"))
    expect(page.get_by_role("region", name="Ziele")).to_contain_text("Die Seite wurde nicht gefunden (Status 404).")
    page.goto(world.place.at("/links?q=broken"))
    expect(page.get_by_role("row").filter(has_text="Ziel nicht erreichbar")).to_have_count(1)
    close(page.context)
