"""Whoever reads German reads German, also what the API itself says in English."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.web.places import new_context, sign_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.web.places import Place


@pytest.fixture
def tab(browser: Browser, furnished: Place) -> Iterator[Page]:
    context = new_context(browser, locale="de-DE")
    sign_in(context, furnished)
    yield context.new_page()
    context.close()


def test_what_is_wrong_with_a_field_or_a_host_is_said_in_german(furnished: Place, tab: Page) -> None:
    tab.goto(furnished.at("/sites/new"))
    tab.get_by_label("Host").fill("nirgends.example")
    tab.get_by_text("Was nicht gezählt wird").click()
    tab.locator("textarea").fill("admin")
    send = tab.locator("form button[type=submit]")
    send.click()
    tab.get_by_text("Das muss mit / beginnen").wait_for()
    tab.locator("textarea").fill("\n".join(f"/{number}" for number in range(51)))
    send.click()
    tab.get_by_text("Höchstens 50 Einträge.").wait_for()
    tab.locator("textarea").fill("")
    send.click()
    tab.get_by_role("alert").get_by_text("Der Name liegt in keiner aktiven Zone").wait_for()
    assert tab.locator("html").get_attribute("lang") == "de"
