"""Tests of sites and their reports: pages show the views that were sent, and the data from the service."""

from __future__ import annotations

import csv
import io
import re
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.visitors import DESKTOP_CHROME
from edge_worker.local_http import NO_CERTIFICATES
from tests.web.browser import close, fetched, new_context, signed_in_tab
from tests.web.places import EMAIL, PASSWORD
from tests.web.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page, Route

    from tests.web.places import Place
    from tests.web.world import World

HOST = "www.shop.example"
DAY_MS = 86_400_000
SEEN = "Your first page view!"
CLIPBOARD_IS = "async (text) => (await navigator.clipboard.readText()) === text"
OFFER = "Offer visitors an opt-out page"
# Hides the fact that the browser is automated, because a real visitor's browser is not automated.
UNDRIVEN = "Object.defineProperty(Navigator.prototype, 'webdriver', {get: () => false})"


@pytest.fixture
def tab(browser: Browser, furnished: Place) -> Iterator[Page]:
    """A tab with the user of `furnished` signed in."""
    with signed_in_tab(browser, furnished, permissions=["clipboard-read", "clipboard-write"]) as tab:
        yield tab


def read(place: Place, path: str, **headers: str) -> httpx.Response:
    """Send a GET request to the service as the user."""
    with httpx.Client(base_url=place.url, trust_env=False, verify=NO_CERTIFICATES, timeout=30) as client:
        signed_in = client.post("/auth/sign-in", json={"email": EMAIL, "password": PASSWORD}).json()
        headers["Authorization"] = f"Bearer {signed_in['access_token']}"
        return client.get(path, headers=headers).raise_for_status()


def site_of(place: Place, page: Page) -> dict[str, Any]:
    [found] = re.findall(r"/sites/(site_\w+)", page.url)
    site: dict[str, Any] = read(place, f"/v1/sites/{found}").json()["site"]
    return site


def browse(browser: Browser, place: Place, page: str, *paths: str) -> None:
    """Open the customer's pages, which contain the snippet. The emulated edge serves the browser's requests."""
    control = httpx.Client(base_url=place.control, trust_env=False, timeout=30)
    context = new_context(browser, user_agent=DESKTOP_CHROME.user_agent)
    context.add_init_script(UNDRIVEN)

    def through_the_edge(route: Route) -> None:
        request = route.request
        more = {"method": request.method, "headers": {"user-agent": DESKTOP_CHROME.user_agent}}
        visited = place.visit(
            HOST, "/" + request.url.split("/", 3)[3], **more, body=request.post_data, cf={"country": "DE"}
        )
        route.fulfill(status=visited["status"], headers=visited["headers"], body=visited["body"])

    context.route("**/*", through_the_edge)
    tab = context.new_page()
    for path in ("/favicon.ico", *paths):
        control.post("/pages", json={"host": HOST, "path": path, "body": page}).raise_for_status()
    for path in paths:
        tab.goto(f"http://{HOST}{path}", wait_until="networkidle")
    control.post("/settled", json={}).raise_for_status()
    close(context)
    control.close()


def listed(page: Page, name: str) -> dict[str, int]:
    """Return the counts in one of the report's breakdowns, keyed by label."""
    rows = page.locator(f".breakdown.{name} li")
    return {
        row.locator(".what").inner_text().split("\n")[0].strip(): whole(row.locator(".number")) for row in rows.all()
    }


def whole(number: Locator) -> int:
    return int(number.inner_text().replace(",", ""))


def exclude_visitors(tab: Page) -> None:
    """Fill in the settings' lists of excluded visitors, but do not save them."""
    networks = tab.get_by_label("Excluded addresses and networks")
    mine = tab.get_by_role("button", name="Exclude my address")
    networks.fill("192.0.2.9/24")
    tab.set_extra_http_headers({"X-Forwarded-For": "2606:4700::1:2:3:4"})
    mine.click()
    expect(networks).to_have_value("192.0.2.9/24\n2606:4700::/64")
    tab.get_by_role("status").filter(has_text="the entire network of your connection").wait_for()
    mine.click()  # this adds nothing, because the network is already in the list
    tab.set_extra_http_headers({})
    mine.click()
    tab.get_by_role("status").filter(has_text="The service sees 127.0.0.1").wait_for()
    expect(networks).to_have_value("192.0.2.9/24\n2606:4700::/64")
    tab.get_by_role("button", name="Excluded countries: None").click()
    tab.get_by_label("Find a country").fill("Andorra")
    tab.get_by_role("checkbox", name="Andorra").check()
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Excluded countries: Andorra").wait_for()
    asns = tab.get_by_label("Excluded autonomous systems (ASN)")
    asns.fill("AS64496 and more")
    tab.get_by_role("button", name="Save", exact=True).click()
    tab.get_by_role("alert").get_by_text("Enter a whole number.").wait_for()
    asns.fill("AS64496, 64497")


