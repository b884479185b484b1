"""The public page of a share, and the dialog in which its owner manages it."""

from __future__ import annotations

import random
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from edge_worker.harness.sampling import EVERYTHING, SEED
from tests.web.browser import HEIGHT, THEMES, WIDTHS, close, fetched, new_context, signed_in_tab, wait_until_loaded
from tests.web.test_hostile_texts import HOSTILE, only_text, written
from tests.web.visit import AXE
from tests.web.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route

    from tests.web.places import Place

PASSWORD = "a long password"
NARROW = 320
FRAME = """<!doctype html><title>Our site</title><iframe src="{url}" width="320" height="100"></iframe>
<script>
  window.heights = [];
  addEventListener("message", ({{ data }}) => data?.type === "share-height" && heights.push(data.height_px));
</script>"""


class Sharer(World):
    """The owner of a site and a link, who shares them."""

    def share(self, kind: str = "sites", **more: Any) -> dict[str, Any]:
        """Share the site or link. Return the share."""
        body = {"name": "Our shop", **more}
        share: dict[str, Any] = self.call("POST", f"/v1/{kind}/{self.place.ids[kind]}/shares", body)["share"]
        return share


@pytest.fixture
def sharer(furnished: Place) -> Iterator[Sharer]:
    """The owner of shares, which are deleted at the end of the test, because other tests use the same site and link."""
    world = Sharer(furnished)
    yield world
    for kind in ("sites", "links", "accounts"):
        for share in world.call("GET", f"/v1/{kind}/{furnished.ids[kind]}/shares")["shares"]:
            world.call("DELETE", f"/v1/shares/{share['id']}", {})


@contextmanager
def viewer(browser: Browser, **more: Any) -> Iterator[Page]:
    """Open a tab in which no user is signed in."""
    context = new_context(browser, **more)
    yield context.new_page()
    close(context)


