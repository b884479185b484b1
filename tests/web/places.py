"""The environment of the browser tests: a real Chromium, and real services. One service has data."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx
import trio
from playwright.sync_api import sync_playwright

from edge_worker.emulator.client import Emulator, proxied_zone
from edge_worker.harness.service import Service, environment, eventually
from edge_worker.harness.visitors import DESKTOP_CHROME, Tally, clicks, views
from edge_worker.local_http import NO_CERTIFICATES, local_client
from edge_worker.programs import open_program
from edge_worker.tools.node import node_command
from tests.contract import contract, path_of
from tests.emulated import emulator_process, fresh

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from playwright.sync_api import APIResponse, Browser, BrowserContext, Page, Request, Route

    from edge_worker.emulator.client import Customer
    from edge_worker.programs import Fork
    from tests.emulated import Running

ROOT = Path(__file__).parents[2]
EMAIL, PASSWORD = "you@example.com", "a long password"
LINK_OWNER = "links@example.com"
TAG = "landing"
WIDTHS = (1180, 390, 320)
THEMES = ("light", "dark")
HEIGHT = 844
# All tabs share one process with one script thread. This takes less CPU time than a process per tab. --in-process-gpu
# and --single-process would save more time, but Chromium occasionally crashes with these options.
CHROMIUM_ARGS = [
    "--no-sandbox", "--disable-gpu",
    "--renderer-process-limit=1", "--disable-site-isolation-trials", "--js-flags=--single-threaded",
]  # fmt: skip
MAX_ACCOUNTS = 8  # the limit per user in services that have an emulated platform

_CARRIED = 'import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath())'
# Settings that disable rate limits and the caching of reports.
_UNLIMITED = {
    **{f"SVC_LIMITS_{name}_PER_MINUTE": "1000000" for name in ("SIGN_INS", "REFRESHES", "REQUESTS", "REPORT_READS")},
    "SVC_TIMING_REPORT_CACHE_S": "0.001",
    # The time for which the service retries a rejected token, which may be too new. It is shorter than the default.
    "SVC_EDGE_SETTLING_IN_CONNECT_S": "1",
    "SVC_METRICS_BIND": "127.0.0.1:0",
    # This setting lets a test send requests from any address, with X-Forwarded-For.
    "SVC_HTTP_TRUSTED_PROXIES": "127.0.0.1",
}
_HOUR_MS = 3_600_000
# The minutes of the crons. A Worker needs a few runs to close an hour, and one run after the minute of its push.
_CRON_MINUTES = range(0, 60, 4)
# The method and path of requests that pages have sent in the current test, except requests for static files.
CALLED: set[tuple[str, str]] = set()
_CALLS = {"fetch", "xhr", "eventsource", "websocket", "ping"}
# A script that makes pages record violations of their Content-Security-Policy.
_WATCH = "window.broken = []; addEventListener('securitypolicyviolation', (e) => broken.push(e.effectiveDirective))"


@dataclass(frozen=True)
class Place:
    """A running service with a user.

    `ids`: the value of `:id` for each section of pages. `control`: the control URL of the emulated platform, or "".
    `sent`: the views that were sent to the site.
    """

    url: str
    folder: Path
    ids: dict[str, str]
    control: str = ""
    sent: Tally = field(default_factory=Tally)

    def at(self, path: str) -> str:
        """Return the URL of a page with this path in pages.json."""
        return self.url + path.replace(":id", self.ids.get(path.split("/")[1], ""))

    def visit(self, host: str, path: str, **more: Any) -> dict[str, Any]:
        """Send a request through the emulated edge. Return the status, headers and body of the response."""
        response = httpx.post(
            f"{self.control}/visit", json={"host": host, "path": path, **more}, trust_env=False, timeout=30
        )
        visited: dict[str, Any] = response.raise_for_status().json()
        return visited


def metrics_of(place: Place) -> bytes:
    """Return the service's metrics. The service logs their URL."""
    [url] = re.findall(r'"url": "(http://[^"]+/metrics)"', (place.folder / "log").read_text())
    return httpx.get(url, trust_env=False, timeout=30).raise_for_status().content


def pages() -> list[dict[str, Any]]:
    """Return the pages of the web application from pages.json."""
    listed: list[dict[str, Any]] = json.loads((ROOT / "svc/web/pages.json").read_text())
    return listed


