"""Test an account's breakdown retention from end to end: the setting, the Worker's daily deletion, and the report."""

from __future__ import annotations

import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from svc.clock import DAY_MS, HOUR_MS, day_of, day_text
from tests.databases import sqlite_config
from tests.journeys.moved_world import open_moved_world

ZONE = "kept.example"
HEADERS = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"}
MAX_RUNS = 60


@pytest.mark.rule("R2", "R3", "W5")
async def test_report_gives_the_first_day_with_breakdowns(tmp_path):
    async with open_moved_world(sqlite_config(tmp_path), tmp_path) as world:
        customer, user = await world.emulator.create_account([proxied_zone(ZONE)]), await world.new_user()
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        account = f"/v1/accounts/{(await world.call(user, 'POST', '/v1/accounts', body))['account']['id']}"

        async def shown(path, **expected):
            async def poll():
                [found] = (await world.call(user, "GET", path)).values()
                return found if {name: found[name] for name in expected} == expected else None

            return await eventually(poll)

        await shown(account, state="ready")
        changed = await world.call(user, "PATCH", account, {"days_kept": 14})
        assert changed["account"]["days_kept"] == 14
        site = (await world.call(user, "POST", "/v1/sites", {"account_id": account.split("/")[-1], "host": ZONE}))[
            "site"
        ]
        await shown(f"/v1/sites/{site['id']}", config="synced", state="active")
        first_day = day_of(world.clock()) + 1

        async def view(day, page):
            await world.go_to(day * DAY_MS + 12 * HOUR_MS)
            response = await world.emulator.visit(ZONE, site["path"], method="POST", headers=HEADERS, body=f"{page}\n")
            assert response.status == 204
            await world.emulator.settled()

        async def close_days_before(day):
            at = day * DAY_MS + HOUR_MS
            await world.go_to(at)
            for run in range(MAX_RUNS):
                done = await world.emulator.cron(customer.account_id, "svc-edge", at=at + run * 60_000)
                assert done["outcome"] == "ok", done

        async def report():
            return (await world.call(user, "GET", f"/v1/sites/{site['id']}/report?period=30d&breakdowns=1"))["report"]

        await view(first_day, "/old")
        await close_days_before(first_day + 1)
        await view(first_day + 10, "/new")
        before = await report()
        assert before["breakdowns_from"] == before["from"]
        assert {page["key"] for page in before["breakdowns"]["pages"]} == {"/old", "/new"}
        # The Worker can delete the first day once it closes day 15.
        await close_days_before(first_day + 16)
        after = await report()
        assert after["breakdowns_from"] == day_text(first_day + 1) > after["from"]
        assert [page["key"] for page in after["breakdowns"]["pages"]] == ["/new"]
        assert after["totals"]["views"] == 2
