"""The browser contexts of these tests do not affect each other."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from tests.web.places import close, new_context

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route


def test_closed_context_ends_its_route_handlers_without_an_error(browser: Browser) -> None:
    context, next_context = new_context(browser), new_context(browser)
    page = context.new_page()
    began: list[Route] = []

    def fetched(route: Route) -> None:
        began.append(route)
        route.fetch(url=f"http://127.0.0.1:{silent.getsockname()[1]}/")

    with socket.create_server(("127.0.0.1", 0)) as silent:
        page.route("**/*", fetched)
        page.evaluate("void fetch('https://shop.example/').catch(() => null)")
        while not began:
            page.evaluate("null")
        # A real test ends here. Its fixtures fail if the handler raises an error in the next test.
        close(context)
        next_context.new_page().evaluate("null")
    close(next_context)
