"""Test the statement of counts end to end: the numbers match despite crashes and losses, and the statement detects
manipulated counts.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from edge_worker.harness.service import open_service
from edge_worker.harness.visitors import DESKTOP_CHROME
from svc.clock import day_text
from svc.ids import digest, new_secret
from tests.databases import sqlite_config
from tests.journeys.conftest import ZONE, connect, crons, settings_of

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Service

HOUR_MS, DAY_MS, MINUTE_MS = 3_600_000, 86_400_000, 60_000


class Place:
    """An account with a site and a link on a past day. The first two hours of the next day are also in the past."""

    def __init__(self, emulator: Emulator, customer: Customer, service: Service, database: str, real: int) -> None:
        self.emulator, self.customer, self.service, self.database = emulator, customer, service, database
        self.real, self.day = real, (real - 2 * HOUR_MS) // DAY_MS - 1
        self.sent: Counter[tuple[str, str]] = Counter()

    async def begin(self) -> None:
        """Connect the account and add a site and a link."""
        await self.clock(MINUTE_MS)
        self.account_id = await connect(self.service, self.customer)
        body = {"account_id": self.account_id, "host": ZONE}
        self.site = (await self.service.call("POST", "/v1/sites", body, expect=202))["site"]
        body = {"account_id": self.account_id, "url": "https://a.example/", "code": "code"}
        self.link = (await self.service.call("POST", "/v1/links", body, expect=201))["link"]
        await self.service.synced(f"/v1/sites/{self.site['id']}", f"/v1/links/{self.link['id']}")
        _, self.token = await self.emulator.create_token(
            self.customer.account_id, rights=["D1 Write"], expires_in_s=None
        )

    async def clock(self, since_midnight_ms: int) -> None:
        await self.emulator.clock((self.day * DAY_MS + since_midnight_ms - self.real) / 1000)

    async def visits(self, views: int, clicks: int, bots: int) -> None:
        """Send views of the site, clicks on the link, and clicks by bots."""
        for number in range(views + clicks + bots):
            bot = number >= views + clicks
            headers = {"user-agent": "curl/8.14.1" if bot else DESKTOP_CHROME.user_agent}
            if number < views:
                path, method, body = self.site["path"], "POST", "/\n"
                await self.emulator.visit(ZONE, path, method=method, body=body, ip=f"192.0.2.{number}", headers=headers)
            else:
                await self.emulator.visit(f"go.{ZONE}", "/code", ip=f"192.0.2.{number}", headers=headers)
        await self.emulator.settled()
        self.sent.update({(self.site["id"], "views"): views, (self.link["id"], "views"): clicks})
        self.sent[self.link["id"], "bots"] += bots

    async def crons(self, since_midnight_ms: int, minutes: int, *, fail: bool = False) -> None:
        at = self.day * DAY_MS + since_midnight_ms
        await crons(self.emulator, self.customer, self.real, at, minutes, fail=fail)

    async def ledger(self) -> dict[str, Any]:
        """Return the statement of counts for the day, with its targets by id."""
        path = f"/v1/accounts/{self.account_id}/ledger?day={day_text(self.day)}"
        found: dict[str, Any] = (await self.service.call("GET", path))["ledger"]
        found["targets"] = {target["id"]: target for target in found["targets"]}
        return found

    async def agreed(self) -> dict[str, Any]:
        """Check that the numbers at all steps match and include each event once. Return the statement of counts."""
        found = await self.ledger()
        assert found["agrees"], (found["unavailable"], found["targets"])
        for target_id, target in found["targets"].items():
            sent = {kind: self.sent[target_id, kind] for kind in ("views", "bots")}
            assert (target["accepted"], target["dropped"]) == (sent, {})
        assert set(found["targets"]) == {target for target, _ in self.sent}
        return found

    async def faults(self) -> dict[str, tuple[str, int]]:
        """Return the targets that do not match, with the fault and the difference in views."""
        found = await self.ledger()
        wrong = {id_: target for id_, target in found["targets"].items() if not target["agrees"]}
        assert found["agrees"] is not bool(wrong)
        return {id_: (target["fault"], target["off_by"]["views"]) for id_, target in wrong.items()}

    async def change_worker_database(self, sql: str, *params: str) -> None:
        """Run SQL on the Worker's database with the customer's own token."""
        path = f"/accounts/{self.customer.account_id}/d1/database"
        headers = {"authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(base_url=self.emulator.api, headers=headers) as client:
            [database] = (await client.get(path)).json()["result"]
            response = await client.post(f"{path}/{database['uuid']}/query", json={"sql": sql, "params": list(params)})
        assert response.json()["success"], response.text

    def change_store(self, sql: str, *params: object) -> None:
        """Run SQL directly on the service's store."""
        with closing(sqlite3.connect(self.database, timeout=30)) as connection, connection:
            connection.execute(sql, params)