def test_zones_that_are_sites_are_not_offered(furnished: Place, tab: Page, world: World, zone: str) -> None:
    shop, other = f"shop.{zone}", f"other.{zone}"
    zones = [proxied_zone(name) for name in (shop, other)]
    account_id = world.with_link_host(world.platform(lambda emulator: emulator.create_account(zones)), f"go.{shop}")
    choices = tab.get_by_role("list", name="Zones of your accounts")
    # select the zone of this account, because the user has other accounts
    offered = choices.get_by_role("button").filter(has_text=zone)
    tab.goto(f"{furnished.url}/sites/new?account_id={account_id}")
    expect(offered).to_have_text([other, shop])
    offered.last.click()
    expect(tab.get_by_label("Host")).to_have_value(shop)
    tab.get_by_role("button", name="Add site").click()
    tab.get_by_role("heading", level=1, name=shop).wait_for()
    tab.goto(f"{furnished.url}/sites/new?account_id={account_id}")
    expect(offered).to_have_text([other])
    assert tab.locator("#zones option").evaluate_all("(all) => all.map(({value}) => value)") == [other]
    world.call("DELETE", f"/v1/accounts/{account_id}", {})


def test_add_count_edit_and_delete_site(browser: Browser, furnished: Place, tab: Page) -> None:
    tab.goto(f"{furnished.url}/sites")
    tab.get_by_role("link", name="shop.example").wait_for()
    tab.keyboard.press("n")
    tab.get_by_label("Host").fill("nowhere.else.example")
    tab.get_by_role("button", name="Add site").click()
    tab.get_by_role("alert").get_by_text("zone_not_found").wait_for()
    # with the text that users get when they copy from the address bar
    tab.get_by_label("Host").fill(f" https://{HOST}/?a=1 ")
    tab.get_by_text("Exclusions").click()
    expect(tab.get_by_label("Host")).to_have_value(HOST)
    tab.get_by_label(OFFER).check()
    tab.get_by_label("Excluded paths").fill("admin\n")
    tab.get_by_role("button", name="Add site").click()
    excluded = tab.get_by_label("Excluded paths")
    tab.locator("textarea[aria-invalid=true]").wait_for()
    excluded.fill("/admin\n\n/private")
    tab.get_by_role("button", name="Add site").click()

    tab.get_by_role("heading", level=1, name=HOST).wait_for()
    tab.get_by_role("listitem").filter(has_text="Site synced to the Worker").locator(".good").wait_for()
    site = site_of(furnished, tab)
    assert (site["excluded_paths"], site["config"], site["state"]) == (["/admin", "/private"], "synced", "active")
    assert furnished.visit(HOST, f"{site['path']}/off")["status"] == 200
    tab.get_by_role("button", name="Copy snippet").click()
    expect(tab.get_by_role("status").filter(has_text="Copied")).to_have_count(1)  # the page copies asynchronously
    assert tab.evaluate("navigator.clipboard.readText()") == site["snippet"]["inline"]
    tab.get_by_text("Does your site have a Content-Security-Policy?").click()
    assert site["snippet"]["csp_hash"] in tab.locator(".snippet details pre").first.inner_text()
    tab.get_by_role("tab", name="Inline").press("ArrowRight")
    assert tab.locator(".snippet pre").first.inner_text() == site["snippet"]["script_tag"]

    check_instructions(tab, site)
    visit = Visit(tab, furnished.url)
    visit.open("a site without a view", tab.url)
    assert visit.found == []

    # A view of an excluded page does not count as the first view. Until a view is counted, the page shows advice.
    head = f"<!doctype html><title>Shop</title>{site['snippet']['inline']}"
    browse(browser, furnished, head, "/admin/users")
    tab.clock.set_fixed_time(datetime.now(tz=UTC) + timedelta(minutes=6))
    with tab.expect_response(lambda response: response.url.endswith("/first-view")) as checked:
        tab.get_by_role("button", name="Check now").click()
    assert checked.value.json()["first_view"]["seen"] is False
    tab.get_by_text("No views after five minutes?").wait_for()
    assert tab.get_by_text(SEEN).count() == 0
    browse(browser, furnished, head, "/shoes")
    tab.get_by_text(SEEN).wait_for()  # the page updates automatically, within seconds
    expect(tab.get_by_role("heading", level=2).first).not_to_have_text("Snippet")  # the snippet is now in the settings
    assert tab.get_by_role("heading", name="Waiting for the first view").count() == 0
    # The Worker has not pushed this view yet, so the page reads the totals live. Until it has read them, it must not
    # show zeros.
    expect(tab.locator(".totals .views .figure")).to_have_text("1")
    assert tab.get_by_text("No views in this period.").count() == 0
    tab.locator(".report .lists").scroll_into_view_if_needed()
    tab.locator(".breakdown.pages li").wait_for()
    assert listed(tab, "pages") == {"/shoes": 1}
    # The overview shows the same counts, although only the counts of another site have been pushed.
    other = tab.context.new_page()
    other.goto(furnished.url)
    row = other.get_by_role("table", name="Sites").get_by_role("row", name=HOST)
    row.get_by_text("First view received").wait_for()
    other.close()
    assert listed(tab, "sources") == {"Direct / none": 1}
    assert listed(tab, "countries") == {"Germany": 1}

    tab.keyboard.press("e")
    tab.get_by_role("heading", level=1, name=f"{HOST}: Settings").wait_for()
    tab.get_by_label("Excluded paths").fill("/private")
    tab.get_by_label("Respect Global Privacy Control").check()
    exclude_visitors(tab)
    tab.get_by_role("button", name="Save", exact=True).click()
    tab.get_by_text("Saved").wait_for()
    changed = site_of(furnished, tab)
    assert (changed["excluded_paths"], changed["respect_gpc"]) == (["/private"], True)
    assert changed["excluded_networks"] == ["192.0.2.0/24", "2606:4700::/64"]
    assert (changed["excluded_countries"], changed["excluded_asns"]) == (["AD"], [64496, 64497])
    check_opt_out(tab, site)
    tab.get_by_role("button", name="Change tracking path").click()
    tab.get_by_role("dialog").get_by_text("The opt-out page gets a new address.").wait_for()
    tab.get_by_role("dialog").get_by_role("button", name="Change tracking path").press("Enter")
    tab.get_by_text("Old tracking paths that still work").wait_for()
    rotated = site_of(furnished, tab)
    check_opt_out(tab, rotated)
    tab.get_by_label(OFFER).uncheck()
    tab.get_by_role("button", name="Save", exact=True).click()
    expect(tab.get_by_role("region", name="Opt-out page")).to_have_count(0)
    assert site_of(furnished, tab)["visitor_opt_out"] is False
    assert tab.locator("#rotate ~ ul code").inner_text() == site["path"] == rotated["retiring"][0]["path"]
    assert tab.locator(".snippet pre").first.inner_text() == rotated["snippet"]["inline"] != site["snippet"]["inline"]

    check_list_of_sites(furnished, tab)
    tab.goto(f"{furnished.url}/sites/{site['id']}/settings")
    tab.get_by_role("button", name="Delete site").click()
    tab.get_by_role("dialog").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_role("dialog").wait_for(state="detached")
    tab.get_by_role("button", name="Delete site").click()
    tab.get_by_role("dialog", name=f"Delete {HOST}?").get_by_role("button", name="Delete site").click()
    tab.get_by_role("heading", level=1, name="Sites").wait_for()
    expect(tab.get_by_role("link", name="shop.example", exact=True)).to_be_visible()
    expect(tab.get_by_role("link", name=HOST)).to_have_count(0)
    # the list is too short for filters, so use the URL
    tab.goto(f"{furnished.url}/sites?state=deleted")
    tab.get_by_role("link", name=HOST).click()
    tab.get_by_text("no longer counted").wait_for()
    assert site_of(furnished, tab)["state"] == "deleted"
    expect(tab.get_by_role("link", name="Settings")).to_have_count(0)