def states() -> list[str]:
    """Return paths with queries that open parts of a page which the path alone does not show."""
    return [
        f"/accounts/:id?day={time.strftime('%Y-%m-%d', time.gmtime())}",
        "/sites/:id?period=12mo&compare=year&bots=on",
        "/sites/:id?source=google.com",
        "/links/:id?period=month&by=week",
        f"/links?tag={TAG}",
    ]


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
    """Return the requests of pages that are not in the OpenAPI document."""
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


def sign_up(place: Place, email: str) -> None:
    """Create another user with the password PASSWORD."""

    async def made() -> None:
        async with local_client(timeout=60) as client:
            await Service(place.url, cast("Any", None), place.folder, client).sign_up(email, PASSWORD)

    trio.run(made)


class World:
    """Access to the service and the platform without a browser."""

    def __init__(self, place: Place, email: str = EMAIL) -> None:
        self.place = place
        with httpx.Client(trust_env=False, verify=NO_CERTIFICATES) as client:
            response = client.post(f"{place.url}/auth/sign-in", json={"email": email, "password": PASSWORD})
        self.headers = {"Authorization": f"Bearer {response.json()['access_token']}"}

    def platform(self, does: Callable[[Emulator], Awaitable[Any]]) -> Any:
        """Run an action with the client for the platform's control API, and return the result."""

        async def ask() -> Any:
            ready = {"api": "", "edge": "", "control": self.place.control}
            async with local_client(timeout=30) as client:
                return await does(Emulator(ready, client, 0))

        return trio.run(ask)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the service and return the JSON of its response."""
        response = self._request(method, path, body)
        assert response.is_success, response.text
        return response.json()

    def _request(self, method: str, path: str, body: object = None) -> httpx.Response:
        url = self.place.url + path
        return httpx.request(method, url, json=body, headers=self.headers, timeout=30, trust_env=False)

    def account(self, customer: Customer) -> dict[str, Any] | None:
        """Return the customer's account as the service lists it, or None if it is not connected."""
        listed = self.call("GET", "/v1/accounts")["accounts"]
        return next((each for each in listed if each["edge_account_id"] == customer.account_id), None)

    def connected(self, customer: Customer) -> str:
        """Connect an account through the API, and return its id."""
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        return str(self.call("POST", "/v1/accounts", body)["account"]["id"])

    def disconnect(self, customer: Customer) -> None:
        """Disconnect an account, if it is connected, without faults of the platform."""

        async def disconnected(platform: Emulator) -> None:
            await platform.clear_faults()
            await eventually(is_disconnected)

        async def is_disconnected() -> bool | None:
            account = self.account(customer)
            if account is None:
                return True
            response = self._request("DELETE", f"/v1/accounts/{account['id']}")
            is_busy = response.status_code == 409  # an operation of the account has not ended yet
            assert response.is_success or is_busy, response.text
            return None if is_busy else True

        self.platform(disconnected)

    def with_link_host(self, customer: Customer, host: str) -> str:
        """Connect an account, wait until its Worker is installed, and set its link host. Return the account's id."""
        account_id = self.connected(customer)

        async def ready() -> bool | None:
            return self.call("GET", f"/v1/accounts/{account_id}")["account"]["state"] == "ready" or None

        self.platform(lambda _: eventually(ready))
        self.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": host})
        return account_id

    def seen(self, customer: Customer, site: dict[str, Any], *sent: str) -> None:
        """Send views of the site, dated two hours ago, and let the Worker push them.

        `sent`: the bodies that the snippet sends. Raises AssertionError if the Worker does not push all views.
        """

        async def view(platform: Emulator) -> None:
            headers = {"User-Agent": DESKTOP_CHROME.user_agent, "Content-Type": "text/plain"}
            for body in sent:
                response = await platform.visit(site["host"], site["path"], method="POST", headers=headers, body=body)
                assert response.status == 204, response

        def is_pushed() -> bool:
            report = self.call("GET", f"/v1/sites/{site['id']}/report?period=30d")["report"]
            return bool(report["totals"]["views"] == len(sent))

        self._visited(customer, f"/v1/sites/{site['id']}", view, is_pushed)

    def clicked(self, customer: Customer, link: dict[str, Any], count: int) -> list[str]:
        """Click on the link from `count` addresses, dated two hours ago, and let the Worker count the clicks.

        Return the target of each click, or "" for a response that is not a redirect. Raises AssertionError if the
        Worker does not count all clicks.
        """
        targets = []

        async def click(platform: Emulator) -> None:
            headers = {"User-Agent": DESKTOP_CHROME.user_agent}
            host, path = link["short_url"].removeprefix("https://").split("/")
            for number in range(count):
                response = await platform.visit(host, f"/{path}", headers=headers, ip=f"203.0.113.{number}")
                targets.append(dict(response.headers).get("location", ""))

        def is_counted() -> bool:
            report = self.call("GET", f"/v1/links/{link['id']}/report?period=30d&breakdowns=1")["report"]
            outside = (report["breakdowns"] or {}).get("outside", [])
            return bool(report["totals"]["views"] + sum(one["n"] for one in outside) == count)

        self._visited(customer, f"/v1/links/{link['id']}", click, is_counted)
        return targets

    def _visited(
        self,
        customer: Customer,
        path: str,
        visit: Callable[[Emulator], Awaitable[None]],
        is_counted: Callable[[], bool],
    ) -> None:
        """Carry out visits to a site or link, dated two hours ago. Run crons until the service has their counts."""
        now = time.time_ns() // 1_000_000
        hour_at = (now // _HOUR_MS - 2) * _HOUR_MS

        async def synced() -> bool | None:
            [target] = self.call("GET", path).values()
            return target["config"] == "synced" or None

        async def visited(platform: Emulator) -> None:
            await eventually(synced)
            await platform.clock((hour_at + 20 * 60_000 - now) / 1000)
            await visit(platform)
            await platform.settled()
            await platform.clock(0)
            # If the Worker has already pushed in this hour, its next push is due within an hour.
            for hour in (1, 2, 3):
                crons = [(customer.account_id, hour_at + hour * _HOUR_MS + minute * 60_000) for minute in _CRON_MINUTES]
                await platform.crons(crons, "svc-edge")
                if is_counted():
                    return
            raise AssertionError("the worker has not pushed the counts")

        self.platform(visited)


@dataclass(frozen=True)
class LinkHost:
    """The link host of the user LINK_OWNER, who has no other objects."""

    place: Place
    host: str
    account_id: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the service as this user, and return the JSON of its response."""
        return World(self.place, LINK_OWNER).call(method, path, body)

    def create(self, code: str, **fields: Any) -> dict[str, Any]:
        """Create a link. `fields`: as in the API; by default, each link gets a different target."""
        body = {"account_id": self.account_id, "url": f"https://shop.example/{code}", "code": code, **fields}
        link: dict[str, Any] = self.call("POST", "/v1/links", body)["link"]
        return link

    def find(self, code: str) -> dict[str, Any]:
        """Return the active link with this code."""
        links = self.call("GET", f"/v1/links?q={code}")["links"]
        [link] = [each for each in links if each["code"] == code]
        return dict(link)


@contextmanager
def open_place(folder: Path, settings: dict[str, str] | None = None) -> Iterator[Place]:
    """Start a service with one user, who has no data. `settings`: more environment variables of the service."""
    with _service(folder, settings or {}) as url:
        trio.run(_furnish, url, folder)
        yield Place(url, folder, {})


@contextmanager
def open_demonstration(folder: Path) -> Iterator[Place]:
    """Start a demonstration with one user, who has no data."""
    offered = {
        "edge_account_id": "0" * 32,
        "bootstrap_token": "cfat_example",
        "host": "second.example",
        "visit_url": "http://127.0.0.1:9/visit",
    }
    with open_place(folder, {"SVC_WEB_DEMONSTRATION": json.dumps(offered)}) as place:
        yield place


@contextmanager
def open_without_users(folder: Path, settings: dict[str, str]) -> Iterator[Place]:
    """Start a service without users."""
    with _service(folder, settings) as url:
        yield Place(url, folder, {})


def _edge_settings(emulator: dict[str, str]) -> dict[str, str]:
    return {"SVC_EDGE_API_BASE_URL": emulator["api"], "SVC_EDGE_EMULATED_EDGE": emulator["edge"]}


@contextmanager
def open_furnished(folder: Path, settings: dict[str, str] | None = None) -> Iterator[Place]:
    """Start a service with an emulated platform. Its user has an account, a visited site and link, and an API key.

    `settings`: more environment variables of the service.
    """
    settings = {"SVC_EDGE_RETRIES": "1", "SVC_LIMITS_ACCOUNTS": str(MAX_ACCOUNTS), **(settings or {})}
    with (
        emulator_process() as emulator,
        _service(folder, {**settings, **_edge_settings(emulator[0])}) as url,
    ):
        sent = Tally()
        yield Place(url, folder, trio.run(_furnish, url, folder, emulator, sent), emulator[0]["control"], sent)


@contextmanager
def _service(folder: Path, settings: dict[str, str]) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    environ = environment(folder, {**_UNLIMITED, **settings})
    process, url = trio.run(_start_service, folder, environ)
    try:
        yield url
    finally:
        trio.run(_end_service, process)


async def _start_service(folder: Path, environ: dict[str, str]) -> tuple[trio.Process | Fork, str]:
    """Start `svc serve`. Return the process and the service's URL."""
    with (folder / "log").open("ab") as log:
        process = await open_program(["-m", "svc", "serve"], environ=environ, stderr=log.fileno())
    assert process.stdout is not None
    ready = b""
    while not ready.endswith(b"\n"):
        received = await process.stdout.receive_some()
        assert received, (folder / "log").read_text()
        ready += received
    return process, json.loads(ready)["url"]


async def _end_service(process: trio.Process | Fork) -> None:
    process.terminate()
    await process.wait()
    assert process.stdout is not None
    await process.stdout.aclose()


async def _furnish(
    url: str, folder: Path, emulator: Running | None = None, sent: Tally | None = None
) -> dict[str, str]:
    async with local_client(timeout=60) as client:
        service = Service(url, cast("Any", None), folder, client)
        await service.sign_up(EMAIL, PASSWORD)
        if emulator is None or sent is None:
            return {}
        async with fresh(emulator) as platform:
            customer = await platform.create_account([proxied_zone("shop.example")])
            body: dict[str, Any] = {
                "edge_account_id": customer.account_id,
                "bootstrap_token": customer.bootstrap_token,
            }
            account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
            await service.account_in(account, "ready", "connected")
            host = f"/v1/accounts/{account}/link-host"
            await service.call("PUT", host, {"host": "go.shop.example"}, expect=202)
            body = {"account_id": account, "host": "shop.example"}
            site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
            rule = {"countries": ["DE", "AT"], "devices": ["mobile"], "url": "https://shop.example/unterwegs"}
            body = {"account_id": account, "code": "hello", "url": "https://shop.example/landing", "rules": [rule]}
            body["tags"] = [TAG]
            link = (await service.call("POST", "/v1/links", body, expect=201))["link"]
            await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")
            key = {"scopes": ["links", "reports"], "name": "nightly report", "allow_ips": ["192.0.2.0/24"]}
            await service.call("POST", "/v1/keys", key, expect=201)
            await _be_visited(service, platform, customer.account_id, site, sent)
            # Set the usage close to a limit. Changing the plan recomputes the advice.
            yesterday = time.time_ns() // 1_000_000 // (24 * _HOUR_MS) - 1
            await platform.set_usage(customer.account_id, yesterday, rows_written=84_000)
            for plan in ("paid", "free"):
                await service.call("PATCH", f"/v1/accounts/{account}", {"plan": plan})
            return {"accounts": account, "sites": site["id"], "links": link["id"], "tags": TAG}


async def _be_visited(service: Service, platform: Emulator, account_id: str, site: dict[str, Any], sent: Tally) -> None:
    """Send views of the site and clicks on the link, dated two hours ago, and let the Worker push them."""
    now = time.time_ns() // 1_000_000
    hour_at = (now // _HOUR_MS - 2) * _HOUR_MS
    await platform.clock((hour_at + 20 * 60_000 - now) / 1000)
    for hit in views(24, seed=1):
        headers = {"User-Agent": hit.user_agent, "Content-Type": "text/plain"}
        body = f"{hit.page}\n{hit.referrer}"
        more: dict[str, Any] = {"cf": {"country": hit.country}, "ip": hit.address}
        await platform.visit("shop.example", site["path"], method="POST", headers=headers, body=body, **more)
        sent.add(hit, hour_at)
    for hit in clicks(6, seed=1):
        more = {"cf": {"country": hit.country}, "ip": hit.address, "headers": {"User-Agent": hit.user_agent}}
        await platform.visit("go.shop.example", "/hello", **more)
    await platform.settled()
    await platform.clock(0)
    await push(service, platform, account_id, site["id"], hour_at)


async def push(service: Service, platform: Emulator, account_id: str, site_id: str, hour_at: int) -> None:
    """Let the Worker push the hour that begins at `hour_at`.

    If the Worker has already pushed in the hour of the first crons, its next push is due within an hour.

    Raises AssertionError if the site has no view after three hours of crons.
    """
    for hour in (1, 2, 3):
        crons = [(account_id, hour_at + hour * _HOUR_MS + minute * 60_000) for minute in _CRON_MINUTES]
        await platform.crons(crons, "svc-edge")
        report = (await service.call("GET", f"/v1/sites/{site_id}/report?period=30d"))["report"]
        if report["totals"]["views"]:
            return
    raise AssertionError("the worker has not pushed any view")
