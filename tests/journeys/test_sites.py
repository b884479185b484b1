"""Tests of a site with the real Worker, from its creation to its deletion.

For 30 days after a rotation, views from the old snippet still count. After a kill, no unneeded routes remain.
"""

from __future__ import annotations

import json
import random

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually, open_service
from edge_worker.local_http import local_client
from tests.databases import sqlite_config
from tests.journeys.conftest import ZONE, connect, settings_of

DAY_S = 86_400
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
_PAGE = 4  # the index of the page in a line of the event log: target, hour, reason, visitor, page, …


async def view(emulator, path, page) -> int:
    """Send the beacon for a page whose snippet uses this path, and return the status of the response."""
    headers = {"User-Agent": FIREFOX, "Content-Type": "text/plain"}
    response = await emulator.visit(ZONE, path, method="POST", headers=headers, body=f"{page}\n")
    await emulator.settled()
    return int(response.status)


async def counted(emulator, customer, token) -> list[str]:
    """Return the pages of all views that the Worker has not folded yet. `token`: one of the customer's tokens."""
    [database] = (await emulator.state())["accounts"][customer.account_id]["databases"]
    async with local_client(base_url=emulator.api) as client:
        response = await client.post(
            f"/accounts/{customer.account_id}/d1/database/{database}/query",
            headers={"Authorization": f"Bearer {token}"},
            json={"sql": "select lines from event_log order by id"},
        )
    assert response.is_success, response.text
    lines = [line for row in response.json()["result"][0]["results"] for line in row["lines"].splitlines()]
    return sorted(json.loads(line)[_PAGE] for line in lines)


async def routes(emulator, customer) -> set[str]:
    """Return the patterns of the platform's routes, except the link host's pattern."""
    zones = (await emulator.state())["accounts"][customer.account_id]["zones"].values()
    return {route["pattern"] for zone in zones for route in zone["routes"] if not route["pattern"].endswith("/*")}


@pytest.mark.rule("S5", "S6")
async def test_old_snippet_counts_for_30_days_and_a_deleted_sites_snippet_does_not(emulator, customer, service):
    _, token = await emulator.create_token(customer.account_id, rights=["D1 Write"], expires_in_s=None)
    account_id = await connect(service, customer)
    old = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": ZONE}, expect=202))["site"]
    path = f"/v1/sites/{old['id']}"
    await service.synced(path)
    assert await view(emulator, old["path"], "/before") == 204
    new = (await service.call("POST", f"{path}/rotate", expect=200))["site"]
    await service.synced(path)
    assert await view(emulator, old["path"], "/old-at-once") == 204
    assert await counted(emulator, customer, token) == ["/before", "/old-at-once"]
    for days, pages in ((29, ["/new-29", "/old-29"]), (31, ["/new-31"])):
        # A cron folds the earlier events. After this, no cron is overdue.
        now = await emulator.clock(days * DAY_S)
        assert (await emulator.cron(customer.account_id, "svc-edge", at=now))["outcome"] == "ok"
        taken = await view(emulator, old["path"], f"/old-{days}") == 204
        assert taken is (days < 30)
        assert await view(emulator, new["path"], f"/new-{days}") == 204
        assert await counted(emulator, customer, token) == pages
    await service.call("DELETE", path, expect=200)

    async def gone() -> bool | None:
        return not await routes(emulator, customer) or None

    await eventually(gone)
    assert await view(emulator, new["path"], "/deleted") != 204
    assert "/deleted" not in await counted(emulator, customer, token)


# `make test` runs each change with one kind of lost call.
LOST = [(what, kind) for what in ("delete", "rotate") for kind in ("drop_before", "drop_after")]


@pytest.mark.rule("S6", "S5")
@pytest.mark.parametrize(
    ("what", "kind"), LOST if EVERYTHING else [random.Random(f"{SEED} {n}").choice(LOST[n : n + 2]) for n in (0, 2)]
)
async def test_next_start_completes_route_changes_of_a_killed_service(emulator, customer, tmp_path, what, kind):
    """Kill the service after it has committed the change. The call that changes the route is lost before or after
    Cloudflare executes it.
    """
    settings = settings_of(emulator, sqlite_config(tmp_path), SVC_TIMING_ROUTE_RETRY_S="3600")
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        headers = service.headers
        account_id = await connect(service, customer)
        site = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": ZONE}, expect=202))["site"]
        path = f"/v1/sites/{site['id']}"
        await service.synced(path)
        wanted = set()
        if what == "delete":
            await emulator.fault(kind, "*/workers/routes/*", method="DELETE", times=None)
            await service.call("DELETE", path, expect=200)
        else:
            await emulator.fault(kind, "*/workers/routes", method="POST", times=None)
            rotated = (await service.call("POST", f"{path}/rotate", expect=200))["site"]
            wanted = {f"{ZONE}{one['path']}*" for one in (site, rotated)}
        await emulator.faulted()
        await service.kill()
    await emulator.clear_faults()
    async with open_service(tmp_path / "svc", settings) as service:
        service.headers = headers

        async def as_wanted() -> bool | None:
            shown = (await service.call("GET", path))["site"]
            done = shown["state"] == ("deleted" if what == "delete" else "active")
            return (done and await routes(emulator, customer) == wanted) or None

        await eventually(as_wanted)