def check_opt_out(tab: Page, site: dict[str, Any]) -> None:
    """Check that the settings show the URL of the opt-out page, and a text that contains this URL."""
    address = f"https://{HOST}{site['path']}/off"
    section = tab.get_by_role("region", name="Opt-out page")
    assert section.get_by_role("link", name=address).get_attribute("href") == address
    section.get_by_role("button", name="Copy address").click()
    tab.wait_for_function(CLIPBOARD_IS, arg=address)
    text = section.locator("pre")
    if not text.is_visible():
        section.get_by_text("Text for your privacy policy").click()
    section.get_by_role("button", name="Copy text").click()
    assert address in text.inner_text()
    tab.wait_for_function(CLIPBOARD_IS, arg=text.inner_text())


def check_instructions(tab: Page, site: dict[str, Any]) -> None:
    """Check that each platform has steps and code, that the choice is remembered, and that the text for a developer
    fits into a URL.
    """
    snippet = site["snippet"]
    code = tab.locator(".snippet pre").first
    platform = tab.get_by_label("Platform", exact=True)
    # the code must not contain tags of the template language Liquid
    assert not {"{{", "{%"} & {snippet["inline"][i : i + 2] for i in range(len(snippet["inline"]))}
    for name in ("HTML pages", "WordPress", "Shopify", "Webflow", "Google Tag Manager"):
        platform.select_option(name)
        # the page shows the form of the snippet that was chosen before
        expect(code).to_have_text(snippet["script_tag"])
        mail = tab.locator("a[href^='mailto:']").get_attribute("href") or ""
        assert len(mail) < 2_000
        fields = parse_qs(urlsplit(mail).query)
        assert fields["subject"] == [f"Snippet for {HOST}"]
        assert snippet["script_tag"] in fields["body"][0]
    expect(tab.get_by_role("tab", name="Inline")).to_have_count(0)
    expect(tab.locator(".snippet ol")).to_contain_text("Initialization - All Pages")
    platform.select_option("Next.js")
    tab.get_by_role("tab", name="Inline").click()
    expect(code).to_contain_text('import Script from "next/script";')
    expect(code).to_contain_text("dangerouslySetInnerHTML")
    longest = tab.locator("a[href^='mailto:']").get_attribute("href") or ""
    assert len(longest) < 2_000
    tab.reload()
    expect(platform).to_have_value("nextjs")
    tab.get_by_text("Does someone else maintain the site?").click()
    tab.get_by_role("button", name="Copy text for a developer").click()
    expect(tab.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert HOST in copied
    assert "/help/use/snippet" in copied
    platform.select_option("HTML pages")


def test_counted_site_is_deleted_only_after_typing_its_host(furnished: Place, tab: Page) -> None:
    tab.goto(furnished.at("/sites/:id/settings"))
    tab.get_by_role("button", name="Delete site").click()
    dialog = tab.get_by_role("dialog", name="Delete shop.example?")
    expect(dialog.get_by_label("To confirm, type shop.example")).to_be_focused()
    tab.keyboard.type("shop.exampl")
    tab.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("Type shop.example exactly as shown.")
    tab.keyboard.type("e")
    expect(dialog.get_by_role("alert")).to_have_count(0)
    tab.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert site_of(furnished, tab)["state"] == "active"


def check_list_of_sites(place: Place, tab: Page) -> None:
    """Check the pagination, order and search of the list, with one site per page."""
    hosts = [site["host"] for site in read(place, "/v1/sites?order=host").json()["sites"]]
    tab.route("**/v1/sites?*", lambda route: route.continue_(url=route.request.url.replace("limit=50", "limit=1")))
    tab.goto(f"{place.url}/sites?order=host")
    rows = tab.locator(".rows tbody th")
    tab.get_by_role("button", name="Show 50 more").click()
    tab.locator(".rows tbody tr:nth-child(2) a:focus").wait_for()
    assert rows.all_inner_texts() == hosts[:2]
    expect(tab.get_by_role("button", name="Show 50 more")).to_have_count(0 if len(hosts) == 2 else 1)
    tab.keyboard.press("k")
    assert tab.evaluate("document.activeElement.textContent") == hosts[0]
    tab.keyboard.press("/")
    tab.keyboard.type("WWW.")
    tab.wait_for_url("**/sites?order=host&q=WWW.")
    tab.get_by_role("link", name=hosts[0], exact=True).wait_for(state="detached")
    assert rows.all_inner_texts() == [HOST]
    tab.keyboard.type("nowhere")
    tab.get_by_text("No sites match “WWW.nowhere”.").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_role("link", name=hosts[0], exact=True).wait_for()
    tab.unroute("**/v1/sites?*")


def test_report_shows_sent_views(furnished: Place, tab: Page) -> None:
    today = time.time_ns() // 1_000_000 // DAY_MS
    sent = furnished.sent.days(today - 6, today)
    top = furnished.sent.top
    tab.goto(furnished.at("/sites/:id"))
    tab.locator(".breakdown.pages li").first.wait_for()
    for name in ("views", "visitors"):
        assert whole(tab.locator(f".totals .{name} .figure")) == sent[name]
    requests = sent["views"] + sent["bots"]
    share = int(100 * sent["bots"] / requests + 0.5)  # rounded half up, as browsers do
    expect(tab.locator(".totals .bots .figure")).to_have_text(f"{share}%")
    expect(tab.locator(".totals .bots")).to_contain_text(f"{sent['bots']} of {requests} requests")
    expect(tab.locator(".report p.small").first).to_contain_text("each visitor is counted once per day")
    assert listed(tab, "pages") == top("pages", today - 6, today)
    assert listed(tab, "browsers") == top("browsers", today - 6, today)
    assert listed(tab, "sources").pop("Direct / none") == top("sources", today - 6, today)[""]
    assert sum(listed(tab, "countries").values()) == sent["views"]
    assert sum(listed(tab, "channels").values()) == sent["views"]
    assert listed(tab, "channels")["Search engines"] > 0
    assert sum(listed(tab, "bots").values()) == sent["bots"] > 0

    tab.get_by_text("Show as table").click()
    expect(tab.locator(".figures tbody tr")).to_have_count(7)
    rows = [[cell.inner_text() for cell in row.locator("td").all()] for row in tab.locator(".figures tbody tr").all()]
    for place, name in enumerate(("views", "visitors", "bots")):
        assert sum(int(row[place]) for row in rows) == sent[name]
    tab.locator(".chart").focus()
    tab.keyboard.press("End")
    value = tab.locator(".chart").get_attribute("aria-valuetext") or ""
    assert f"(so far): Views {rows[-1][0]} · Visitors {rows[-1][1]}" in value
    assert [row.inner_text().split()[:2] for row in tab.locator(".tip tr").all()] == [
        ["Views", rows[-1][0]],
        ["Visitors", rows[-1][1]],
    ]
    tab.get_by_role("button", name="Bots").click()
    assert tab.locator(".plot rect.bots").count() == sum(row[2] != "0" for row in rows)

    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Export all days as CSV").click()
    assert saved.value.suggested_filename == "shop.example.csv"
    exported = saved.value.path().read_bytes()
    path = f"/v1/sites/{furnished.ids['sites']}/totals"
    assert exported == read(furnished, path, Accept="text/csv").content
    days = csv.DictReader(io.StringIO(exported.decode()))
    assert sum(int(day["views"]) for day in days) == sent["views"]

    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Export this report as CSV").click()
    assert saved.value.suggested_filename == "shop.example-report.csv"
    shown = list(csv.DictReader(io.StringIO(saved.value.path().read_bytes().decode())))
    assert [row["views"] for row in shown if row["list"] == "time"] == [row[0] for row in rows]
    pages = {row["key"]: int(row["views"]) for row in shown if row["list"] == "pages"}
    assert pages == top("pages", today - 6, today)
    assert sum(int(row["bots"]) for row in shown if row["list"] == "bots") == sent["bots"]

    # The URL contains the period and the comparison, so that users can share it.
    tab.keyboard.press("t")
    expect(tab.locator(".plot g:not(.visitors)")).to_have_count(30)
    tab.keyboard.press("x")
    tab.reload()
    tab.locator(".plot").wait_for()
    assert tab.url.endswith("?bots=on&period=30d&compare=off")
    assert tab.get_by_role("button", name="Previous period").get_attribute("aria-pressed") == "false"
    tab.keyboard.press("d")
    if furnished.sent.days(today, today)["views"]:
        expect(tab.locator(".plot g:not(.visitors)")).to_have_count(24)
    else:  # the views are two hours old, so before 02:00 they are from yesterday
        tab.get_by_text("No views in this period.").wait_for()


def test_report_shows_the_statement_of_counts(furnished: Place, tab: Page) -> None:
    """The badge shows the same numbers as the account's statement, and links to it. The page sends no additional
    request for the badge.
    """
    calls: list[str] = []
    tab.on("request", lambda request: calls.append(request.url))
    tab.goto(furnished.at("/sites/:id"))
    badge = tab.locator(".statement")
    link = badge.get_by_role("link", name="Statement of counts")
    link.wait_for()
    assert not [url for url in calls if "/ledger" in url]
    account = furnished.ids["accounts"]
    ledger = read(furnished, f"/v1/accounts/{account}/ledger").json()["ledger"]
    found = [target for target in ledger["targets"] if target["id"] == furnished.ids["sites"]]
    if found:  # the views are two hours old, so before 02:00 they are from yesterday
        arrived, counted, stored = (sum(found[0][name].values()) for name in ("accepted", "counted", "stored"))
        expect(badge).to_contain_text(f"{arrived} arrived, {counted} counted, {stored} stored")
    else:
        expect(badge).to_contain_text("Nothing arrived on this day")
    link.click()
    tab.wait_for_url(f"**/accounts/{account}?day={ledger['day']}#ledger")
    tab.get_by_label("Day (UTC)").wait_for()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"agrees": False, "fault": "store"}, "18 arrived, 17 counted, 16 stored · the numbers do not agree"),
        (
            {"agrees": True, "stored": {"views": 12, "bots": 5}},
            "18 arrived, 17 counted, 17 stored · the numbers agree so",
        ),
        ({"agrees": True, "dropped": {"busy": 2}}, "18 arrived, 17 counted, 16 stored · 2 could not be counted"),
        (None, "Statement of counts available within an hour"),
        ("cloudflare", "No statement of counts available"),
    ],
)
def test_statement_of_counts_names_its_state(furnished: Place, tab: Page, change: Any, text: str) -> None:
    """The statement distinguishes differences, waiting events and missing numbers."""

    def answer(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        report = body["report"]
        report.pop("statement", None)
        if isinstance(change, dict):
            report["statement"] = {
                "id": "site_a", "day": report["to"], "closed": False, "dropped": {}, "fault": None, "off_by": None,
                "accepted": {"views": 13, "bots": 5}, "waiting": None, "counted": {"views": 12, "bots": 5},
                "queued": None, "pushed": None, "stored": {"views": 11, "bots": 5}, **change,
            }  # fmt: skip
        elif change:
            report["unavailable"] = change
        route.fulfill(response=response, json=body)

    tab.route(re.compile(r"/report\?.*statement=1"), answer)
    tab.goto(furnished.at("/sites/:id"))
    expect(tab.locator(".statement")).to_contain_text(text)
    tab.unroute_all(behavior="wait")


def test_report_without_live_data_says_so(furnished: Place, tab: Page) -> None:
    """If the account's database is unavailable, the page still shows stored numbers."""
    control = httpx.Client(base_url=furnished.control, trust_env=False, timeout=30)
    fault = {"kind": "refuse", "path": "*/query", "status": 503, "times": None}
    control.post("/faults", json=fault).raise_for_status()
    try:
        tab.goto(furnished.at("/sites/:id") + "?period=30d")
        tab.get_by_text("Cloudflare did not respond in time.").wait_for()
        tab.locator(".plot").wait_for()
        tab.goto(furnished.at("/links/:id") + "?period=today")
        tab.get_by_text("Today is not included").wait_for()
        assert tab.locator(".totals").count() == 0
    finally:
        control.delete("/faults").raise_for_status()
        control.close()
    tab.goto(furnished.at("/sites/:id") + "?period=30d")
    tab.locator(".breakdown.pages li").first.wait_for()


def test_breakdowns_can_be_expanded_and_link_to_pages_and_sources(furnished: Place, tab: Page) -> None:
    """The test changes the service's response, because the furnished site has few pages."""
    asked: list[str] = []

    def with_pages(route: Any) -> None:
        asked.append(route.request.url)
        limit = 100 if "limit=100" in route.request.url else 10
        response = fetched(route)
        body = response.json()
        lists = body["report"]["breakdowns"]
        lists["pages"] = [{"key": f"/page/{number}", "n": 40 - number} for number in range(30)][:limit]
        lists["sources"] = [{"key": "t.co", "n": 5}, {"key": "newsletter", "n": 4}]
        lists["channels"] = [{"key": "search", "n": 60}, {"key": "direct", "n": 20}]
        route.fulfill(response=response, json=body)

    tab.route("**/report?*breakdowns=1*", with_pages)
    tab.goto(furnished.at("/sites/:id"))
    pages = tab.locator(".breakdown.pages")
    pages.get_by_text("/page/9").wait_for()
    assert pages.locator("li").count() == 10
    assert pages.locator(".portion").first.inner_text() == "50%"
    assert pages.locator(".share rect").first.get_attribute("width") == "100%"
    assert pages.get_by_role("link", name="/page/0").get_attribute("href") == "https://shop.example/page/0"
    sources = tab.locator(".breakdown.sources")
    assert sources.get_by_role("link", name="Open t.co").get_attribute("href") == "https://t.co/"
    assert sources.get_by_role("link", expanded=False).count() == 2
    assert sources.get_by_role("link").count() == 3

    pages.get_by_role("button", name="Show all").click()
    pages.get_by_text("/page/29").wait_for()
    assert pages.locator("li").count() == 30
    pages.get_by_role("button", name="Show fewer").click()
    assert pages.locator("li").count() == 10
    assert ["limit=100" in url for url in asked][:2] == [False, True]
    tab.unroute_all(behavior="wait")


def test_source_lists_its_entry_pages(world: World, furnished: Place, tab: Page) -> None:
    path = f"/v1/sites/{furnished.ids['sites']}/report?period=7d&breakdowns=1&limit=100"
    lists = world.call("GET", path)["report"]["breakdowns"]
    wanted = {entry["page"]: entry["n"] for entry in lists["arrivals"] if entry["source"] == "google.com"}
    assert sum(wanted.values()) == {entry["key"]: entry["n"] for entry in lists["sources"]}["google.com"]
    tab.goto(furnished.at("/sites/:id") + "?bots=on")
    google = tab.locator(".breakdown.sources").get_by_role("link", name="Google google.com")
    assert google.get_attribute("aria-expanded") == "false"
    google.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**?bots=on&source=google.com")
    entries = tab.get_by_role("region", name="Entry pages: Google")
    expect(entries.locator("li")).to_have_count(len(wanted))
    assert listed(tab, "arrivals") == wanted
    page = next(iter(wanted))
    expect(entries.get_by_role("link", name=page, exact=True)).to_have_attribute("href", f"https://shop.example{page}")
    expect(google).to_be_focused()
    expect(google).to_have_attribute("aria-expanded", "true")

    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Export this report as CSV").click()
    rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text())))
    exported = {row["key"]: int(row["views"]) for row in rows if row["list"] == "arrivals"}
    assert exported == wanted
    assert {row["source"] for row in rows if row["list"] == "arrivals"} == {"google.com"}

    # The source remains selected in another period, after a reload, and in the history of the browser.
    tab.keyboard.press("t")
    tab.wait_for_url("**?bots=on&source=google.com&period=30d")
    tab.reload()
    expect(entries.locator("li")).to_have_count(len(wanted))
    google.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**?bots=on&period=30d")
    expect(entries).to_have_count(0)
    tab.go_back()
    entries.get_by_role("link", name="Close").click()
    tab.wait_for_url("**?bots=on&period=30d")
    expect(entries).to_have_count(0)


