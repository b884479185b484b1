"""Installs the Worker in an account of the emulated platform, with a receiver of its pushes in place of the service."""

from __future__ import annotations

import functools
import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from quart import Response, request
from quart_trio import QuartTrio

from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.visitors import DESKTOP_CHROME
from edge_worker.local_http import local_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

    from edge_worker.emulator.client import Customer, Emulator, Visit

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE.parents[1] / "docs/develop/push.schema.json").read_text())
VOCABULARY = json.loads((HERE.parent / "src/vocabulary.json").read_text())
RIGHTS = ("Workers Scripts Write", "D1 Write", "Workers Routes Write", "Account API Tokens Write")
SCRIPT = "svc-edge"
SITE_HOST, LINK_HOST = "shop.example.com", "go.example.com"
SITE_PATH = "/ab3/x9k"
CHROME = DESKTOP_CHROME.user_agent
HOUR_MS, DAY_MS, MINUTE_MS = 3_600_000, 86_400_000, 60_000
LONGEST_RUN_OF_CRONS = 2_000


class Receiver:
    """Receives pushes in place of the service, and stores their totals for comparison.

    Applies pushes as docs/develop/push.md specifies.
    """

    def __init__(self) -> None:
        self.url = ""
        self.pushes: list[dict[str, Any]] = []
        self.hours: dict[tuple[str, int], tuple[int, int, int]] = {}
        self.days: dict[tuple[str, str], tuple[int, int, int]] = {}
        self.as_of: dict[tuple[str, str], int] = {}
        self.refused_hours: list[int] = []
        self.finals: list[str] = []
        self.responses: list[Callable[[dict[str, Any]], tuple[int, Any, dict[str, str]]]] = []

    def apply(self, body: dict[str, Any]) -> None:
        """Apply a push.

        Its numbers replace the stored numbers of a day, unless the stored numbers are newer.
        """
        jsonschema.validate(body, {"$ref": "#/$defs/push", "$defs": SCHEMA["$defs"]})
        for part in body["parts"]:
            for hour in part["hours"]:
                for target, *counts in hour["rows"]:
                    self.hours[target, hour["at"]] = (counts[0], counts[1], counts[2])
            self.refused_hours += part["refused_hours"]
            for target, views, bots, visitors in part["days"]:
                key = (target, part["day"])
                if part["as_of"] >= self.as_of.get(key, 0):
                    self.as_of[key] = part["as_of"]
                    self.days[key] = (views, bots, visitors)
            if part["final"]:
                self.finals.append(part["day"])

    def response(self, body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        """Respond to a push with the next response that a test has queued, or accept every part."""
        if self.responses:
            return self.responses.pop(0)(body)
        self.apply(body)
        return 200, accepted(body), {}


def first_log_id(at: int) -> int:
    """Return the smallest possible id of an event log entry from the minute of `at` (epoch ms)."""
    return at // MINUTE_MS * int(VOCABULARY["log_slots"])


def accepted(body: dict[str, Any]) -> dict[str, Any]:
    """Return the response that accepts every part."""
    return {"ok": True, "accepted": [part["id"] for part in body["parts"]], "refused": [], "unknown_targets": []}


@asynccontextmanager
async def open_receiver() -> AsyncIterator[Receiver]:
    """Run a receiver on a free port of the loopback interface until the block ends."""
    receiver = Receiver()
    app = QuartTrio("receiver")

    @app.post("/edge/push")
    async def push() -> Response:
        body = json.loads(await request.get_data())
        assert request.headers["authorization"] == "Bearer key-of-the-worker"
        assert len(await request.get_data()) <= 500_000
        receiver.pushes.append(body)
        status, response, headers = receiver.response(body)
        return Response(json.dumps(response), status=status, headers=headers, content_type="application/json")

    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.accesslog = config.errorlog = None
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        bound: list[str] = await nursery.start(functools.partial(serve, app, config, shutdown_trigger=stop.wait))
        receiver.url = f"{bound[0]}/edge/push"
        yield receiver
        stop.set()


class InstalledWorker:
    """An installed Worker. Times are epoch ms of the platform's clock."""

    def __init__(self, emulator: Emulator, receiver: Receiver, customer: Customer, client: httpx.AsyncClient) -> None:
        self.emulator, self.receiver, self.customer, self._client = emulator, receiver, customer, client
        self.database = ""
        self.version = 0
        self.push_second = 17 * 60  # second of the hour at which the Worker pushes

    async def clock(self, offset_s: float) -> int:
        """Set the platform's clock to `offset_s` seconds after its start, and return the new time (epoch ms)."""
        return await self.emulator.clock(offset_s)

    async def api(self, method: str, path: str, **more: Any) -> Any:
        """Call the platform's API and return its result."""
        response = await self._client.request(method, f"/accounts/{self.customer.account_id}{path}", **more)
        assert response.is_success, response.text
        return response.json()["result"]

    async def sql(self, sql: str, *params: Any) -> list[dict[str, Any]]:
        """Run a statement and return its rows."""
        response = await self.api(
            "POST", f"/d1/database/{self.database}/query", json={"sql": sql, "params": list(params)}
        )
        rows: list[dict[str, Any]] = response[0]["results"]
        return rows

    async def install(self, bundle: Path) -> None:
        """Create the database with its schema, the script, the cron trigger and the routes, as the service does."""
        manifest = json.loads((bundle / "manifest.json").read_text())
        self.database = (await self.api("POST", "/d1/database", json={"name": SCRIPT}))["uuid"]
        batch = [{"sql": text, "params": []} for texts in manifest["migrations"] for text in texts]
        await self.api("POST", f"/d1/database/{self.database}/query", json={"batch": batch})
        await self.upload(bundle, manifest, "install-1")
        await self.api("PUT", f"/workers/scripts/{SCRIPT}/schedules", json=[{"cron": manifest["cron"]}])
        for pattern in (f"{LINK_HOST}/*", f"{SITE_HOST}{SITE_PATH}*"):
            await self.route(pattern, SCRIPT)
        site = {"target": "site_a", "script": "k3f", "excluded_paths": ["/admin"]}
        await self.configure({"host": {"host": LINK_HOST}, f"path:{SITE_HOST}{SITE_PATH}": site})

    async def route(self, pattern: str, script: str, zone_id: str | None = None) -> None:
        """Create a route in a zone, by default in the account's first one."""
        path = f"/zones/{zone_id or self.customer.zones['example.com']}/workers/routes"
        response = await self._client.post(path, json={"pattern": pattern, "script": script})
        assert response.is_success, response.text

    async def upload(self, bundle: Path, manifest: dict[str, Any], install: str) -> None:
        """Upload the script with its bindings."""
        texts = {"PUSH_URL": self.receiver.url, "BUNDLE": manifest["sha256"], "INSTALL": install}
        texts["PUSH_SECOND"] = str(self.push_second)
        bindings = [{"type": "plain_text", "name": name, "text": text} for name, text in texts.items()]
        bindings.append({"type": "secret_text", "name": "WORKER_KEY", "text": "key-of-the-worker"})
        bindings.append({"type": "d1", "name": "DB", "id": self.database})
        metadata = {
            "main_module": manifest["main_module"], "bindings": bindings,
            "compatibility_date": manifest["compatibility_date"],
            "compatibility_flags": manifest["compatibility_flags"],
        }  # fmt: skip
        module = (bundle / manifest["main_module"]).read_bytes()
        files = {
            "metadata": (None, json.dumps(metadata), "application/json"),
            manifest["main_module"]: (manifest["main_module"], module, "application/javascript+module"),
        }
        await self.api("PUT", f"/workers/scripts/{SCRIPT}", files=files)

    async def configure(self, rows: dict[str, Any]) -> None:
        """Write rows of the configuration, as the service does. For the value None, delete the row."""
        self.version += 1
        upsert = (
            "insert into config(key, version, body) values (?, ?, ?) "
            "on conflict(key) do update set version = excluded.version, body = excluded.body"
        )
        batch: list[dict[str, Any]] = [
            {"sql": upsert, "params": [key, self.version, None if row is None else json.dumps(row)]}
            for key, row in rows.items()
        ]
        batch.append({"sql": "update meta set value = ? where key = 'config_version'", "params": [self.version]})
        await self.api("POST", f"/d1/database/{self.database}/query", json={"batch": batch})

    async def view(
        self, page: str = "/", *, ip: str = "192.0.2.1", ua: str = CHROME, referrer: str = "", **more: Any
    ) -> Visit:
        """Send a beacon from a page of the site."""
        headers = {"user-agent": ua, "content-type": "text/plain;charset=UTF-8"}
        body = f"{page}\n{referrer}"
        return await self.emulator.visit(SITE_HOST, SITE_PATH, method="POST", headers=headers, body=body, ip=ip, **more)

    async def click(
        self, code: str, *, ip: str = "192.0.2.1", ua: str = CHROME, method: str = "GET", **more: Any
    ) -> Visit:
        """Click on a link."""
        headers = {"user-agent": ua, **more.pop("headers", {})}
        return await self.emulator.visit(LINK_HOST, f"/{code}", method=method, headers=headers, ip=ip, **more)

    async def cron(self, at: int) -> dict[str, Any]:
        """Run the cron job once, as of `at`. Raises AssertionError if the run fails."""
        run = await self.emulator.cron(self.customer.account_id, SCRIPT, at=at)
        assert run["outcome"] == "ok", run
        assert run["d1_queries"] <= 50, run
        return run

    async def state(self) -> dict[str, Any]:
        """Return the state of the Worker's cron job."""
        state: dict[str, Any] = json.loads((await self.sql("select value from meta where key = 'state'"))[0]["value"])
        return state

    async def crons_until_quiet(self, at: int) -> int:
        """Run the cron job every minute until no due work remains. Return the time of the next run (epoch ms)."""
        for _ in range(LONGEST_RUN_OF_CRONS):
            await self.cron(at)
            rows = await self.sql(
                "select (select count(*) from event_log where id < ?) as events, "
                "(select count(*) from event_page) + (select count(*) from outbox) "
                "+ coalesce(value ->> '$.closed_hours', 0) as more, "
                "value ->> '$.hour' as hour, value ->> '$.day' as day from meta where key = 'state'",
                first_log_id(at - 2 * MINUTE_MS),
            )
            at += MINUTE_MS
            day_ended = (at - 12 * MINUTE_MS) // DAY_MS - 1
            closed = rows[0]["hour"] >= (at - 240_000) // HOUR_MS and rows[0]["day"] >= day_ended
            if rows[0]["events"] == 0 and rows[0]["more"] == 0 and closed:
                return at
        raise AssertionError(f"work remains after {LONGEST_RUN_OF_CRONS} cron runs: {rows}, {await self.state()}")


@asynccontextmanager
async def open_installed_worker(bundle: Path, **limits: int | None) -> AsyncIterator[InstalledWorker]:
    """Run an emulator until the block ends. It has one account, in which the Worker is installed."""
    async with (
        open_receiver() as receiver,
        open_emulator(rate_limit=0, local_egress=True, **LENIENT) as emulator,
    ):
        zone = proxied_zone("example.com")
        zone["dns"].append({"name": "shop", "proxied": True})  # add a website behind the site's host
        customer = await emulator.create_account([zone], limits=limits, subdomain="example-com")
        _, token = await emulator.create_token(customer.account_id, rights=list(RIGHTS), expires_in_s=None)
        headers = {"authorization": f"Bearer {token}"}
        async with local_client(base_url=emulator.api, headers=headers, timeout=60) as client:
            worker = InstalledWorker(emulator, receiver, customer, client)
            await emulator.begin_at_noon()
            await worker.install(bundle)
            await emulator.set_failure_settings(firewall=False)  # the tests send unusual bodies
            yield worker