@contextmanager
def website(html: str) -> Iterator[str]:
    """Serve a page at another origin, and return the origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *arguments: Any) -> None:
            del arguments

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.rule("Y13")
def test_viewer_without_a_user_sees_the_report_with_lists(browser, furnished, sharer):
    share = sharer.share(lists=True)
    with viewer(browser) as page:
        page.goto(f"{share['url']}?period=30d")
        wait_until_loaded(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("shop.example")
        expect(page.get_by_text("Our shop")).to_be_visible()
        views = page.locator(".totals .views .figure")
        assert int(views.inner_text()) > 0
        expect(page.locator(".breakdown.pages")).to_be_visible()
        expect(page.get_by_text("Powered by svc")).to_be_visible()
        page.get_by_role("link", name="Today").click()
        expect(page.get_by_role("link", name="Today")).to_have_attribute("aria-current", "true")
        assert page.evaluate("broken") == []
        assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0
        # The page of a share offers no actions that change something.
        assert page.get_by_role("button", name="Add note").count() == 0


@pytest.mark.rule("Y13")
def test_page_offers_only_the_shared_periods_and_no_lists(browser, sharer):
    share = sharer.share(periods=["7d", "30d"])
    with viewer(browser) as page:
        page.goto(share["url"])
        wait_until_loaded(page)
        assert page.locator("nav.periods a").all_inner_texts() == ["7 days", "30 days"]
        assert page.locator("input[type=date]").count() == 0
        assert page.locator(".breakdown").count() == 0
        page.goto(f"{share['url']}?period=all")
        expect(page.get_by_text("This period is not available.")).to_be_visible()
        page.get_by_role("link", name="Show another period").click()
        expect(page.locator(".totals")).to_be_visible()
    only = sharer.share("links", periods=["30d"])
    with viewer(browser) as page:
        page.goto(only["url"])
        wait_until_loaded(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("go.shop.example/hello")
        assert page.locator("nav.periods").count() == 0


@pytest.mark.rule("Y13")
def test_password_opens_the_page(browser, sharer):
    share = sharer.share(password=PASSWORD)
    with viewer(browser) as page:
        page.goto(share["url"])
        page.get_by_label("Password", exact=True).fill("a wrong password")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("alert")).to_contain_text("The password is incorrect.")
        assert page.get_by_text("shop.example").count() == 0
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Open").click()
        expect(page.locator(".totals")).to_be_visible()


@pytest.mark.rule("Y13")
def test_page_opens_after_its_password_was_removed(browser, sharer):
    share = sharer.share(password=PASSWORD)
    with viewer(browser) as page:
        page.goto(share["url"])
        password = page.get_by_label("Password", exact=True)
        password.fill("a forgotten password")
        sharer.call("PATCH", f"/v1/shares/{share['id']}", {"password": None})
        page.get_by_role("button", name="Open").click()
        expect(page.locator(".totals")).to_be_visible()


@pytest.mark.rule("Y13")
def test_ended_and_unknown_pages_look_the_same_and_are_in_the_viewers_language(browser, furnished, sharer):
    share = sharer.share()
    sharer.call("DELETE", f"/v1/shares/{share['id']}", {})
    for locale, title in (("en-US", "This page is not available"), ("de-AT", "Diese Seite ist nicht verfügbar")):
        shown = []
        with viewer(browser, locale=locale) as page:
            for url in (share["url"], f"{furnished.url}/s/shs_{'a' * 20}", share["url"][:-4]):
                response = page.goto(url)
                assert response is not None
                assert response.status == 404
                expect(page.get_by_role("heading", level=1)).to_have_text(title)
                shown.append(page.locator("#app").inner_html())
            assert page.evaluate("document.documentElement.lang") == locale[:2]
        assert len(set(shown)) == 1


@pytest.mark.rule("Y13")
def test_account_page_lists_sites(browser, sharer):
    share = sharer.share("accounts")
    with viewer(browser) as page:
        page.goto(share["url"])
        wait_until_loaded(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Our shop")
        expect(page.get_by_role("link", name="shop.example", exact=True)).to_be_visible()


@pytest.mark.rule("Y13")
def test_viewer_opens_a_site_of_an_account_and_returns(browser, sharer):
    share = sharer.share("accounts", lists=True, password=PASSWORD)
    of_site = f"{share['url']}/sites/{sharer.place.ids['sites']}"
    with viewer(browser) as page:
        page.goto(f"{share['url']}?period=30d")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Open").click()
        page.get_by_role("link", name="shop.example", exact=True).click()
        # The user enters the password once. After that, the selected days are unchanged, and the heading has the focus.
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text("shop.example")
        expect(heading).to_be_focused()
        expect(page).to_have_url(f"{of_site}?period=30d")
        expect(page.get_by_role("link", name="30 days")).to_have_attribute("aria-current", "true")
        expect(page.get_by_text("Our shop")).to_be_visible()
        expect(page.locator(".breakdown.pages")).to_be_visible()
        assert int(page.locator(".totals .views .figure").inner_text()) > 0
        page.get_by_role("link", name="Today").click()
        expect(page.get_by_role("link", name="Today")).to_have_attribute("aria-current", "true")
        page.get_by_role("link", name="All sites").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Our shop")
        expect(page).to_have_url(f"{share['url']}?period=today")
        page.go_back()
        expect(heading).to_have_text("shop.example")
        # The password is not stored, so the page asks for it when it is opened again.
        page.goto(of_site)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("shop.example")
        assert page.evaluate("broken") == []
        assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0


@pytest.mark.rule("Y13")
def test_unknown_site_of_an_account_leads_to_the_list(browser, sharer):
    share = sharer.share("accounts")
    with viewer(browser) as page:
        response = page.goto(f"{share['url']}/sites/site_{'a' * 20}")
        assert response is not None
        assert response.status == 404
        expect(page.get_by_role("heading", level=1)).to_have_text("This page is not available")
        page.get_by_role("link", name="All sites").click()
        expect(page.get_by_role("link", name="shop.example", exact=True)).to_be_visible()


@pytest.mark.rule("Y13")
def test_owner_shares_an_account(browser, furnished, sharer):
    path = f"/v1/accounts/{furnished.ids['accounts']}/shares"
    with signed_in_tab(browser, furnished, locale="de-DE") as tab:
        tab.goto(furnished.at("/accounts/:id"))
        tab.get_by_role("button", name="Teilen", exact=True).click()
        dialog = tab.get_by_role("dialog", name="Zahlen aller Websites dieses Kontos teilen")
        expect(dialog.get_by_text("Noch nicht geteilt.")).to_be_visible()
    with signed_in_tab(browser, furnished) as tab:
        tab.goto(furnished.at("/accounts/:id"))
        tab.get_by_role("button", name="Share", exact=True).click()
        dialog = tab.get_by_role("dialog")
        expect(dialog).to_have_accessible_name("Share the stats of all sites in this account")
        expect(dialog.get_by_text("Not shared yet.")).to_be_visible()
        dialog.get_by_role("button", name="Create link").click()
        dialog.get_by_label("Name").fill("All shops")
        dialog.get_by_role("button", name="Create link").click()
        expect(dialog.get_by_text("All shops")).to_be_visible()
        [share] = sharer.call("GET", path)["shares"]
        assert not share["lists"]
        expect(dialog.get_by_text(share["url"])).to_be_visible()
        dialog.get_by_role("button", name="Edit: All shops").click()
        dialog.get_by_label("Name").fill("Our shops")
        dialog.get_by_label("Also show breakdowns").check()
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.get_by_text("Our shops")).to_be_visible()
        assert sharer.call("GET", path)["shares"] == [{**share, "name": "Our shops", "lists": True}]
        dialog.get_by_role("button", name="End: Our shops").click()
        tab.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
        expect(tab.get_by_role("dialog").get_by_text("Not shared yet.")).to_be_visible()
        assert sharer.call("GET", path)["shares"] == []
        assert tab.evaluate("broken") == []


@pytest.mark.rule("Y13")
def test_only_allowed_origins_can_show_the_page_in_a_frame(browser, sharer):
    share = sharer.share(lists=True)
    with website(FRAME.format(url=share["url"])) as origin, viewer(browser) as page:
        page.goto(origin)
        frame = page.frames[1]
        page.wait_for_load_state("networkidle")
        assert "shop.example" not in frame.content()
        sharer.call("PATCH", f"/v1/shares/{share['id']}", {"embed": [origin]})
        page.goto(origin)
        inside = page.frame_locator("iframe")
        expect(inside.get_by_role("heading", level=1)).to_have_text("shop.example")
        inside.locator(".skeleton").first.wait_for(state="detached")
        width = page.frames[1].evaluate("document.documentElement.scrollWidth")
        assert width <= NARROW
        page.wait_for_function("heights.at(-1) > 300")
        height = page.frames[1].evaluate("Math.ceil(document.body.getBoundingClientRect().height)")
        page.wait_for_function("(height) => heights.at(-1) === height", arg=height)
        # Only the listed origin may show the page in a frame. Other origins, such as the same server at 127.0.0.1, are
        # refused.
        page.goto(origin.replace("localhost", "127.0.0.1"))
        page.wait_for_load_state("networkidle")
        assert "shop.example" not in page.frames[1].content()


@pytest.mark.rule("Y13")
def test_site_of_an_account_opens_inside_the_frame(browser, sharer):
    share = sharer.share("accounts")
    with website(FRAME.format(url=share["url"])) as origin, viewer(browser) as page:
        sharer.call("PATCH", f"/v1/shares/{share['id']}", {"embed": [origin]})
        page.goto(origin)
        inside = page.frame_locator("iframe")
        inside.get_by_role("link", name="shop.example", exact=True).click()
        expect(inside.get_by_role("heading", level=1)).to_have_text("shop.example")
        expect(inside.locator(".totals")).to_be_visible()
        assert page.frames[1].evaluate("document.documentElement.scrollWidth") <= NARROW
        page.wait_for_function("heights.at(-1) > 300")
        # The navigation happens in the frame, and the page around it does not change.
        assert page.url == f"{origin}/"


@pytest.mark.rule("Y13")
def test_hostile_texts_stay_text(browser, sharer):
    share, of_account = sharer.share(lists=True), sharer.share("accounts", lists=True)
    with viewer(browser) as page:

        def spoiled(route: Route) -> None:
            response = fetched(route)
            body = written(response.json())
            body["share"] |= {"name": HOSTILE, "title": HOSTILE}
            for site in body.get("account", {}).get("sites", []):
                site |= {"host": HOSTILE, "id": HOSTILE}
            route.fulfill(response=response, json=body)

        page.route("**/report?*", spoiled)
        page.goto(f"{share['url']}?period=30d")
        wait_until_loaded(page)
        only_text(page, "the page of a share")
        expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
        page.goto(f"{of_account['url']}?period=30d")
        wait_until_loaded(page)
        only_text(page, "the page of an account")
        site = page.locator(".rows a")
        expect(site).to_contain_text("<img src=x")
        assert site.evaluate("(link) => link.origin + link.pathname").startswith(f"{of_account['url']}/sites/%")
        page.goto(f"{of_account['url']}/sites/{sharer.place.ids['sites']}?period=30d")
        wait_until_loaded(page)
        only_text(page, "the page of a site of an account")
        expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")


@pytest.mark.parametrize("theme", THEMES if EVERYTHING else [random.Random(SEED).choice(THEMES)])
def test_page_is_accessible(browser, sharer, theme):
    open_share, protected = sharer.share(lists=True), sharer.share(password=PASSWORD)
    of_account = sharer.share("accounts", lists=True)["url"]
    pages = (
        open_share["url"],
        protected["url"],
        f"{open_share['url'][:-4]}aaaa",
        of_account,
        f"{of_account}/sites/{sharer.place.ids['sites']}",
        f"{of_account}/sites/site_{'a' * 20}",
    )
    for width in (NARROW, 1180):
        with viewer(browser, color_scheme=theme, viewport={"width": width, "height": 844}) as page:
            for url in pages:
                page.goto(url)
                wait_until_loaded(page)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                page.evaluate(AXE)
                found = page.evaluate("axe.run(document)")["violations"]
                assert [(each["id"], each["nodes"][0]["target"]) for each in found] == [], (url, width)


@pytest.mark.rule("Y13")
def test_owner_creates_changes_and_ends_a_share(browser, furnished, sharer):
    with signed_in_tab(browser, furnished) as tab:
        tab.goto(f"{furnished.at('/sites/:id')}?period=30d")
        wait_until_loaded(tab)
        tab.get_by_role("button", name="Share", exact=True).click()
        dialog = tab.get_by_role("dialog")
        expect(dialog.get_by_text("Not shared yet.")).to_be_visible()
        dialog.get_by_role("button", name="Create link").click()
        dialog.get_by_label("Name").fill("Board")
        dialog.get_by_label("30 days").check()
        dialog.get_by_label("Websites that may embed").fill("https://a.example/path")
        dialog.get_by_role("button", name="Create link").click()
        expect(dialog.get_by_role("alert")).to_be_visible()  # the input is not valid, because an origin has no path
        dialog.get_by_label("Websites that may embed").fill("https://a.example")
        dialog.get_by_role("button", name="Create link").click()
        expect(dialog.get_by_text("Board")).to_be_visible()
        [share] = sharer.call("GET", f"/v1/sites/{furnished.ids['sites']}/shares")["shares"]
        assert (share["periods"], share["embed"]) == (["30d"], ["https://a.example"])
        expect(dialog.get_by_text(share["url"])).to_be_visible()
        dialog.get_by_text("Badge", exact=True).click()
        image = dialog.locator("img")
        assert image.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
        dialog.get_by_role("button", name="Edit: Board").click()
        dialog.get_by_label("Also show breakdowns").check()
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.get_by_text("Saved.")).to_be_visible()
        [changed] = sharer.call("GET", f"/v1/sites/{furnished.ids['sites']}/shares")["shares"]
        assert changed == {**share, "lists": True}
        dialog.get_by_role("button", name="End: Board").click()
        tab.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
        expect(tab.get_by_role("dialog").get_by_text("Not shared yet.")).to_be_visible()
        assert tab.evaluate("broken") == []


def test_list_of_shares_fits_into_the_dialog(browser, furnished, sharer):
    for name in ("Board", "All shops of the north"):
        sharer.share(name=name)
    with signed_in_tab(browser, furnished, locale="de-DE") as tab:
        tab.goto(f"{furnished.at('/sites/:id')}?period=30d")
        tab.get_by_role("button", name="Teilen", exact=True).click()
        dialog = tab.get_by_role("dialog")
        expect(dialog.get_by_role("listitem").filter(has_text="Board")).to_be_visible()
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": HEIGHT})
            assert dialog.evaluate("(dialog) => dialog.scrollWidth <= dialog.clientWidth"), width
            ends_at = dialog.locator("ul").evaluate("(list) => list.getBoundingClientRect().top + list.scrollHeight")
            create = dialog.get_by_role("button", name="Link erstellen")
            assert ends_at <= create.evaluate("(button) => button.getBoundingClientRect().top"), width