def test_entry_pages_of_odd_sources_in_the_address(browser: Browser, furnished: Place) -> None:
    with signed_in_tab(browser, furnished, locale="de-DE") as tab:
        tab.goto(furnished.at("/sites/:id") + "?source=")
        expect(
            tab.get_by_role("region", name="Einstiegsseiten: Direkt oder ohne Angabe").locator("li")
        ).not_to_have_count(0)
        tab.goto(furnished.at("/sites/:id") + "?source=%3Cb%3Enowhere")
        unknown = tab.get_by_role("region", name="Einstiegsseiten: <b>nowhere")
        expect(unknown).to_contain_text("In diesem Zeitraum gibt es keine Besuche von dieser Quelle.")
        unknown.get_by_role("link", name="Schließen").click()
        expect(unknown).to_have_count(0)
        for source in ("(internal)", "(other)"):
            tab.goto(furnished.at("/sites/:id") + f"?source={source}")
            tab.locator(".breakdown.sources li").first.wait_for()
            expect(tab.locator(".breakdown.arrivals")).to_have_count(0)
        tab.goto(furnished.at("/links/:id") + "?source=")
        tab.locator(".breakdown.sources li").first.wait_for()
        expect(tab.locator(".breakdown.arrivals, .breakdown.sources [aria-expanded]")).to_have_count(0)


