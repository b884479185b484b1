"""The workflow that each artefact must pass: start, connect, count, kill, restart, report, stop."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually, open_service
from svc.worker.bundle import load_bundle
from tests.journeys.conftest import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Program, Service

HOST = "shop.example"
_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000
_CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"


# The user of the workflow.
EMAIL, PASSWORD = "you@example.com", "a long password"


@dataclass(frozen=True)
class Place:
    """An installed artefact, its data folder on this host (`folder`), and its environment (`settings`).

    `has_user`: True if the user was added with `svc user add`. Otherwise, the workflow begins with a sign-up.
    """

    program: Program
    folder: Path
    settings: Mapping[str, str]
    has_user: bool = False


async def journey(emulator: Emulator, place: Place) -> None:
    """Run the workflow on an installed artefact. Raises AssertionError if a step fails."""
    await emulator.set_failure_settings(token_delay_ms=0, token_spread_ms=0, slow_one_in=0, refuse_one_in=0)
    customer = await emulator.create_account([proxied_zone(HOST)])
    # Both starts of the service use the same port, because the Worker keeps its push URL.
    bind = free_port()
    settings = {
        "SVC_HTTP_BIND": bind,
        "SVC_HTTP_BASE_URL": f"http://{bind}",
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_EDGE_EMULATED_EDGE": emulator.edge,
        **place.settings,
    }
    async with open_service(place.folder, settings, program=place.program) as service:
        await _serves_everything(service)
        await (service.sign_in if place.has_user else service.sign_up)(EMAIL, PASSWORD)
        headers = service.headers
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
        account = await service.account_in(account["id"], "ready")
        assert account["edge"]["bundle"] == load_bundle().sha256
        body = {"account_id": account["id"], "host": HOST}
        site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
        await service.synced(f"/v1/sites/{site['id']}")
        await _view(emulator, site["path"])
        started = _processes_of(service.process.pid)
        await service.kill()

    async def all_gone() -> bool | None:
        return True if not any(_is_running(process) for process in started) else None

    await eventually(all_gone)
    async with open_service(place.folder, settings, program=place.program) as service:
        service.headers = headers
        await _push(emulator, customer)
        report = (await service.call("GET", f"/v1/sites/{site['id']}/report?period=7d"))["report"]
        assert report["totals"] == {"views": 1, "bots": 0, "visitors": 1}
    assert service.process.returncode == 0  # the exit status after SIGTERM


async def _serves_everything(service: Service) -> None:
    """Check that all data files are included: pages, scripts, the documentation, and the API description."""
    page = await service.client.get(service.url, headers={"Accept": "text/html"})
    assert page.is_success
    documentation = await service.client.get(f"{service.url}/help/use/keys")
    assert "<h1>API keys</h1>" in documentation.text
    for path in [each.split('"')[0] for text in (page.text, documentation.text) for each in text.split('src="')[1:]]:
        script = await service.client.get(service.url + path)
        assert script.is_success
        assert "javascript" in script.headers["content-type"]
    for path in re.findall(r"\((/help/\S+)\)", (await service.client.get(f"{service.url}/llms.txt")).text):
        assert (await service.client.get(service.url + path)).text.startswith("# "), path
        assert (await service.client.get(service.url + path.removesuffix(".md"))).is_success, path
    assert (await service.call("GET", "/openapi.json"))["openapi"] == "3.1.0"
    assert (await service.client.get(f"{service.url}/openapi.yaml")).is_success
    assert (await service.client.get(f"{service.url}/readyz")).is_success


async def _view(emulator: Emulator, path: str) -> None:
    """Send one view, dated in the previous hour."""
    hour_at = _now_ms() // _HOUR_MS * _HOUR_MS - _HOUR_MS
    await emulator.clock((hour_at + 20 * _MINUTE_MS - _now_ms()) / 1000)
    headers = {"User-Agent": _CHROME, "Content-Type": "text/plain"}
    response = await emulator.visit(HOST, path, method="POST", headers=headers, body="/\n")
    assert response.status == 204
    await emulator.settled()
    await emulator.clock(0)


async def _push(emulator: Emulator, customer: Customer) -> None:
    """Run the Worker's cron trigger for each minute of an hour, so that the Worker aggregates and pushes its counts."""
    now = _now_ms()
    for minute in range(60):
        run = await emulator.cron(customer.account_id, "svc-edge", at=now + minute * _MINUTE_MS)
        assert run["outcome"] == "ok", run


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _processes_of(process: int) -> list[int]:
    """Return the ids of a process and all of its descendants."""
    found = [process]
    for each in found:
        found += [int(child) for child in Path(f"/proc/{each}/task/{each}/children").read_text().split()]
    return found


def _is_running(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
