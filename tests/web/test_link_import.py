"""Tests of the import of links from a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.browser import close, new_context, sign_in
from tests.web.visit import Visit
from tests.web.world import World, sign_up

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place

DORA = "dora@example.com"
# Drops a file on an element, as if the user had dragged it from a file manager.
DROP = """(zone, [name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  zone.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}"""


def test_file_is_dropped_and_sent_with_progress(
    browser: Browser, furnished: Place, customer: Customer, zone: str
) -> None:
    """The file needs two requests. The test holds the first one, and then holds and loses the second one.

    A separate user imports the file, so that the lists in other tests stay short.
    """
    sign_up(furnished, DORA)
    world = World(furnished, DORA)
    world.with_link_host(customer, f"go.{zone}")
    context = new_context(browser)
    sign_in(context, furnished, DORA)
    visit = Visit(context.new_page(), furnished.url)
    page = visit.page
    page.goto(f"{furnished.url}/links/import")
    links = [f"https://shop.example/{i},drop-{i:04}," for i in range(1001)]
    lines = ["url,code,banned", "http://shop.example/plain,plain,", *links, "https://shop.example/bad,bad,true"]
    page.locator(".drop").evaluate(DROP, ["spring sale.csv", "\n".join(lines)])
    page.get_by_text("Read from spring sale.csv.").wait_for()
    include = page.get_by_label("Import these links too.")
    expect(include).to_be_visible()
    held: list[Route] = []
    page.route("**/v1/links/bulk", lambda route: held.append(route))
    with page.expect_request("**/v1/links/bulk"):
        page.get_by_role("button", name="Import 1,002 links").click()
    progress = page.get_by_role("progressbar", name="Links sent")
    expect(progress).to_have_attribute("max", "1002")
    expect(page.get_by_role("status").filter(has_text="0 of 1,002 sent")).to_be_visible()
    # While requests are sent, the lines cannot be changed.
    expect(include).to_have_count(0)
    back = page.get_by_role("button", name="Back to editing")
    expect(back).to_have_attribute("aria-disabled", "true")
    back.press("Enter")
    with page.expect_request("**/v1/links/bulk"):
        held.pop().continue_()
    expect(page.get_by_role("status").filter(has_text="1,000 of 1,002 sent")).to_be_visible()
    expect(progress).to_have_js_property("value", 1000)
    visit.axe("while links are sent")
    held.pop().fulfill(status=500, json={"error": {"code": "internal", "message": "Lost.", "details": {}}})
    page.get_by_role("button", name="Continue").wait_for()
    visit.found.clear()  # the browser logs the lost response as an error
    back.click()
    # Only the lines that were not imported remain: the rejected line, and the lines of the second request.
    plain, *remaining = page.get_by_label("Links", exact=True).input_value().splitlines()
    assert json.loads(plain)["code"] == "plain"
    assert [json.loads(line)["code"] for line in remaining] == ["drop-0999", "drop-1000"]
    page.get_by_role("button", name="Preview").click()
    page.unroute_all(behavior="wait")
    page.get_by_role("button", name="Import 3 links").click()
    page.get_by_role("heading", name="2 links were imported.").wait_for()
    page.get_by_role("table", name="1 line was rejected:").wait_for()
    found = world.call("DELETE", "/v1/links/bulk", {"filter": {"q": "drop-"}, "dry_run": True})
    assert len(found["results"]) == 1001
    assert visit.found == []
    close(context)
