"""Email reports: the form in the settings of a site and on the page of an account, and the recipient's page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import trio
from playwright.sync_api import expect

from edge_worker.harness.service import eventually
from tests.web.browser import Held, close, new_context, wait_until_loaded
from tests.web.places import EMAIL
from tests.web.visit import Visit
from tests.web.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from tests.web.places import Place

pytestmark = pytest.mark.rule("Y14")

ANN = "ann@example.org"
NOTHING = {"weekly": False, "monthly": False, "alerts": False, "recipients": []}


@pytest.fixture(autouse=True)
def no_reports(furnished: Place) -> Iterator[World]:
    """Turn the email reports off, because other tests use the same site and account."""
    world = World(furnished)
    yield world
    for kind in ("sites", "accounts"):
        world.call("PUT", f"/v1/{kind}/{furnished.ids[kind]}/mailings", NOTHING)


def opened(tab: Page, address: str) -> Locator:
    tab.goto(address)
    wait_until_loaded(tab)
    for summary in tab.get_by_text("Details", exact=True).all():
        summary.click()
    return tab.get_by_role("region", name="Email reports")


def page_in_email(place: Place, address: str) -> str:
    """Return the URL of the recipient's page in an email to this address."""

    async def found() -> str | None:
        await trio.lowlevel.checkpoint()
        for file in place.folder.rglob("*.eml"):
            text = file.read_text()
            link = re.search(r"List-Unsubscribe: <[^>]*(/m/mlt_\w+)/unsubscribe>", text)
            if link is not None and f"To: {address}" in text:
                return link[1]
        return None

    return place.url + trio.run(eventually, found)


def test_user_sets_reports_and_a_recipient_confirms_and_unsubscribes(
    tab: Page, furnished: Place, browser: Browser
) -> None:
    settings = furnished.at("/sites/:id/settings")
    form = opened(tab, settings)
    expect(form.get_by_text("No recipients yet.")).to_be_visible()
    form.get_by_label("Weekly report, on Mondays").check()
    form.get_by_label("Add recipients").fill(f"{EMAIL}\n{ANN}")
    form.get_by_role("button", name="Save email reports").click()
    expect(form.get_by_role("status")).to_have_text("Saved.")
    rows = form.get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("Confirmed")
    expect(rows.nth(1)).to_contain_text("Not confirmed")
    expect(rows.nth(1)).to_contain_text("Confirmation email sent:")
    expect(form.get_by_label("Add recipients")).to_have_value("")
    expect(form.get_by_label(re.compile("Weekly report, on Mondays .next on "))).to_be_checked()

    recipient = new_context(browser).new_page()
    recipient.goto(page_in_email(furnished, ANN))
    recipient.get_by_role("button", name="Confirm").click()
    expect(recipient.get_by_text(f"{ANN} gets email reports about")).to_be_visible()
    form = opened(tab, settings)
    expect(form.get_by_role("listitem").nth(1)).to_contain_text("Confirmed")
    recipient.get_by_role("button", name="Unsubscribe").click()
    expect(recipient.get_by_role("button", name="Subscribe again")).to_be_visible()
    close(recipient.context)
    form = opened(tab, settings)
    expect(form.get_by_role("listitem").nth(1)).to_contain_text("Only the recipient can subscribe again.")

    form.get_by_role("combobox", name=f"Language of emails to {EMAIL}").select_option("de")
    form.get_by_role("button", name=f"Remove: {ANN}").click()
    form.get_by_role("button", name="Save email reports").click()
    expect(form.get_by_role("status")).to_have_text("Saved.")
    form = opened(tab, settings)
    expect(form.get_by_role("listitem")).to_have_count(1)
    expect(form.get_by_role("combobox", name=f"Language of emails to {EMAIL}")).to_have_value("de")


def test_edits_during_a_request_are_kept(tab: Page, furnished: Place, no_reports: World) -> None:
    recipients = [{"email": EMAIL}, {"email": ANN}]
    no_reports.call("PUT", f"/v1/sites/{furnished.ids['sites']}/mailings", {**NOTHING, "recipients": recipients})
    form = opened(tab, furnished.at("/sites/:id/settings"))
    field, save = form.get_by_label("Add recipients"), form.get_by_role("button", name="Save email reports")
    form.get_by_role("button", name=f"Remove: {ANN}").click()
    # The removal is an edit, which leaving the page would lose.
    tab.get_by_role("link", name="Links", exact=True).click()
    tab.get_by_role("dialog", name="Leave this page?").get_by_role("button", name="Stay").click()
    field.fill("carol@example.org")
    held = Held(tab, "**/mailings", "PUT")
    save.click()
    field.fill("carol@example.org\neve@example.org")
    form.get_by_role("button", name=f"Remove: {EMAIL}").click()
    held.release()
    expect(form.get_by_role("listitem")).to_have_count(1)
    expect(form.get_by_role("listitem")).to_contain_text("carol@example.org")
    expect(field).to_have_value("eve@example.org")
    save.click()
    expect(field).to_have_value("")
    expect(form.get_by_role("listitem")).to_have_count(2)
    tab.get_by_role("link", name="Links", exact=True).click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Links")


def test_invalid_address_is_shown_at_the_field_and_kept(tab: Page, furnished: Place) -> None:
    form = opened(tab, furnished.at("/sites/:id/settings"))
    form.get_by_label("Add recipients").fill("no address")
    form.get_by_role("button", name="Save email reports").click()
    field = form.get_by_label("Add recipients")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("no address")
    expect(form.get_by_role("alert")).to_be_visible()


def test_reports_about_an_account_are_set_on_its_page(tab: Page, furnished: Place) -> None:
    form = opened(tab, furnished.at("/accounts/:id"))
    form.get_by_label("Monthly report, on the first of the month").check()
    form.get_by_role("button", name="Save email reports").click()
    expect(form.get_by_role("status")).to_have_text("Saved.")
    form = opened(tab, furnished.at("/accounts/:id"))
    expect(form.get_by_label(re.compile("Monthly report"))).to_be_checked()


@pytest.mark.rule("Y15")
@pytest.mark.parametrize(("path", "kind"), [("/sites/:id/settings", "sites"), ("/accounts/:id", "accounts")])
def test_alerts_are_turned_on_and_off(tab: Page, furnished: Place, no_reports: World, path: str, kind: str) -> None:
    label = "Alerts about spikes, drops and missing views"
    for wanted in (True, False):
        form = opened(tab, furnished.at(path))
        expect(form.get_by_label(label)).to_be_checked(checked=not wanted)
        form.get_by_label(label).set_checked(wanted)
        form.get_by_role("button", name="Save email reports").click()
        expect(form.get_by_role("status")).to_have_text("Saved.")
        stored = no_reports.call("GET", f"/v1/{kind}/{furnished.ids[kind]}/mailings")
        assert stored["mailings"]["alerts"] is wanted


def test_recipients_page_is_accessible(tab: Page, furnished: Place, browser: Browser) -> None:
    form = opened(tab, furnished.at("/sites/:id/settings"))
    form.get_by_label("Add recipients").fill("bob@example.org")
    form.get_by_role("button", name="Save email reports").click()
    expect(form.get_by_role("status")).to_have_text("Saved.")
    for theme in ("light", "dark"):
        context = new_context(browser, color_scheme=theme, viewport={"width": 320, "height": 700})
        visit = Visit(context.new_page(), furnished.url)
        visit.page.goto(page_in_email(furnished, "bob@example.org"))
        visit.axe(theme)
        assert visit.page.evaluate("document.documentElement.scrollWidth") == 320
        assert visit.found == []
        close(context)
