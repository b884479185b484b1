"""The metrics of a real service after the main use case have correct numbers and no personal data."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from edge_worker.harness.service import eventually, open_service
from svc.edge.endpoints import area_from_path
from tests.journeys.conftest import settings_of
from tests.scraped import Scraped

if TYPE_CHECKING:
    from pathlib import Path

    from edge_worker.emulator.client import Customer, Emulator
    from svc.config import StoreConfig

HOUR_MS = 3_600_000


class RequestRecorder:
    """Records the method and route of a client's requests."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.routes: Counter[tuple[str, str]] = Counter()
        client.event_hooks = {"request": [self.note]}

    async def note(self, request: httpx.Request) -> None:
        """Record a request. For use as an httpx event hook."""
        route = re.sub(r"/(acc|site|lnk)_\w+", lambda found: f"/{{{_NOUNS[found[1]]}_id}}", request.url.path)
        if route != "/metrics":
            self.routes[request.method, route] += 1


_NOUNS = {"acc": "account", "site": "site", "lnk": "link"}


@pytest.mark.rule("X14")
async def test_metrics_match_the_requests_and_contain_no_personal_data(
    emulator: Emulator, customer: Customer, store_config: StoreConfig, tmp_path: Path
) -> None:
    settings = settings_of(emulator, store_config, SVC_METRICS_BIND="127.0.0.1:0")
    async with open_service(tmp_path / "svc", settings) as service:
        client = RequestRecorder(service.client)
        await service.sign_up("ann@customer.example", "a long password")
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
        await service.account_in(account["id"], "ready")
        body = {"account_id": account["id"], "host": "shop.example"}
        site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
        await service.synced(f"/v1/sites/{site['id']}")
        hour_at = (time.time_ns() // 1_000_000 // HOUR_MS - 1) * HOUR_MS
        await emulator.clock((hour_at + 20 * 60_000 - time.time_ns() // 1_000_000) / 1000)
        response = await emulator.visit("shop.example", site["path"], method="POST", body="/\n", ip="192.0.2.7")
        assert response.status == 204
        await emulator.settled()
        await emulator.clock(0)
        for _ in range(3):  # the first three pushes, which are sent immediately and not at the account's push time
            await emulator.cron(customer.account_id, "svc-edge")
        await service.call("GET", "/v1/accounts/acc_" + "0" * 20, expect=404)

        async def pushes_settled() -> dict[str, Any] | None:
            shown: dict[str, Any] = (await service.call("GET", f"/v1/accounts/{account['id']}"))["account"]
            return shown if shown["operation"]["state"] == "done" else None

        await eventually(pushes_settled)
        [url] = re.findall(r'"url": "(http://[^"]+/metrics)"', (tmp_path / "svc" / "log").read_text())

        async def poll() -> Scraped | None:
            """Return the metrics once no call is in progress and the metrics include the end of the install."""
            before = len(await emulator.requests())
            found = Scraped((await service.client.get(url)).content)
            asked = len(await emulator.requests())
            ended = found.total("svc_operation_seconds_count", kind="install", outcome="done")
            still = before == asked and not found.total("svc_platform_running")
            return found if ended and still and asked == calls(found) else None

        found = await eventually(poll)
        asked = await emulator.requests()
        pushed = [each for each in await emulator.egress() if each["target"].endswith("/edge/push")]

    told = found.counts("svc_http_request_seconds_count", "method", "route")
    assert told.pop(("POST", "/edge/push")) == len(pushed)
    assert told == dict(client.routes)
    assert found.counts("svc_http_errors_total", "route", "code") == {("/v1/accounts/{account_id}", "not_found"): 1}
    assert found.counts("svc_operation_seconds_count", "kind", "outcome") == {
        ("connect", "done"): 1,
        ("install", "done"): 1,
    }
    assert found.counts("svc_accounts", "state") == {("ready",): 1}
    assert found.counts("svc_push_total", "outcome") == {("accepted",): len(pushed)}
    by_area = Counter(area_from_path(re.sub(r"^/client/v4", "", each["path"])) for each in asked)
    assert found.counts("svc_platform_call_seconds_count", "area") == {(area,): n for area, n in by_area.items()}
    assert found.total("svc_http_in_flight") == found.total("svc_operations_running") == 0
    assert found.counts("svc_log_lines_total", "level").get(("error",), 0) == 0
    assert found.total("svc_store_up") == 1

    # Ignore the digest of the Worker's bundle. It also occurs in the account at the platform, but is not personal data.
    text = re.sub(r'bundle="\w+"', "", found.text)
    state = json.dumps(await emulator.state())
    secrets = [customer.account_id, customer.bootstrap_token, *customer.zones.values(), account["id"], site["id"]]
    secrets += [service.headers["Authorization"].partition(" ")[2], site["path"], "customer.example", "shop.example"]
    secrets += ["192.0.2.7", "127.0.0.1", str(tmp_path), "a long password"]
    secrets += re.findall(r"[0-9a-f]{32,}|(?:acc|site|op)_[0-9a-z]{10,}|svcw_[A-Za-z0-9_-]{30,}", state)
    assert len(secrets) > 15
    assert [secret for secret in secrets if secret in text] == []


def calls(found: Scraped) -> float:
    return found.total("svc_platform_call_seconds_count")