@pytest.mark.rule("X5", "W3", "W4")
@pytest.mark.timeout(300)
async def test_day_matches_despite_crashes_and_losses_and_manipulation_is_detected(emulator, customer, tmp_path):
    config = sqlite_config(tmp_path)
    settings = settings_of(
        emulator, config, SVC_TIMING_REPORT_CACHE_S="0.001", SVC_LIMITS_REPORT_READS_PER_MINUTE="1000"
    )
    real = await emulator.clock(0)
    async with open_service(tmp_path / "svc", settings) as service:
        path = config.url.get_secret_value().removeprefix("sqlite:///")
        place = Place(emulator, customer, service, path, real)
        await service.sign_up("a@example.com", "a long password")
        await place.begin()

        # In one hour, the Worker's writes are lost before or after they are executed. In the other hour, the request
        # ends before or after the write.
        for hour, kinds in enumerate((("d1_drop_before", "d1_drop_after"), ("d1_end_before", "d1_end_after")), 1):
            await place.clock(hour * HOUR_MS + 5 * MINUTE_MS)
            await place.visits(2, 1, 1)
            for kind in kinds:
                await emulator.fault(kind, times=1)
                await place.visits(2, 1, 1)
                await emulator.clear_faults()
            await place.clock(hour * HOUR_MS + 6 * MINUTE_MS)
            await place.visits(1, 1, 1)
            # In the cron runs, database calls crash the run, and pushes lose their request or their response.
            at = (hour + 1) * HOUR_MS + 4 * MINUTE_MS
            for minute in range(4):
                await emulator.fault(("d1_drop_before", "d1_drop_after")[minute % 2], after=2 + 3 * minute)
                await place.crons(at + minute * MINUTE_MS, 1, fail=True)
                await emulator.clear_faults()
            await emulator.fault(("egress_drop_before", "egress_drop_after")[hour % 2], path="*/edge/push")
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(place.crons, at + 51 * MINUTE_MS, 1)
            await emulator.clear_faults()
            # The numbers of parts that are stored but not acknowledged also match.
            await place.agreed()
            await place.crons(at + 52 * MINUTE_MS, 3)
        await place.clock(7 * HOUR_MS)
        await place.visits(2, 0, 0)
        found = await place.agreed()
        assert found["closed"] is False
        assert found["targets"][place.site["id"]]["waiting"] == {"views": 2, "bots": 0}

        await emulator.fault("egress_drop_before", path="*/edge/push", times=None)
        await place.crons(DAY_MS + 12 * MINUTE_MS, 6)
        await emulator.clear_faults()
        # The day is closed. The parts of its last hours and of the day are still waiting for the hourly push.
        found = await place.agreed()
        assert (found["closed"], found["queued_parts"]) == (True, 2)
        await place.crons(DAY_MS + HOUR_MS + 55 * MINUTE_MS, 2)
        found = await place.agreed()
        assert (found["closed"], found["queued_parts"], found["dropped"]) == (True, 0, {})
        assert found["platform_requests"]["at_most"] >= sum(place.sent.values())
        for target in found["targets"].values():
            assert target["accepted"] == target["counted"] == target["pushed"] == target["stored"]

        site, link = place.site["id"], place.link["id"]
        change = "update day set totals = json_set(totals, '$.views', (totals ->> '$.views') + ?2) where target = ?1"
        await place.change_worker_database(change, site, "1")
        assert await place.faults() == {site: ("counting", 1)}
        await place.change_worker_database(change, site, "-1")

        place.change_store("update days set views = views - 2 where target = ?", link)
        assert await place.faults() == {link: ("store", -2)}
        place.change_store("update days set views = views + 2 where target = ?", link)
        place.change_store("update days set imported = 1 where target = ?", link)
        assert await place.faults() == {link: ("store", -place.sent[link, "views"])}
        place.change_store("update days set imported = 0 where target = ?", link)

        await place.agreed()
        key = new_secret("svcw_")
        add_key = "insert into worker_keys (digest, account_id) values (?, ?)"
        place.change_store(add_key, digest(key), place.account_id)
        await forged_push(service, key, place.day, site, place.sent[site, "views"] + 5)
        assert await place.faults() == {site: ("store", 5)}

        await place.change_worker_database("delete from ledger")
        assert {fault for fault, _ in (await place.faults()).values()} == {"counting"}
        since = "update meta set value = json_set(value, '$.since', ?1 + 0) where key = 'state'"
        await place.change_worker_database(since, str((place.day + 1) * DAY_MS))
        found = await place.ledger()
        assert (found["unavailable"], found["agrees"]) == ("not_counted", None)


async def forged_push(service: Service, key: str, day: int, target: str, views: int) -> None:
    """Send a push that does not come from the Worker. Its row for the day is newer than all others."""
    part = {
        "id": 1, "day": day_text(day), "as_of": (day + 1) * DAY_MS, "final": True,
        "hours": [], "refused_hours": [], "days": [[target, views, 0, 1]],
    }  # fmt: skip
    body = {
        "v": 1, "install": "x", "bundle": "b" * 64, "schema": 1, "sent_at": (day + 1) * DAY_MS, "queue": 1,
        "error": None, "parts": [part],
        "dropped": dict.fromkeys(("budget", "invalid", "unknown_target", "too_old", "busy", "expired"), 0),
    }  # fmt: skip
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    response = await service.client.post(f"{service.url}/edge/push", content=json.dumps(body), headers=headers)
    assert response.json()["accepted"] == [1], response.text
