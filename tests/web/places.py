"""Where the web application is looked at: a real Chromium, and real services, of which one has something to show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import httpx
import trio
from playwright.sync_api import sync_playwright

from edge_worker.emulator.client import NO_TLS, Emulator, proxied_zone
from edge_worker.harness.service import Service, environment, eventually
from edge_worker.harness.visitors import DESKTOP_CHROME, Tally, clicks, views
from edge_worker.programs import open_program
from edge_worker.tools.node import node_command
from tests.contract import contract, path_of
from tests.emulated import emulator_process, fresh

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Request

    from edge_worker.emulator.client import Customer
    from edge_worker.programs import Fork
    from tests.emulated import Running

ROOT = Path(__file__).parents[2]
EMAIL, PASSWORD = "you@example.com", "a long password"
WIDTHS = (1180, 390, 320)
THEMES = ("light", "dark")
HEIGHT = 844
# All tabs share one process with one thread for scripts, which costs less CPU time than a process for each. Not
# --in-process-gpu or --single-process, which save more: with them Chromium crashes now and then.
CHROMIUM_ARGS = [
    "--no-sandbox", "--disable-gpu",
    "--renderer-process-limit=1", "--disable-site-isolation-trials", "--js-flags=--single-threaded",
]  # fmt: skip
MOST_ACCOUNTS = 6  # of a user, where there is a platform

_CARRIED = 'import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath())'
# No load here is meant to meet a limit, and what is looked at is what there is.
_UNLIMITED = {
    **{f"SVC_LIMITS_{name}_PER_MINUTE": "1000000" for name in ("SIGN_INS", "REFRESHES", "REQUESTS", "REPORT_READS")},
    "SVC_TIMING_REPORT_CACHE_S": "0.001",
    # A token that is refused is asked for again for so long, as it may have been made a moment ago; not here.
    "SVC_EDGE_SETTLING_IN_CONNECT_S": "1",
    "SVC_METRICS_BIND": "127.0.0.1:0",
}
_HOUR_MS = 3_600_000
# What pages have asked a service for in the test that runs now, beside their own files: method and path.
CALLED: set[tuple[str, str]] = set()
_CALLS = {"fetch", "xhr", "eventsource", "websocket", "ping"}
# Violations of the page's policy are kept by the page itself.
_WATCH = "window.broken = []; addEventListener('securitypolicyviolation', (e) => broken.push(e.effectiveDirective))"


@dataclass(frozen=True)
class Place:
    """A running service with a user; `ids`: by the section of a page, what stands for its `:id`.

    `control`: the emulated platform's, where there is one; `sent`: the views that its site had.
    """

    url: str
    folder: Path
    ids: dict[str, str]
    control: str = ""
    sent: Tally = field(default_factory=Tally)

    def at(self, path: str) -> str:
        """The address of a page of pages.json."""
        return self.url + path.replace(":id", self.ids.get(path.split("/")[1], ""))

    def visit(self, host: str, path: str, **more: Any) -> dict[str, Any]:
        """Send one request through the emulated edge (`headers`, `cf` …): its status, headers and body."""
        answer = httpx.post(
            f"{self.control}/visit", json={"host": host, "path": path, **more}, trust_env=False, timeout=30
        )
        visited: dict[str, Any] = answer.raise_for_status().json()
        return visited


def metrics_of(place: Place) -> bytes:
    """What the service tells of itself, where its log says that it does."""
    [url] = re.findall(r'"url": "(http://[^"]+/metrics)"', (place.folder / "log").read_text())
    return httpx.get(url, trust_env=False, timeout=30).raise_for_status().content


def pages() -> list[dict[str, Any]]:
    """The pages of the web application."""
    listed: list[dict[str, Any]] = json.loads((ROOT / "svc/web/pages.json").read_text())
    return listed


def states() -> list[str]:
    """Addresses whose search part shows more of a page than its path alone."""
    return [f"/accounts/:id?day={time.strftime('%Y-%m-%d', time.gmtime())}"]


def chromium() -> str:
    """The Chromium that CHROMIUM names, else one on the path, else the one that comes as a package."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        carried = node_command("--input-type=module", "--eval", _CARRIED)
        found = subprocess.run(
            carried, cwd=ROOT / "edge_worker", stdout=subprocess.PIPE, text=True, check=True
        ).stdout.strip()
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A Chromium, in which nobody is anybody yet."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        yield browser
        browser.close()


