"""Whatever a visitor or a customer can write is text on every page, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.web.places import new_context, pages, sign_in, states

if TYPE_CHECKING:
    from playwright.sync_api import Route

# Markup of three kinds, quotes, an entity, the end of a script, a sign that turns the direction of writing.
HOSTILE = "<img src=x onerror=\"broken.push('ran')\"><svg onload=alert(1)></script>'\"&lt;b&gt;\u202e"
# Of all that the API answers, what others may have written: names, hosts, paths, sources, addresses, messages.
WRITTEN = {
    "name", "host", "zone", "url", "short_url", "code", "path", "excluded_paths", "pages", "sources", "countries",
    "devices", "browsers", "os", "bots", "key", "label", "message", "remedy", "client", "user_agent", "email", "ip",
}  # fmt: skip


def written(value: Any, *, theirs: bool = False) -> Any:
    """The same JSON with the hostile text wherever somebody else may have written."""
    match value:
        case dict():
            return {key: written(each, theirs=theirs or key in WRITTEN) for key, each in value.items()}
        case list():
            return [written(each, theirs=theirs) for each in value]
        case str() if theirs:
            return HOSTILE
        case _:
            return value


def test_what_others_have_written_is_text_on_every_page(browser, furnished):
    context = new_context(browser)
    sign_in(context, furnished)
    page = context.new_page()

    def spoiled(route: Route) -> None:
        answer = route.fetch()
        if answer.headers.get("content-type") != "application/json":
            route.fulfill(response=answer)
        else:
            route.fulfill(response=answer, json=written(answer.json()))

    context.route(lambda url: "/v1/" in url, spoiled)
    shown = []
    for path in [each["path"] for each in pages() if not each["public"]] + states():
        page.goto(furnished.at(path))
        page.locator("h1").first.wait_for()
        page.wait_for_load_state("networkidle")
        page.locator(".skeleton").first.wait_for(state="detached")
        assert page.locator("img[src=x], [onload], [onerror]").count() == 0, path
        assert page.evaluate("broken") == [], path
        links = page.locator("a").evaluate_all("(all) => all.map((one) => one.protocol)")
        assert set(links) <= {"http:", "https:", "mailto:", ":"}, path  # ":" is one that leads nowhere
        if "<img src=x" in page.locator("body").inner_text():
            shown.append(path)
    context.close()
    assert {"/", "/accounts", "/accounts/:id", "/sites", "/sites/:id", "/links", "/links/:id", "/keys"} <= set(shown)
