"""Shares over real sockets: the pages of viewers, their headers, and what the service logs and stores."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.harness.service import eventually
from svc.http.serving.web import POLICY
from svc.ids import new_id
from tests.journeys.conftest import ZONE, connect

if TYPE_CHECKING:
    from pathlib import Path

    from edge_worker.emulator.client import Customer
    from edge_worker.harness.service import Service

HTML = {"Accept": "text/html,application/xhtml+xml"}


async def share_of(service: Service, target: str, **more: Any) -> str:
    """Share a target. Return the path of the share's page."""
    body = {"name": "Shop", **more}
    made = await service.call("POST", f"{target}/shares", body, expect=201)
    return str(made["share"]["url"]).removeprefix(service.url)


async def site_page_has_the_protection_of_its_share(service: Service, account: str, site: str, get: Any) -> None:
    """Check the status, framing headers and cache headers of a site's page in the share of an account."""
    origin = "https://www.example.com"
    path = await share_of(service, f"/v1/accounts/{account}", embed=[origin], lists=True)
    closed = await share_of(service, f"/v1/accounts/{account}", password="a long password")
    framed = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {origin}")
    absent = new_id("site")
    for page, status, policy in (
        (f"{path}/sites/{site}", 200, framed),
        (f"{path}/sites/{absent}", 404, framed),
        # Without the password, the page is the same for existing and for unknown sites.
        (f"{closed}/sites/{site}", 200, POLICY),
        (f"{closed}/sites/{absent}", 200, POLICY),
        (f"/s/{new_id('shs')}/sites/{site}", 404, POLICY),
    ):
        response = await get(page, **HTML)
        assert (response.status_code, response.headers["content-security-policy"]) == (status, policy), page
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["x-robots-tag"] == "noindex"
        assert page.split("/")[2] not in response.text
    report = await get(f"{path}/sites/{site}/report?breakdowns=1")
    assert report.json()["share"]["title"] == ZONE
    assert report.json()["report"]["breakdowns"] is not None
    assert "content-security-policy" in report.headers
    assert report.headers["cache-control"] == "no-store"
    for other, status in ((f"{path}/sites/{absent}/report", 404), (f"{closed}/sites/{site}/report", 401)):
        assert (await get(other)).status_code == status


@pytest.mark.rule("Y13")
async def test_viewer_gets_the_page_and_the_secret_leaves_no_trace(
    service: Service, customer: Customer, tmp_path: Path
) -> None:
    account = await connect(service, customer)
    site = (await service.call("POST", "/v1/sites", {"account_id": account, "host": ZONE}, expect=202))["site"]
    path = await share_of(service, f"/v1/sites/{site['id']}", embed=["https://www.example.com"], lists=True)
    closed = await share_of(service, f"/v1/accounts/{account}", password="a long password")
    unknown = f"/s/{new_id('shs')}"

    async def get(path: str, **headers: str) -> Any:
        return await service.client.get(service.url + path, headers=headers)

    page = await get(path, **HTML)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["x-robots-tag"] == "noindex"
    assert page.headers["cross-origin-resource-policy"] == "cross-origin"
    policy = page.headers["content-security-policy"]
    assert policy == POLICY.replace("frame-ancestors 'none'", "frame-ancestors https://www.example.com")
    assert path.rpartition("/")[2] not in page.text
    # The strict policy applies to a page that other sites may not show in a frame, and to the page for an unknown
    # secret.
    for other, status in ((closed, 200), (unknown, 404)):
        response = await get(other, **HTML)
        assert (response.status_code, response.headers["content-security-policy"]) == (status, POLICY)
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert "<html" in response.text
    assert (await get(unknown)).json()["error"]["code"] == "not_found"
    for script in re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.text):
        assert (await get(script)).status_code == 200

    report = await get(f"{path}/report?breakdowns=1")
    assert report.json()["share"]["title"] == ZONE
    assert report.json()["report"]["breakdowns"] is not None
    assert (await get(f"{closed}/report")).status_code == 401
    granted = await service.client.post(f"{service.url}{closed}/report", json={"password": "a long password"})
    token = granted.json()["token"]
    opened = await get(f"{closed}/report", Authorization=f"Bearer {token}")
    assert [each["host"] for each in opened.json()["account"]["sites"]] == [ZONE]
    await site_page_has_the_protection_of_its_share(service, account, site["id"], get)
    badge = await get(f"{path}/badge.svg?label=seen")
    assert badge.text.startswith("<svg")

    async def logged() -> str | None:  # the service logs a request only after its response
        log = (tmp_path / "svc/log").read_text()
        routes = {line.get("route") for line in map(json.loads, log.splitlines()) if line["message"] == "request"}
        shown = {"/s/{secret}", "/s/{secret}/report", "/s/{secret}/badge.svg"}
        of_site = {"/s/{secret}/sites/{site_id}", "/s/{secret}/sites/{site_id}/report"}
        return log if shown | of_site <= routes else None

    log = await eventually(logged)
    for kept in (path, closed, unknown, token):
        assert kept.rpartition("/")[2] not in log
    for file in (tmp_path / "svc").glob("svc.db*"):
        content = file.read_bytes()
        assert path.rpartition("/")[2].encode() not in content
        assert closed.rpartition("/")[2].encode() not in content
