"""Tests of actions for several links in the list, and of the restoration of deleted links."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.visit import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.web.world import LinkHost


def status(page: Page, text: str) -> None:
    """Wait until a live region contains this text."""
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def select_all(page: Page) -> None:
    """Select all links in the list, including those that the page does not show."""
    page.get_by_role("checkbox", name="Select all shown").check()
    page.get_by_role("button", name="Select all links in this list").click()
    status(page, "All links in this list are selected, including those not shown")


def test_tags_are_added_and_removed_by_keyboard(visit: Visit, link_host: LinkHost) -> None:
    """Each dialog first shows how many links it would change."""
    for number in range(3):
        link_host.create(f"many-{number}", tags=["old-tag"] if number == 0 else [])
    page = visit.page
    page.goto(f"{link_host.place.url}/links?q=many-&order=code")
    expect(page.get_by_role("table", name="Links").locator("tbody tr")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    bar = page.get_by_role("group", name="Selection")
    expect(bar.get_by_role("status")).to_have_text("2 links selected")
    expect(bar.get_by_role("checkbox")).to_have_js_property("indeterminate", True)
    visit.axe("with selected links")
    for width in (1440, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    bar.get_by_role("button", name="Add tags").press("Enter")
    dialog = page.get_by_role("dialog", name="Add tags")
    dialog.get_by_role("button", name="Continue").click()
    dialog.get_by_text("This field is required.").wait_for()
    dialog.get_by_label("Tags").fill("Many Tag")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Continue").press("Enter")
    status(page, "2 links will get these tags: many-tag.")
    visit.axe("with a dry run")
    assert [link_host.find(f"many-{number}")["tags"] for number in range(3)] == [["old-tag"], [], []]
    dialog.get_by_role("button", name="Add to 2 links").press("Enter")
    status(page, "2 links were changed.")
    tags = [link_host.find(f"many-{number}")["tags"] for number in range(3)]
    assert tags == [["many-tag", "old-tag"], ["many-tag"], []]
    expect(page.get_by_role("row").filter(has_text="many-1").get_by_role("link", name="many-tag")).to_be_visible()

    bar.get_by_role("checkbox", name="Select all shown").check()
    expect(bar.get_by_role("status")).to_have_text("3 links selected")
    bar.get_by_role("button", name="Remove tags").click()
    dialog = page.get_by_role("dialog", name="Remove tags")
    dialog.get_by_label("Tags").fill("many-tag,")
    dialog.get_by_role("button", name="Continue").click()
    dialog.get_by_role("button", name=re.compile("Remove from [23] links")).click()
    page.get_by_role("status").filter(has_text=re.compile("[23] links were changed.")).wait_for()
    assert [link_host.find(f"many-{number}")["tags"] for number in range(3)] == [["old-tag"], [], []]
    assert visit.found == []


def test_links_are_deleted_and_restored_with_undo(visit: Visit, link_host: LinkHost) -> None:
    """The confirmation shows the number of links, which the user has to type."""
    links = [link_host.create(f"gone-{number}", title=f"Gone {number}") for number in range(2)]
    page = visit.page
    page.goto(f"{link_host.place.url}/links?q=gone-")
    page.get_by_role("checkbox", name=f"Select {link_host.host}/gone-0").check()
    page.get_by_role("checkbox", name=f"Select {link_host.host}/gone-1").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog", name="Delete 2 links?")
    expect(dialog.get_by_label("To confirm, type 2")).to_be_focused()
    visit.axe("with the confirmation")
    assert link_host.find("gone-0")["state"] == "active"
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    status(page, "2 links were deleted.")
    page.get_by_text("No links match “gone-”.").wait_for()
    assert link_host.call("GET", f"/v1/links/{links[0]['id']}")["link"]["state"] == "deleted"
    page.get_by_role("button", name="Undo").click()
    status(page, "2 links were restored.")
    expect(page.get_by_role("table", name="Links").locator("tbody tr")).to_have_count(2)
    assert {link_host.find(f"gone-{number}")["id"] for number in range(2)} == {link["id"] for link in links}
    assert link_host.find("gone-0")["title"] == "Gone 0"
    assert visit.found == []


def test_all_links_of_a_filter_are_selected(visit: Visit, link_host: LinkHost) -> None:
    """The selection includes links that the page does not show."""
    rows = [{"url": "https://shop.example/", "code": f"all-{number:02}"} for number in range(53)]
    link_host.call("POST", "/v1/links/bulk", {"account_id": link_host.account_id, "links": rows})
    page = visit.page
    page.goto(f"{link_host.place.url}/links?q=all-")
    expect(page.get_by_role("table", name="Links").locator("tbody tr")).to_have_count(50)
    select_all(page)
    # The list of broken links and the list of active links have separate selections.
    page.get_by_label("Show", exact=True).select_option("broken")
    page.get_by_text("No links match “all-”.").wait_for()
    page.get_by_label("Show", exact=True).select_option("active")
    expect(page.get_by_role("checkbox", name="Select all shown")).not_to_be_checked()
    select_all(page)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog", name="Delete 53 links?").wait_for()
    # this link matches the filter, but the number in the confirmation does not include it
    later = link_host.create("all-later")
    page.keyboard.type("53")
    page.keyboard.press("Enter")
    status(page, "53 links were deleted.")
    # There is no undo, because it would need more than fifty requests.
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert [link["id"] for link in link_host.call("GET", "/v1/links?q=all-")["links"]] == [later["id"]]
    assert visit.found == []


def test_later_pages_show_the_result_of_an_action(visit: Visit, link_host: LinkHost) -> None:
    """An action begins the list again, so that no page shows a link as it was before the action."""
    rows = [{"url": "https://shop.example/", "code": f"later-{number:02}"} for number in range(52)]
    link_host.call("POST", "/v1/links/bulk", {"account_id": link_host.account_id, "links": rows})
    page = visit.page
    page.goto(f"{link_host.place.url}/links?q=later-&order=code")
    shown = page.get_by_role("table", name="Links").locator("tbody tr")
    more = page.get_by_role("button", name="Show 50 more")
    more.click()
    expect(shown).to_have_count(52)
    page.get_by_role("checkbox", name=f"Select {link_host.host}/later-51").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog", name="Delete 1 link?").get_by_label("To confirm, type 1").fill("1")
    page.keyboard.press("Enter")
    status(page, "1 link was deleted.")
    expect(shown).to_have_count(50)
    more.click()
    expect(shown).to_have_count(51)
    expect(shown.last).to_contain_text("later-50")
    page.get_by_role("button", name="Undo").click()
    status(page, "1 link was restored.")
    expect(shown).to_have_count(50)
    more.click()
    expect(shown).to_have_count(52)
    assert visit.found == []
    # Delete the links, because other tests use the same list.
    link_host.call("DELETE", "/v1/links/bulk", {"filter": {"q": "later-"}, "dry_run": False})


def test_deleted_link_is_restored_in_the_list_and_on_its_page(visit: Visit, link_host: LinkHost) -> None:
    link = link_host.create("back-again")
    link_host.call("DELETE", f"/v1/links/{link['id']}", {})
    page = visit.page
    page.goto(f"{link_host.place.url}/links?state=deleted&q=back-again")
    visit.axe("with a deleted link")
    page.get_by_role("button", name="Restore back-again").press("Enter")
    status(page, "back-again was restored.")
    assert link_host.find("back-again")["id"] == link["id"]

    link_host.call("DELETE", f"/v1/links/{link['id']}", {})
    link_host.create("back-again")
    page.goto(f"{link_host.place.url}/links/{link['id']}")
    page.get_by_text("This link was deleted.").wait_for()
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("alert").wait_for()  # the restoration fails, because another link uses the code
    visit.found.clear()  # the browser logs an error response
    visit.axe("with a refused restoration")
    link_host.call("DELETE", f"/v1/links/{link_host.find('back-again')['id']}", {})
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/back-again").wait_for()
    assert link_host.find("back-again")["id"] == link["id"]
    assert visit.found == []
