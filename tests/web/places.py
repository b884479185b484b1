"""Where the web application is looked at: a real Chromium, and real services, of which one has something to show."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx
import trio
from playwright.sync_api import sync_playwright

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import Service, environment
from edge_worker.tools.node import node_command
from svc.api.contract import ENDPOINTS
from tests.emulated import emulator_process, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext

ROOT = Path(__file__).parents[2]
EMAIL, PASSWORD = "you@example.com", "a long password"
WIDTHS = (1180, 390, 320)
THEMES = ("light", "dark")
HEIGHT = 844

_CARRIED = 'import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath())'
# No load here is meant to meet a limit.
_UNLIMITED = {
    f"SVC_LIMITS_{name}_PER_MINUTE": "1000000" for name in ("SIGN_INS", "REFRESHES", "REQUESTS", "REPORT_READS")
}
# Violations of the page's policy are kept by the page itself.
_WATCH = "window.broken = []; addEventListener('securitypolicyviolation', (e) => broken.push(e.effectiveDirective))"


@dataclass(frozen=True)
class Place:
    """A running service with a user; `ids`: by the section of a page, what stands for its `:id`.

    `control`: the emulated platform's, where there is one.
    """

    url: str
    folder: Path
    ids: dict[str, str]
    control: str = ""

    def at(self, path: str) -> str:
        """The address of a page of pages.json."""
        return self.url + path.replace(":id", self.ids.get(path.split("/")[1], ""))

    def visit(self, host: str, path: str, **more: Any) -> dict[str, Any]:
        """Send one request through the emulated edge (`headers`, `cf` …): its status, headers and body."""
        wanted = {"host": host, "path": path, "method": "GET", "headers": {}, "body": None, "cf": None, "ip": None}
        answer = httpx.post(f"{self.control}/visit", json={**wanted, **more}, trust_env=False, timeout=30)
        visited: dict[str, Any] = answer.raise_for_status().json()
        return visited


def pages() -> list[dict[str, Any]]:
    """The pages that the web application shows: those of its list that the API does not serve itself."""
    listed: list[dict[str, Any]] = json.loads((ROOT / "svc/web/pages.json").read_text())
    return [page for page in listed if page["path"] not in {endpoint.path for endpoint in ENDPOINTS}]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """The Chromium that CHROMIUM names, else one on the path, else the one that comes as a package."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        carried = node_command("--input-type=module", "--eval", _CARRIED)
        found = subprocess.run(
            carried, cwd=ROOT / "edge_worker", stdout=subprocess.PIPE, text=True, check=True
        ).stdout.strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def new_context(browser: Browser, **more: Any) -> BrowserContext:
    """A browser of somebody's own, without cookies; the locale is named, since this Chromium's own is none."""
    size = {"width": WIDTHS[0], "height": HEIGHT}
    wanted = {"locale": "en-US", "timezone_id": "Asia/Tehran", "reduced_motion": "reduce", "viewport": size, **more}
    context = browser.new_context(**wanted)
    context.add_init_script(_WATCH)
    context.set_default_timeout(20_000)
    return context


def sign_in(context: BrowserContext, place: Place) -> None:
    """Give the browser a session, as a sign-in on the page would."""
    answer = context.request.post(f"{place.url}/auth/sign-in", data={"email": EMAIL, "password": PASSWORD})
    assert answer.ok, answer.text()


@contextmanager
def open_place(folder: Path) -> Iterator[Place]:
    """A service with a user who has nothing yet."""
    with _service(folder, {}) as url:
        yield Place(url, folder, trio.run(_furnish, url, folder, None))


@contextmanager
def open_furnished(folder: Path) -> Iterator[Place]:
    """A service on an emulated platform, whose user has an account, a site and a link."""
    with emulator_process() as emulator, _service(folder, {"SVC_EDGE_API_BASE_URL": emulator[0]["api"]}) as url:
        yield Place(url, folder, trio.run(_furnish, url, folder, emulator), emulator[0]["control"])


@contextmanager
def _service(folder: Path, settings: dict[str, str]) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    environ = environment(folder, {**_UNLIMITED, **settings})
    with (folder / "log").open("ab") as log:
        command = [sys.executable, "-m", "svc", "serve"]
        process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=log)
    with process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready, (folder / "log").read_text()
        try:
            yield json.loads(ready)["url"]
        finally:
            process.terminate()


async def _furnish(url: str, folder: Path, emulator: Any) -> dict[str, str]:
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        service = Service(url, cast("Any", None), folder, client)
        await service.sign_up(EMAIL, PASSWORD)
        if emulator is None:
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
            site = await service.call("POST", "/v1/sites", {"account_id": account, "host": "shop.example"}, expect=202)
            rule = {"countries": ["DE", "AT"], "devices": ["mobile"], "url": "https://shop.example/unterwegs"}
            body = {"account_id": account, "code": "hello", "url": "https://shop.example/landing", "rules": [rule]}
            link = await service.call("POST", "/v1/links", body, expect=201)
            return {"accounts": account, "sites": site["site"]["id"], "links": link["link"]["id"]}
