"""The services of the browser tests. One of them has data."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import Service, environment
from edge_worker.harness.visitors import Tally, clicks, views
from edge_worker.local_http import local_client
from edge_worker.programs import end_program, first_line, open_program
from tests.emulated import emulator_process, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edge_worker.emulator.client import Emulator
    from edge_worker.programs import Fork
    from tests.emulated import Running


ROOT = Path(__file__).parents[2]
EMAIL, PASSWORD = "you@example.com", "a long password"
TAG = "landing"
MAX_ACCOUNTS = 8  # the limit per user in services that have an emulated platform
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
HOUR_MS = 3_600_000


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
    """Return URLs whose queries open parts of a page that are hidden by default."""
    return [
        f"/accounts/:id?day={time.strftime('%Y-%m-%d', time.gmtime())}",
        "/sites/:id?period=12mo&compare=year&bots=on",
        "/sites/:id?source=google.com",
        "/links/:id?period=month&by=week",
        f"/links?tag={TAG}",
    ]


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
        trio.run(end_program, process)


async def _start_service(folder: Path, environ: dict[str, str]) -> tuple[trio.Process | Fork, str]:
    """Start `svc serve`. Return the process and the service's URL."""
    with (folder / "log").open("ab") as log:
        process = await open_program(["-m", "svc", "serve"], environ=environ, stderr=log.fileno())
    ready = await first_line(process)
    assert ready, (folder / "log").read_text()
    return process, json.loads(ready)["url"]


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
            yesterday = time.time_ns() // 1_000_000 // (24 * HOUR_MS) - 1
            await platform.set_usage(customer.account_id, yesterday, rows_written=84_000)
            for plan in ("paid", "free"):
                await service.call("PATCH", f"/v1/accounts/{account}", {"plan": plan})
            return {"accounts": account, "sites": site["id"], "links": link["id"], "tags": TAG}


async def _be_visited(service: Service, platform: Emulator, account_id: str, site: dict[str, Any], sent: Tally) -> None:
    """Send views of the site and clicks on the link, dated two hours ago, and let the Worker push them."""
    now = time.time_ns() // 1_000_000
    hour_at = (now // HOUR_MS - 2) * HOUR_MS
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


def crons_of(account_id: str, hour_at: int) -> list[tuple[str, int]]:
    """Return the crons to run in the hour that begins at `hour_at`.

    A Worker needs a few runs to close an hour, and one more run after the minute in which its push is due.
    """
    return [(account_id, hour_at + minute * 60_000) for minute in range(0, 60, 4)]


async def push(service: Service, platform: Emulator, account_id: str, site_id: str, hour_at: int) -> None:
    """Let the Worker push the hour that begins at `hour_at`.

    The function runs up to three hours of crons, because the Worker may already have pushed in the first hour.

    Raises AssertionError if the site then still has no view.
    """
    for hour in (1, 2, 3):
        await platform.crons(crons_of(account_id, hour_at + hour * HOUR_MS), "svc-edge")
        report = (await service.call("GET", f"/v1/sites/{site_id}/report?period=30d"))["report"]
        if report["totals"]["views"]:
            return
    raise AssertionError("the worker has not pushed any view")