def new_context(browser: Browser, **more: Any) -> BrowserContext:
    """A browser of somebody's own, without cookies; the locale is named, since this Chromium's own is none."""
    size = {"width": WIDTHS[0], "height": HEIGHT}
    wanted = {"locale": "en-US", "timezone_id": "Asia/Tehran", "reduced_motion": "reduce", "viewport": size, **more}
    context = browser.new_context(**wanted)
    context.add_init_script(_WATCH)
    context.set_default_timeout(20_000)
    context.on("request", _note)
    return context


def _note(request: Request) -> None:
    address = urlsplit(request.url)
    if request.resource_type in _CALLS and address.hostname == "127.0.0.1":  # else it is a page of a customer
        CALLED.add((request.method, address.path))


def outside_the_contract() -> set[str]:
    """What pages have called that the OpenAPI document does not have."""
    known = contract()["paths"]
    return {f"{method} {path}" for method, path in CALLED if method.lower() not in known.get(path_of(path) or "", ())}


def sign_in(context: BrowserContext, place: Place, email: str = EMAIL) -> None:
    """Give the browser a session, as a sign-in on the page would."""
    answer = context.request.post(f"{place.url}/auth/sign-in", data={"email": email, "password": PASSWORD})
    assert answer.ok, answer.text()


@contextmanager
def signed_in_tab(browser: Browser, place: Place, email: str = EMAIL, **more: Any) -> Iterator[Page]:
    """A tab of a browser of its own, in which this user is signed in; `more`: as `new_context` takes it."""
    context = new_context(browser, **more)
    sign_in(context, place, email)
    yield context.new_page()
    context.close()


def sign_up(place: Place, email: str) -> None:
    """Make another user there, with the password of all."""

    async def made() -> None:
        async with httpx.AsyncClient(timeout=60, trust_env=False, verify=NO_TLS) as client:
            await Service(place.url, cast("Any", None), place.folder, client).sign_up(email, PASSWORD)

    trio.run(made)


