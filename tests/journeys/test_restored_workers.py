"""After a backup that was made under load is restored, Workers match the store and no daily totals are lost.

Between the backup and the restore, the test makes random changes. The service and its commands run as processes, and
the Workers run in Cloudflare's runtime. The test counts each visit itself, to check the totals.
"""

from __future__ import annotations

import json
import random

import pytest
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.sampling import SEED
from edge_worker.harness.service import environment, eventually, open_service
from edge_worker.harness.visitors import DESKTOP_CHROME
from edge_worker.local_http import local_client
from edge_worker.programs import run_program
from svc.store import open_store
from svc.store.tx import sql
from tests.journeys.conftest import PUSHED_BY_MS, ZONE, connect, crons, free_port, settings_of
from tests.journeys.test_conservation import Expected

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
LINK_HOST = f"go.{ZONE}"


class Shop:
    """A customer with visits to pages and links, and a user who makes random changes."""

    def __init__(self, seed, emulator, customer, service, real):
        self.chance = random.Random(seed)
        self.emulator, self.customer, self.service, self.real = emulator, customer, service, real
        self.expected = Expected()
        self.account_id = ""
        self.site = {}
        self.links = {}
        self.made = 0

    async def begin(self):
        self.account_id = await connect(self.service, self.customer)
        body = {"account_id": self.account_id, "host": ZONE}
        self.site = (await self.service.call("POST", "/v1/sites", body, expect=202))["site"]
        for _ in range(4):
            await self.add_link()
        await self.synced()

    async def synced(self):
        await self.service.synced(
            f"/v1/sites/{self.site['id']}", *(f"/v1/links/{one['id']}" for one in self.links.values())
        )

    async def add_link(self):
        self.made += 1
        code = f"code{self.made}"
        body = {"account_id": self.account_id, "url": f"https://a.example/{self.made}", "code": code}
        self.links[code] = (await self.service.call("POST", "/v1/links", body, expect=201))["link"]

    async def change(self):
        """Make one random change."""
        code = self.chance.choice(sorted(self.links))
        match self.chance.choice(("add", "add", "change", "delete", "rotate", "exclude")):
            case "add":
                await self.add_link()
            case "change":
                body = {"url": f"https://a.example/{self.chance.randrange(10**6)}"}
                await self.service.call("PATCH", f"/v1/links/{self.links[code]['id']}", body)
            case "delete" if len(self.links) > 2:
                await self.service.call("DELETE", f"/v1/links/{self.links.pop(code)['id']}")
            case "rotate":
                self.site = (await self.service.call("POST", f"/v1/sites/{self.site['id']}/rotate"))["site"]
            case _:
                excluded = [f"/{self.chance.randrange(100)}"]
                await self.service.call("PATCH", f"/v1/sites/{self.site['id']}", {"excluded_paths": excluded})

    async def reinstall(self):
        await self.service.call("POST", f"/v1/accounts/{self.account_id}/install", expect=202)
        await self.service.account_in(self.account_id, "ready")

    async def visits(self, at, number, *, pushed=False):
        """Send `number` visits in the hour of `at` (epoch ms), and close that hour. If `pushed`, push the hour."""
        await self.emulator.clock((at - self.real) / 1000)
        await self.emulator.new_isolates()
        for _ in range(number):
            person, bot = self.chance.randrange(9), self.chance.random() < 0.2
            headers = {"User-Agent": "curl/8.14.1" if bot else DESKTOP_CHROME.user_agent, "Content-Type": "text/plain"}
            if self.chance.random() < 0.4:
                target, host, path, method, sent = self.site["id"], ZONE, self.site["path"], "POST", "/p\n"
            else:
                code = self.chance.choice(sorted(self.links))
                target, host, path, method, sent = self.links[code]["id"], LINK_HOST, f"/{code}", "GET", None
            response = await self.emulator.visit(
                host, path, method=method, headers=headers, body=sent, ip=f"192.0.2.{person}"
            )
            assert response.status in (204, 302), (path, response.status)
            self.expected.add(target, person, at // HOUR_MS, bot=bot)
        await self.emulator.settled()
        end = at // HOUR_MS * HOUR_MS + HOUR_MS
        await crons(self.emulator, self.customer, self.real, end + 4 * MINUTE_MS, 8)
        if pushed:
            await crons(self.emulator, self.customer, self.real, end + PUSHED_BY_MS, 4)


async def command(folder, settings, *arguments):
    """Run an operator's command, with or without a running service."""
    done = await run_program(["-m", "svc", *arguments], environ=environment(folder, settings))
    assert done.returncode == 0, done.stderr.decode()


async def worker_config(shop, database_id):
    """Return the configuration in the Worker's database as values by key."""
    _, token = await shop.emulator.create_token(shop.customer.account_id, rights=["D1 Write"], expires_in_s=None)
    path = f"{shop.emulator.api}/accounts/{shop.customer.account_id}/d1/database/{database_id}/query"
    async with local_client() as client:
        response = await client.post(
            path, json={"sql": "select key, body from config where body is not null", "params": []},
            headers={"Authorization": f"Bearer {token}"},
        )  # fmt: skip
    return {row["key"]: json.loads(row["body"]) for row in response.json()["result"][0]["results"]}


def rows(text, *parameters):
    """Return the rows of a query as tuples."""
    found = yield sql(text, *parameters)
    return [tuple(row.values()) for row in found]


@pytest.mark.rule("X17", "W3", "S7", "A13")
@pytest.mark.timeout(600)
async def test_workers_match_the_store_after_a_restore_and_no_totals_are_lost(tmp_path, store_config, expected_leaks):
    expected_leaks.allow("backup.tar: vault key")
    folder, file = tmp_path / "svc", str(tmp_path / "backup.tar")
    async with open_emulator(local_egress=True, **LENIENT) as emulator:
        customer = await emulator.create_account([proxied_zone(ZONE)])
        settings = settings_of(emulator, store_config, SVC_HTTP_BIND=free_port(), SVC_TIMING_SYNC_RETRY_S="0.2")
        real = await emulator.clock(0)
        today = (real - 3 * HOUR_MS) // DAY_MS

        async with open_service(folder, settings) as service:
            await service.sign_up("a@example.com", "a long password")
            await emulator.clock(((today - 4) * DAY_MS + 20 * MINUTE_MS - real) / 1000)
            shop = Shop(SEED, emulator, customer, service, real)
            await shop.begin()
            for hour, pushed in ((3, False), (23, True), (24 + 9, True)):
                await shop.visits((today - 4) * DAY_MS + hour * HOUR_MS, 12, pushed=pushed)
            # Back up under load. The backup contains everything that was committed before it began.
            async with trio.open_nursery() as nursery:
                nursery.start_soon(command, folder, settings, "backup", file)
                for _ in range(6):
                    await shop.change()
            await shop.synced()
            await shop.visits((today - 3) * DAY_MS + 15 * HOUR_MS, 12)
            for number in range(5):
                await shop.change()
                if number == shop.chance.randrange(5):
                    await shop.reinstall()
            await shop.synced()
            for hour in (24 + 4, 48 + 20):
                await shop.visits((today - 3) * DAY_MS + hour * HOUR_MS, 12)
            await crons(emulator, customer, real, today * DAY_MS + 20 * MINUTE_MS, 12)
            await crons(emulator, customer, real, today * DAY_MS + PUSHED_BY_MS, 4)
            lost = await service.call("GET", f"/v1/accounts/{shop.account_id}")
            assert lost["account"]["push"]["queue"] == 0
            headers = service.headers
            await service.kill()
        if store_config.engine == "sqlite":
            assert store_config.path.with_name("svc.db-wal").stat().st_size > 0
        await command(folder, settings, "restore", file, "--replace")

        async with open_service(folder, settings) as service, open_store(store_config) as store:
            service.headers = headers
            shop.service = service

            async def in_line():
                [found] = await store.read(
                    rows(
                        "select restored_as_of is null and synced_version = config_version and suspected_at is null"
                        " and not exists (select 1 from operations where state = 'running' and step <> 'selfcheck')"
                        " and not exists (select 1 from sites where state = 'route_pending') from accounts",
                    )
                )
                return found[0] or None

            await eventually(in_line)
            await service.account_in(shop.account_id, "ready")
            [(database_id, install_id)] = await store.read(rows("select database_id, install_id from accounts"))

            # The Worker has exactly the store's configuration.
            there = await worker_config(shop, database_id)
            links = dict(await store.read(rows("select code, url from links where state = 'active'")))
            assert {key[5:]: body["url"] for key, body in there.items() if key.startswith("link:")} == links
            paths = await store.read(rows(
                "select host || path from sites where state <> 'deleted'"
                " union select s.host || r.path from retiring_paths r join sites s on s.id = r.site_id"
            ))  # fmt: skip
            assert {(key[5:],) for key in there if key.startswith("path:")} == set(paths)
            held = (await emulator.state())["accounts"][customer.account_id]["scripts"]["svc-edge"]
            [active] = [one for one in held["versions"] if one["id"] == held["active_version_id"]]
            assert {one["name"]: one.get("text") for one in active["bindings"]}["INSTALL"] == install_id

            # For each target and day, the total in the store equals the number of visits.
            known = {target for (target,) in await store.read(rows("select id from links union select id from sites"))}
            assert shop.site["id"] in known
            counted = 0
            for day in range(today - 4, today):
                stored = {
                    target: counts
                    for target, *counts in await store.read(
                        rows("select target, views, bots, visitors, final from days where day = $1", day)
                    )
                }
                wanted = {
                    target: [*shop.expected.counts(target, range(day * 24, day * 24 + 24)), 1] for target in known
                }
                assert stored == {target: counts for target, counts in wanted.items() if any(counts[:3])}
                counted += sum(counts[0] + counts[1] for counts in stored.values())
            assert counted > 40

            # New links reach the Worker, even if they use a code that was lost in the restore. Clicks are counted.
            shop.site = (await service.call("GET", f"/v1/sites/{shop.site['id']}"))["site"]
            found = (await service.call("GET", f"/v1/links?account_id={shop.account_id}&limit=100"))["links"]
            shop.links = {one["code"]: one for one in found}
            shop.made = 0
            while f"code{shop.made + 1}" in links:
                shop.made += 1
            await shop.add_link()
            await shop.synced()
            await shop.visits(today * DAY_MS + HOUR_MS + 40 * MINUTE_MS, 12, pushed=True)
            again = await emulator.visit(LINK_HOST, f"/code{shop.made}", headers={"User-Agent": "curl/8"})
            assert again.headers["location"] == f"https://a.example/{shop.made}"
            views = dict(await store.read(rows("select target, views from days where day = $1", today)))
            assert views == {
                target: shop.expected.counts(target, range(today * 24, today * 24 + 2))[0] for target in views
            }
            assert sum(views.values()) > 0