def test_days_without_breakdowns_are_named_with_the_reason(furnished: Place, tab: Page) -> None:
    """The test changes the service's response, because the furnished site has breakdowns of all days."""
    missing: list[dict[str, str]] = []

    def with_missing(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        body["report"]["breakdowns_missing"] = missing
        if any(part["reason"] == "not_kept" and part["to"] == "2025-03-31" for part in missing):
            body["report"]["breakdowns"] = None
        route.fulfill(response=response, json=body)

    tab.route("**/report?*breakdowns=1*", with_missing)
    for noun in ("sites", "links"):
        missing[:] = [
            {"from": "2025-01-01", "to": "2025-01-31", "reason": "imported"},
            {"from": "2025-02-01", "to": "2025-02-28", "reason": "not_kept"},
        ]
        tab.goto(furnished.at(f"/{noun}/:id") + "?period=30d")
        tab.locator(".report .lists").scroll_into_view_if_needed()
        lists = tab.get_by_role("region", name="Breakdowns")
        imported = lists.get_by_text("imported from another product")
        expect(imported).to_contain_text("There are no breakdowns for Jan 1")
        expect(lists.get_by_text("has deleted them")).to_contain_text("There are no breakdowns for Feb 1")
        expect(lists.locator(".breakdown.countries li").first).to_be_visible()
        missing[:] = [{"from": "2025-03-01", "to": "2025-03-31", "reason": "not_kept"}]
        tab.goto(furnished.at(f"/{noun}/:id"))
        expect(lists.get_by_text("has deleted them")).to_contain_text("There are no breakdowns for Mar 1")
        expect(lists.locator(".breakdown")).to_have_count(0)
        expect(tab.get_by_role("button", name="Export this report as CSV")).to_be_visible()
        missing[:] = []
        tab.goto(furnished.at(f"/{noun}/:id") + "?period=today")
        # Shortly after midnight, the breakdowns are empty.
        tab.locator(".report .lists [aria-busy=false]").wait_for(state="attached")
        assert tab.get_by_text("There are no breakdowns").count() == 0


def test_estimates_are_marked_in_chart_table_and_export(furnished: Place, tab: Page) -> None:
    def with_estimate(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        body["report"]["series"][0]["estimated"] = True
        route.fulfill(response=response, json=body)

    tab.route("**/report?*", with_estimate)
    tab.goto(furnished.at("/sites/:id"))
    tab.locator(".plot").wait_for()
    expect(tab.locator(".plot rect.estimated")).to_have_count(1)
    chart = tab.locator(".chart")
    chart.focus()
    tab.keyboard.press("Home")
    assert (chart.get_attribute("aria-valuetext") or "").endswith(" · estimate")
    expect(tab.locator(".tip")).to_contain_text("estimate")
    tab.keyboard.press("ArrowRight")
    assert "estimate" not in (chart.get_attribute("aria-valuetext") or "")
    expect(tab.locator(".tip")).not_to_contain_text("estimate")
    tab.get_by_text("Show as table").click()
    expect(tab.locator(".figures tbody th").filter(has_text="(estimate)")).to_have_count(1)
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Export this report as CSV").click()
    shown = list(csv.DictReader(io.StringIO(saved.value.path().read_bytes().decode())))
    assert [row["estimated"] for row in shown if row["list"] == "time"] == ["1", *[""] * 6]


@pytest.mark.parametrize("kind", ["sites", "links"])
def test_report_is_read_together_with_its_object(furnished: Place, tab: Page, kind: str) -> None:
    """The page requests the first numbers without waiting for the site or link. It requests the breakdowns after the
    first numbers, and reads nothing twice.
    """
    path = f"/v1/{kind}/{furnished.ids[kind]}"
    asked: list[str] = []
    objects: list[Route] = []
    numbers: list[Route] = []
    tab.on("request", lambda request: asked.append(request.url.removeprefix(furnished.url + path)))
    tab.route(furnished.url + path, lambda route: objects.append(route))
    tab.route(re.compile(rf"{path}/report\?(?!.*breakdowns)"), lambda route: numbers.append(route))
    tab.goto(furnished.at(f"/{kind}/:id"))
    while not objects or not numbers:
        tab.wait_for_timeout(10)
    objects.pop().continue_()
    tab.locator(".report").wait_for()
    assert [url for url in asked if "breakdowns" in url] == []
    while len(numbers) < (2 if kind == "sites" else 1):  # for a site, both the stored and the live numbers
        tab.wait_for_timeout(10)
    while numbers:
        numbers.pop().continue_()
    tab.locator(".breakdown li").first.wait_for()
    reads = [url for url in asked if url == "" or url.startswith("/report?")]
    assert len(set(reads)) == len(reads) == (4 if kind == "sites" else 3), reads
    assert objects == numbers == []


def test_previous_numbers_fade_until_new_period_loads(furnished: Place, tab: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "period=30d" in route.request.url:
            held.append(route)
        else:
            route.continue_()

    tab.route("**/report?*", hold)
    tab.goto(furnished.at("/sites/:id"))
    figures = tab.locator(".totals .figure")
    expect(figures.first).to_be_visible()
    expect(tab.locator("[aria-busy=true]")).to_have_count(0)
    tab.get_by_role("link", name="30 days").click()
    old = tab.locator("[aria-busy=true]").filter(has=figures)
    expect(old).to_have_css("opacity", "0.4")
    while len(held) < 2:  # one request is for the numbers, the other for the breakdowns
        tab.wait_for_timeout(10)
    for route in held:
        route.continue_()
    expect(old).to_have_count(0)
    expect(figures.first).to_be_visible()
