"""The browser contexts of these tests do not affect each other."""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING

from tests.web.browser import close, fetched, new_context

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


def test_fetched_repeats_a_request_on_a_connection_that_the_service_closes(browser: Browser) -> None:
    context = new_context(browser)
    page = context.new_page()
    accepted: list[int] = []

    def serve() -> None:
        """Close the first connection without a response, as a service does with an idle one. Respond on the second."""
        for body in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nAccess-Control-Allow-Origin: *\r\n\r\nhere"):
            connection, _ = server.accept()
            accepted.append(len(body))
            connection.recv(65_536)
            connection.sendall(body)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if body:
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        thread = threading.Thread(target=serve)
        thread.start()
        page.route("**/*", lambda route: route.fulfill(response=fetched(route)))
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1/me"
        request = "(url) => fetch(url, {signal: AbortSignal.timeout(20_000)}).then((response) => response.text())"
        assert page.evaluate(request, url) == "here"
        thread.join()
    assert len(accepted) == 2
    close(context)
