"""A user moves to a different service: export everything, and import it there as the README in the export says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from edge_worker.harness.service import environment, open_service
from edge_worker.programs import run_program
from svc.clock import DAY_MS, HOUR_MS, day_of, system_clock
from svc.store import open_store
from svc.store.totals import ingest
from svc.worker.pushed import PushedHour, PushedPart
from tests.databases import sqlite_config
from tests.journeys.conftest import QUICK, ZONE, connect

if TYPE_CHECKING:
    from pathlib import Path

    from svc.store.totals import Ingested
    from svc.store.tx import Tx

RULES = [
    {"url": "https://m.example/?a=1,2;'x'", "countries": ["DE", "AT"], "devices": ["mobile"]},
    {"url": "https://de.example/", "countries": ["DE"]},
]
EXCLUDED = {
    "excluded_networks": ["192.0.2.0/24", "2001:db8::1"], "excluded_countries": ["FR"], "excluded_asns": [64496],
    "visitor_opt_out": True,
}  # fmt: skip
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5"


def counted(account_id: str, targets: list[str]) -> Tx[Ingested]:
    """Return a transaction that stores totals of the last few days, as if the account's Worker had sent them."""
    now = system_clock()
    parts = []
    for number, day in enumerate(range(day_of(now) - 5, day_of(now)), 1):
        rows = tuple((target, number * place, number, 1) for place, target in enumerate(targets, 1))
        hour = PushedHour(day * DAY_MS + 9 * HOUR_MS, rows)
        parts.append(PushedPart(number, day, (day + 1) * DAY_MS, True, (hour,), (), rows))
    return ingest(account_id, parts, now)


async def svc_import(folder: Path, settings: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Run the command `svc import` and return its exit status and output."""
    command = ["-m", "svc", "import", *arguments, "--user", "b@example.com", "--apply"]
    ended = await run_program(command, environ=environment(folder, settings))
    return ended.returncode, ended.stdout.decode()


@pytest.mark.rule("X4", "X2", "L5")
async def test_export_can_be_imported_into_another_service(emulator, customer, tmp_path):
    settings = {"SVC_EDGE_API_BASE_URL": emulator.api, "SVC_EDGE_EMULATED_EDGE": emulator.edge, **QUICK}
    async with open_service(tmp_path / "first", settings) as first:
        await first.sign_up("a@example.com", "a long password")
        account_id = await connect(first, customer)
        body = {"account_id": account_id, "host": ZONE, "excluded_paths": ["/admin/"], "respect_gpc": True}
        body |= EXCLUDED
        site = (await first.call("POST", "/v1/sites", body))["site"]
        body = {"account_id": account_id, "url": "https://example.com/", "code": "-spring", "rules": RULES}
        link = (await first.call("POST", "/v1/links", body))["link"]
        body = {"account_id": account_id, "url": "https://example.com/old", "code": "deleted"}
        gone = (await first.call("POST", "/v1/links", body))["link"]
        async with open_store(sqlite_config(tmp_path / "first")) as store:
            await store.run(counted(account_id, [site["id"], link["id"], gone["id"]]))
        await first.call("DELETE", f"/v1/links/{gone['id']}")
        response = await first.client.get(f"{first.url}/v1/export", headers=first.headers)
        assert response.headers["Transfer-Encoding"] == "chunked"
        paths = (f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")
        totals = [(await first.call("GET", f"{path}/totals"))["totals"] for path in paths]
        assert [len(each) for each in totals] == [5, 5]
        await first.call("DELETE", f"/v1/accounts/{account_id}")

    (tmp_path / "export.zip").write_bytes(response.content)
    folder = tmp_path / "export"
    with ZipFile(tmp_path / "export.zip") as archive:
        archive.extractall(folder)
    [old_account] = json.loads((folder / "accounts.json").read_text())
    assert old_account["edge_account_id"] == customer.account_id

    rights = ["Account Settings Read", "Account API Tokens Write"]
    _, token = await emulator.create_token(customer.account_id, rights=rights)
    async with open_service(tmp_path / "second", settings) as second:
        await second.sign_up("b@example.com", "a long password")
        account_id = await connect(second, replace(customer, bootstrap_token=token))
        for old in json.loads((folder / "sites.json").read_text()):
            wanted = {name: old[name] for name in ("host", "excluded_paths", "respect_gpc", *EXCLUDED)}
            await second.call("POST", "/v1/sites", {"account_id": account_id, **wanted})
        status, printed = await svc_import(tmp_path / "second", settings, "links", str(folder / "links.csv"))
        assert status == 0
        assert "1 row skipped" in printed
        assert "1 link imported" in printed
        [new_site] = (await second.call("GET", "/v1/sites"))["sites"]
        assert {new_site[name] == site[name] for name in ("host", "excluded_paths", "respect_gpc", *EXCLUDED)} == {True}
        [new_link] = (await second.call("GET", "/v1/links"))["links"]
        assert {new_link[name] == link[name] for name in ("code", "url", "rules", "short_url")} == {True}
        assert new_link["rules"] == RULES
        # both files contain the same totals, so the second import adds nothing
        for file in (tmp_path / "export.zip", folder / "daily_totals.csv"):
            status, printed = await svc_import(tmp_path / "second", settings, "totals", str(file))
            # the totals of a deleted link belong to no link that exists
            assert (status, "deleted" in printed) == (1, True)
        for path, expected in zip((f"/v1/sites/{new_site['id']}", f"/v1/links/{new_link['id']}"), totals, strict=True):
            brought = (await second.call("GET", f"{path}/totals"))["totals"]
            assert brought == [{**point, "imported": True} for point in expected]
        # The new service serves short URLs that were printed before.
        await second.synced(f"/v1/links/{new_link['id']}")
        for user_agent, country, url in ((IPHONE, "AT", RULES[0]["url"]), ("Other", "FR", "https://example.com/")):
            clicked = await emulator.visit(
                f"go.{ZONE}", "/-spring", headers={"User-Agent": user_agent}, cf={"country": country}
            )
            assert (clicked.status, clicked.headers["location"]) == (302, url)
