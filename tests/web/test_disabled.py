"""Pages of a link and a site that the operator has disabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from playwright.sync_api import expect
from pydantic import SecretStr

from edge_worker.harness.service import eventually
from svc.clock import system_clock
from svc.config import StoreConfig
from svc.store import moderation, open_store
from tests.web.browser import close, new_context, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from edge_worker.emulator.client import Customer
    from svc.store.moderation import TargetKind
    from svc.store.tx import Tx
    from tests.web.world import World

REASON = "Phishing <b>report 7</b>"


def disable(world: World, kind: TargetKind, target_id: str) -> None:
    """Disable an object as `svc link disable` and `svc site disable` do."""

    def run() -> Tx[bool]:
        [target] = yield from moderation.with_id(kind, target_id)
        return (yield from moderation.disable(target, REASON, system_clock()))

    async def apply() -> None:
        async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{world.place.folder / 'svc.db'}"))) as store:
            assert await store.run(run())

    trio.run(apply)


@pytest.fixture
def page(browser: Browser, world: World) -> Page:
    context = new_context(browser)
    sign_in(context, world.place)
    return context.new_page()


def test_pages_of_a_disabled_link_and_site_show_the_reason_and_offer_no_change(
    page: Page, world: World, customer: Customer, zone: str
) -> None:
    account_id = world.connected(customer)

    async def ready() -> bool | None:
        state = world.call("GET", f"/v1/accounts/{account_id}")["account"]["state"]
        return state in ("ready", "connected") or None

    trio.run(eventually, ready)
    world.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    body = {"account_id": account_id, "url": "https://a.example/", "code": "bad"}
    link = world.call("POST", "/v1/links", body)["link"]
    site = world.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})["site"]
    disable(world, "link", link["id"])
    disable(world, "site", site["id"])
    try:
        page.goto(world.place.at(f"/links?q=bad&account_id={account_id}"))
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="bad", exact=True))
        expect(row).to_contain_text("Disabled")
        expect(row.get_by_role("link", name="Edit")).to_have_count(0)
        page.goto(world.place.at(f"/links/{link['id']}"))
        expect(page.get_by_text("The operator of this service disabled this link")).to_be_visible()
        expect(page.get_by_text(f"Reason: {REASON}")).to_be_visible()
        expect(page.get_by_text("Test link")).to_have_count(0)
        page.goto(world.place.at(f"/links/{link['id']}/edit"))
        expect(page.get_by_text(f"Reason: {REASON}")).to_be_visible()
        expect(page.get_by_role("button", name="Save")).to_have_count(0)

        page.goto(world.place.at(f"/sites?q={zone}"))
        expect(page.get_by_role("row").filter(has_text=zone)).to_contain_text("Disabled")
        page.goto(world.place.at(f"/sites/{site['id']}"))
        expect(page.get_by_text("The operator of this service disabled this site")).to_be_visible()
        expect(page.get_by_text(f"Reason: {REASON}")).to_be_visible()
        page.goto(world.place.at(f"/sites/{site['id']}/settings"))
        expect(page.get_by_text(f"Reason: {REASON}")).to_be_visible()
        expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
        expect(page.get_by_role("button", name="Change tracking path")).to_have_count(0)
        expect(page.get_by_role("button", name="Delete")).to_be_visible()
        page.goto(world.place.at("/events"))
        expect(page.get_by_text("Site disabled").first).to_be_visible()
        expect(page.get_by_text("Link disabled").first).to_be_visible()
    finally:
        world.call("DELETE", f"/v1/accounts/{account_id}")
        close(page.context)
