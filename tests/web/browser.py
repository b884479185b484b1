"""A real Chromium: its contexts and tabs, and the requests that pages send."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from edge_worker.tools.node import node_command
from tests.contract import contract, path_of
from tests.web.places import EMAIL, PASSWORD, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import APIResponse, Browser, BrowserContext, Page, Request, Route

    from tests.web.places import Place


WIDTHS = (1180, 390, 320)
THEMES = ("light", "dark")
HEIGHT = 844
# All tabs share one process with one script thread. This takes less CPU time than a process per tab. --in-process-gpu
# and --single-process would save more time, but Chromium occasionally crashes with these options.
CHROMIUM_ARGS = [
    "--no-sandbox", "--disable-gpu",
    "--renderer-process-limit=1", "--disable-site-isolation-trials", "--js-flags=--single-threaded",
]  # fmt: skip
_CARRIED = 'import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath())'
# The method and path of requests that pages have sent in the current test, except requests for static files.
CALLED: set[tuple[str, str]] = set()
_CALLS = {"fetch", "xhr", "eventsource", "websocket", "ping"}
# A script that makes pages record violations of their Content-Security-Policy.
_WATCH = "window.broken = []; addEventListener('securitypolicyviolation', (e) => broken.push(e.effectiveDirective))"


def chromium() -> str:
    """Return the path of Chromium: from CHROMIUM, from PATH, or from the npm package."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        carried = node_command("--input-type=module", "--eval", _CARRIED)
        # The package unpacks Chromium into the temporary folder. Use a lock, because the package would use a file that
        # another process has not unpacked completely.
        with (Path(tempfile.gettempdir()) / "svc-chromium.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = subprocess.run(
                carried, cwd=ROOT / "edge_worker", stdout=subprocess.PIPE, text=True, check=True
            ).stdout.strip()
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a Chromium browser without a session."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        yield browser
        browser.close()


def new_context(browser: Browser, **more: Any) -> BrowserContext:
    """Open a browser context without cookies. The context sets a locale, because the default locale of this Chromium is
    not valid.
    """
    size = {"width": WIDTHS[0], "height": HEIGHT}
    wanted = {"locale": "en-US", "timezone_id": "Asia/Tehran", "reduced_motion": "reduce", "viewport": size, **more}
    context = browser.new_context(**wanted)
    context.add_init_script(_WATCH)
    context.set_default_timeout(20_000)
    context.on("request", _note)
    return context


def fetched(route: Route) -> APIResponse:
    """Send the request of a route to the service, and return the response.

    Like a browser, repeat the request if the service has just closed the idle connection that was used for it.
    """
    return route.fetch(max_retries=2)


class Held:
    """Holds matching requests of a page until `release` is called. `method`: by default, requests with any method."""

    def __init__(self, page: Page, pattern: str, method: str = "") -> None:
        self._method = method
        self._waiting: list[Route] = []
        self._released = False
        page.route(pattern, self._hold)

    def _hold(self, route: Route) -> None:
        if self._released or not route.request.method.startswith(self._method):
            route.fallback()
        else:
            self._waiting.append(route)

    def release(self) -> None:
        """Let all held and later requests pass."""
        self._released = True
        for route in self._waiting:
            route.fallback()


def close(context: BrowserContext) -> None:
    """Close the browser context. A route handler that is still waiting for a response is ended without an error."""
    for page in context.pages:
        page.unroute_all(behavior="ignoreErrors")
    context.unroute_all(behavior="ignoreErrors")
    context.close()


def _note(request: Request) -> None:
    address = urlsplit(request.url)
    ours = address.hostname == "127.0.0.1"  # pages on other hosts are customers' pages, which may call anything
    if request.resource_type in _CALLS and ours and not address.path.startswith("/assets/"):
        CALLED.add((request.method, address.path))


def outside_the_contract() -> set[str]:
    """Return the requests that pages have sent and that are not in the OpenAPI document."""
    known = contract()["paths"]
    return {f"{method} {path}" for method, path in CALLED if method.lower() not in known.get(path_of(path) or "", ())}


def wait_until_loaded(page: Page) -> None:
    """Wait until the page shows its data. Some parts load their data only when they are on the screen, so this function
    scrolls to them.
    """
    page.locator("h1").first.wait_for()
    page.wait_for_load_state("networkidle")
    lists = page.locator(".report .lists")
    if lists.count():
        lists.scroll_into_view_if_needed()
    page.locator(".skeleton").first.wait_for(state="detached")


def sign_in(context: BrowserContext, place: Place, email: str = EMAIL) -> None:
    """Sign in to the service in this browser context, without opening the sign-in page."""
    response = context.request.post(f"{place.url}/auth/sign-in", data={"email": email, "password": PASSWORD})
    assert response.ok, response.text()


@contextmanager
def signed_in_tab(browser: Browser, place: Place, email: str = EMAIL, **more: Any) -> Iterator[Page]:
    """Open a tab in a new browser context with this user signed in. `more`: see `new_context`."""
    context = new_context(browser, **more)
    sign_in(context, place, email)
    yield context.new_page()
    close(context)