class World:
    """The service, asked past its pages, and the platform that it asks."""

    def __init__(self, place: Place, email: str = EMAIL) -> None:
        self.place = place
        with httpx.Client(trust_env=False, verify=NO_TLS) as client:
            answer = client.post(f"{place.url}/auth/sign-in", json={"email": email, "password": PASSWORD})
        self.headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}

    def platform(self, does: Callable[[Emulator], Awaitable[Any]]) -> Any:
        """What the platform's control answers."""

        async def ask() -> Any:
            ready = {"api": "", "edge": "", "control": self.place.control}
            async with httpx.AsyncClient(trust_env=False, verify=NO_TLS, timeout=30) as client:
                return await does(Emulator(ready, client, 0))

        return trio.run(ask)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """What the service answers."""
        answer = httpx.request(
            method, self.place.url + path, json=body, headers=self.headers, timeout=30, trust_env=False
        )
        assert answer.is_success, answer.text
        return answer.json()

    def account(self, customer: Customer) -> dict[str, Any] | None:
        """The customer's account as the service lists it; None: it is not connected."""
        listed = self.call("GET", "/v1/accounts")["accounts"]
        return next((each for each in listed if each["edge_account_id"] == customer.account_id), None)

    def connected(self, customer: Customer) -> str:
        """Connect an account past the pages. Returns its id."""
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        return str(self.call("POST", "/v1/accounts", body)["account"]["id"])

    def seen(self, customer: Customer, site: dict[str, Any], *sent: str) -> None:
        """Persons open pages of the site, two hours ago, and the worker reports it. `sent`: what the snippet sends.

        Raises AssertionError when it is not reported.
        """
        now = time.time_ns() // 1_000_000
        hour_at = (now // _HOUR_MS - 2) * _HOUR_MS

        async def synced() -> bool | None:
            return self.call("GET", f"/v1/sites/{site['id']}")["site"]["config"] == "synced" or None

        async def visited(platform: Emulator) -> None:
            await eventually(synced)
            await platform.clock((hour_at + 20 * 60_000 - now) / 1000)
            headers = {"User-Agent": DESKTOP_CHROME.user_agent, "Content-Type": "text/plain"}
            for body in sent:
                answer = await platform.visit(site["host"], site["path"], method="POST", headers=headers, body=body)
                assert answer.status == 204, answer
            await platform.settled()
            await platform.clock(0)
            # The next push is due within an hour of the one before, which may have been made in this one.
            for hour in (1, 2, 3):
                crons = [(customer.account_id, hour_at + hour * _HOUR_MS + minute * 60_000) for minute in range(60)]
                await platform.crons(crons, "svc-edge")
                report = self.call("GET", f"/v1/sites/{site['id']}/report?period=30d")["report"]
                if report["totals"]["views"] == len(sent):
                    return
            raise AssertionError("the worker has not reported it")

        self.platform(visited)


@contextmanager
def open_place(folder: Path) -> Iterator[Place]:
    """A service with a user who has nothing yet."""
    with _service(folder, {}) as url:
        trio.run(_furnish, url, folder)
        yield Place(url, folder, {})


@contextmanager
def open_furnished(folder: Path) -> Iterator[Place]:
    """A service on an emulated platform, whose user has an account, a site and a link, both visited, and a key."""
    settings = {"SVC_EDGE_RETRIES": "1", "SVC_LIMITS_ACCOUNTS": str(MOST_ACCOUNTS)}
    with (
        emulator_process() as emulator,
        _service(folder, {**settings, "SVC_EDGE_API_BASE_URL": emulator[0]["api"]}) as url,
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
    """Start `svc serve`; return the process and the service's URL."""
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
    async with httpx.AsyncClient(timeout=60, trust_env=False, verify=NO_TLS) as client:
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
            link = (await service.call("POST", "/v1/links", body, expect=201))["link"]
            await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")
            key = {"scopes": ["links", "reports"], "name": "nightly report", "allow_ips": ["192.0.2.0/24"]}
            await service.call("POST", "/v1/keys", key, expect=201)
            await _be_visited(service, platform, customer.account_id, site, sent)
            # What is near its limit, as the change of a plan has it computed.
            yesterday = time.time_ns() // 1_000_000 // (24 * _HOUR_MS) - 1
            await platform.set_usage(customer.account_id, yesterday, rows_written=84_000)
            for plan in ("paid", "free"):
                await service.call("PATCH", f"/v1/accounts/{account}", {"plan": plan})
            return {"accounts": account, "sites": site["id"], "links": link["id"]}


async def _be_visited(service: Service, platform: Emulator, account_id: str, site: dict[str, Any], sent: Tally) -> None:
    """Send views to the site and clicks to the link, two hours ago, and let the worker report them."""
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
    """Let the worker report the hour that begins at `hour_at`.

    The next push is due within an hour of the one before, which may have been made in this one. Raises AssertionError
    when the site has no view after three hours of crons.
    """
    for hour in (1, 2, 3):
        crons = [(account_id, hour_at + hour * _HOUR_MS + minute * 60_000) for minute in range(60)]
        await platform.crons(crons, "svc-edge")
        report = (await service.call("GET", f"/v1/sites/{site_id}/report?period=30d"))["report"]
        if report["totals"]["views"]:
            return
    raise AssertionError("the worker has reported no view")
