"""Tests of German texts, including the translations of texts that the API returns only in English."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from edge_worker.harness.visitors import DESKTOP_CHROME
from tests.web.browser import close, new_context, signed_in_tab
from tests.web.places import EMAIL, PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place
    from tests.web.world import World


@pytest.fixture
def tab(browser: Browser, furnished: Place) -> Iterator[Page]:
    with signed_in_tab(browser, furnished, locale="de-DE") as tab:
        yield tab


def test_field_and_host_errors_are_german(furnished: Place, tab: Page) -> None:
    tab.goto(furnished.at("/sites/new"))
    tab.get_by_label("Host").fill("nirgends.example")
    tab.get_by_text("Ausnahmen").click()
    tab.get_by_role("button", name="Ausgenommene Länder: Keine").click()
    tab.get_by_role("button", name="EU").click()
    tab.get_by_role("button", name=re.compile("Ausgenommene Länder: .* und 22 weitere$")).wait_for()
    tab.locator("textarea[name=excluded_paths]").fill("admin")
    send = tab.locator("form button[type=submit]")
    send.click()
    tab.get_by_text("Ein Pfad beginnt mit /").wait_for()
    tab.locator("textarea[name=excluded_paths]").fill("\n".join(f"/{number}" for number in range(51)))
    send.click()
    tab.get_by_text("Höchstens 50 Einträge.").wait_for()
    tab.locator("textarea[name=excluded_paths]").fill("")
    send.click()
    tab.get_by_role("alert").get_by_text("Der Host liegt in keiner Zone").wait_for()
    assert tab.locator("html").get_attribute("lang") == "de"


def test_findings_are_german(furnished: Place, world: World, customer: Customer, zone: str, tab: Page) -> None:
    account_id = world.connected(customer)
    tab.goto(f"{furnished.url}/accounts/{account_id}#check")
    expect(tab.locator(".page-head .mark")).to_have_text(re.compile("Bereit"))
    world.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    tab.reload()
    expect(tab.get_by_role("region", name="Link-Host")).to_contain_text("Aktiv")
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, dns=[]))
    tab.get_by_role("button", name="Jetzt prüfen").click()
    finding = tab.get_by_role("region", name="Prüfung").get_by_role("listitem")
    expect(finding.first).to_contain_text(f"Der DNS-Eintrag von go.{zone}")
    expect(finding.first).to_contain_text("fehlt oder läuft nicht über den Proxy")
    expect(finding.first).to_contain_text("Legen Sie den Eintrag im Cloudflare-Dashboard an")


def test_remaining_resources_are_german(furnished: Place, world: World, customer: Customer, tab: Page) -> None:
    account_id = world.connected(customer)
    tab.goto(f"{furnished.url}/accounts/{account_id}")
    expect(tab.locator(".page-head .mark")).to_have_text(re.compile("Bereit"))
    script = "*/workers/scripts/svc-edge"
    world.platform(lambda emulator: emulator.fault("drop_before", script, method="DELETE", times=None))
    tab.get_by_role("link", name="0 Links").wait_for()
    tab.get_by_role("link", name="0 Websites").wait_for()
    tab.get_by_role("button", name="Weitere Aktionen").click()
    tab.get_by_role("menuitem", name="Trennen").click()
    tab.get_by_role("dialog").get_by_role("button", name="Trennen").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text(re.compile("^Getrennt"))
    left = tab.locator("main li").all_inner_texts()
    assert "Worker svc-edge: Cloudflare war gestört oder nicht erreichbar." in left
    assert not [sentence for sentence in left if "the " in sentence]


def test_german_error_quotes_cloudflare(furnished: Place, world: World, customer: Customer, tab: Page) -> None:
    said = {"method": "PUT", "status": 400, "code": 10021, "message": "Uncaught Error at line 7"}
    world.platform(lambda emulator: emulator.fault("refuse", "*/workers/scripts/svc-edge*", times=None, **said))
    account_id = world.connected(customer)
    tab.goto(f"{furnished.url}/accounts/{account_id}")
    trouble = tab.get_by_role("alert")
    expect(trouble).to_contain_text("Cloudflare hat die Anfrage abgelehnt.")
    expect(trouble).to_contain_text("Uncaught Error at line 7")


def test_plan_browser_and_rejected_lines_are_german(furnished: Place, browser: Browser) -> None:
    agent = DESKTOP_CHROME.user_agent
    context = new_context(browser, locale="de-DE", user_agent=agent)
    context.request.post(
        f"{furnished.url}/auth/sign-in", data={"email": EMAIL, "password": PASSWORD}, headers={"User-Agent": agent}
    )
    tab = context.new_page()
    tab.goto(f"{furnished.url}/profile")
    expect(tab.get_by_role("rowheader", name=re.compile("^Chrome unter ")).first).to_be_visible()
    expect(tab.get_by_role("definition").filter(has_text="Kostenlos")).to_be_visible()
    tab.goto(f"{furnished.url}/links/import")
    tab.locator("textarea").fill(
        "http://shop.example/,so-nicht\nhttps://shop.example/,robots\nhttps://shop.example/x,x"
    )
    tab.get_by_role("button", name="Vorschau").click()
    expect(tab.get_by_role("row", name="https://shop.example/x")).to_contain_text("Der Code ist zu kurz.")
    tab.get_by_role("button", name="2 Links importieren").click()
    expect(tab.get_by_role("row", name="http://shop.example/")).to_contain_text("Ziel: Muss eine https-Adresse")
    expect(tab.get_by_role("row", name="https://shop.example/")).to_contain_text("Code: ")
    close(context)
