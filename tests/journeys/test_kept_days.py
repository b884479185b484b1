"""Test the retention of an account's breakdowns from end to end: the setting, the Worker's daily deletion, and the
report.
"""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from svc.clock import DAY_MS, HOUR_MS, day_number, day_of, day_text
from tests.databases import sqlite_config
from tests.journeys.moved_world import open_moved_world

ZONE = "kept.example"
HEADERS = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"}
MAX_RUNS = 90


@pytest.mark.rule("R2", "R3", "W5", "Y10")
@pytest.mark.timeout(400)
async def test_report_has_the_kept_days_and_whole_months(tmp_path):
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

        async def report(first, last):
            query = f"from={day_text(first)}&to={day_text(last)}&breakdowns=1"
            return (await world.call(user, "GET", f"/v1/sites/{site['id']}/report?{query}"))["report"]

        def pages(shown):
            return {page["key"]: page["n"] for page in shown["breakdowns"]["pages"]}

        month = date.fromisoformat(day_text(first_day)).replace(day=1)
        month_start = day_number(month.isoformat())
        next_month = day_number((month + timedelta(days=31)).replace(day=1).isoformat())
        await view(first_day, "/old")
        await close_days_before(first_day + 1)
        await view(first_day + 10, "/new")
        before = await report(first_day, first_day + 10)
        assert (before["breakdowns_from"], before["breakdowns_missing"]) == (before["from"], [])
        assert pages(before) == {"/old": 1, "/new": 1}
        # The Worker can delete the first day once it has closed day 15 and has added up the month.
        ended = max(first_day + 16, next_month)
        if ended > first_day + 16:
            await close_days_before(first_day + 16)
            waiting = await report(first_day, first_day + 15)
            assert (pages(waiting), waiting["breakdowns_missing"]) == ({"/old": 1, "/new": 1}, [])
        await close_days_before(ended)
        await close_days_before(ended + 1)
        # A report over the whole month is complete although the first day was deleted. A report over a part of the
        # month has only the remaining days.
        whole = await report(month_start, next_month - 1)
        in_month = {"/old": 1} | ({"/new": 1} if first_day + 10 < next_month else {})
        assert (pages(whole), whole["breakdowns_missing"]) == (in_month, [])
        part = await report(first_day, next_month - 2)
        missing = part["breakdowns_missing"][0]
        assert (missing["from"], missing["reason"]) == (day_text(first_day), "not_kept")
        assert "/old" not in (pages(part) if part["breakdowns"] else {})
        assert whole["totals"]["views"] == len(in_month)
