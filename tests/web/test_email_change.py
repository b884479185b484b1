"""Change the email address in the profile: the new address confirms, and the old one can revert."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import trio
from playwright.sync_api import expect

from edge_worker.harness.service import eventually
from tests.web.browser import close, new_context, sign_in
from tests.web.places import EMAIL, PASSWORD, open_place
from tests.web.visit import Visit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.web.places import Place

NEW, NEXT_PASSWORD = "new@example.org", "four more words of mine"


def mailed_path(place: Place, path: str) -> str:
    """Return the path, including the token, of the link in an email that names the new address."""

    async def found() -> str | None:
        await trio.lowlevel.checkpoint()
        for file in place.folder.rglob("*.eml"):
            text = file.read_text().replace("=\n", "").replace("=3D", "=")
            link = re.search(rf"/{path}\?token=svm_[\w-]+", text)
            if link is not None and NEW in text:
                return link[0]
        return None

    return trio.run(eventually, found)


def test_address_is_changed_and_taken_back(browser: Browser, tmp_path: Path) -> None:
    with open_place(tmp_path / "svc") as place:
        context = new_context(browser)
        sign_in(context, place)
        visit = Visit(context.new_page(), place.url)
        page = visit.page
        page.goto(f"{place.url}/profile")
        form = page.get_by_role("region", name="Change email address")
        waiting = form.get_by_text("Waiting for confirmation: to change your email address")
        for address in ("mistyped@example.org", NEW):
            form.get_by_label("New email address").fill(address)
            form.get_by_label("Your password").fill(PASSWORD)
            form.get_by_role("button", name="Send link").click()
            expect(form.get_by_role("status")).to_contain_text(f"If {address} is available, we sent a link to it.")
            expect(waiting).to_contain_text(address)
            if address != NEW:
                form.get_by_role("button", name="Cancel change").click()
                expect(waiting).to_have_count(0)
                expect(form.get_by_role("status")).to_have_text("")
        visit.axe("with the request")
        page.reload()
        expect(waiting).to_contain_text(NEW)

        visit.open("/email", place.url + mailed_path(place, "email"))
        page.get_by_role("button", name="Change email address").click()
        page.get_by_role("heading", level=1, name="Email address changed").wait_for()
        page.get_by_role("link", name="Continue").click()
        expect(page.get_by_role("main").get_by_text(NEW)).to_be_visible()
        expect(waiting).to_have_count(0)
        assert visit.found == []

        other = new_context(browser)
        owner = Visit(other.new_page(), place.url)
        owner.open("/email/revert", place.url + mailed_path(place, "email/revert"))
        tab = owner.page
        tab.get_by_label("New password").fill(NEXT_PASSWORD)
        tab.get_by_role("button", name="Keep email address").click()
        tab.get_by_role("heading", level=1, name="Email address kept").wait_for()
        tab.get_by_role("main").get_by_role("link", name="Sign in").click()
        tab.get_by_label("Email").fill(EMAIL)
        tab.get_by_label("Password", exact=True).fill(NEXT_PASSWORD)
        tab.get_by_role("button", name="Sign in").click()
        tab.get_by_role("heading", level=1, name="Overview").wait_for()
        assert owner.found == []
        close(other)
        close(context)
