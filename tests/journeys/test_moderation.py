"""The operator disables a link and a site with commands while the service and the Worker are running."""

from __future__ import annotations

import json

import pytest

from edge_worker.harness.service import eventually, open_service
from edge_worker.harness.visitors import DESKTOP_CHROME
from tests.journeys.conftest import ZONE, connect, settings_of
from tests.journeys.test_imported_links import svc

HEADERS = {"user-agent": DESKTOP_CHROME.user_agent}


@pytest.mark.rule("L1", "S1")
async def test_disabled_link_and_site_stop_within_seconds_and_keep_their_totals(
    emulator, customer, store_config, tmp_path
):
    settings = settings_of(emulator, store_config, SVC_TIMING_COMMANDS_EVERY_S="0.5")
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        account_id = await connect(service, customer)
        body = {"account_id": account_id, "host": ZONE}
        site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
        body = {"account_id": account_id, "url": "https://a.example/", "code": "sale"}
        link = (await service.call("POST", "/v1/links", body, expect=201))["link"]
        site_path, link_path = f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}"
        await service.synced(site_path, link_path)

        async def view() -> int:
            sent = await emulator.visit(ZONE, site["path"], method="POST", headers=HEADERS, body="/page\n")
            return int(sent.status)

        async def click() -> int:
            return int((await emulator.visit(f"go.{ZONE}", "/sale", headers=HEADERS)).status)

        async def totals() -> list[int]:
            await emulator.settled()
            await emulator.cron(customer.account_id, "svc-edge")
            paths = (f"{site_path}/report?period=today&live=1", f"{link_path}/report?period=today")
            found = [await service.call("GET", path) for path in paths]
            return [one["report"]["totals"]["views"] for one in found]

        async def become(wanted: tuple[int, int]) -> None:
            """Send views and clicks until they get these statuses. The Worker counts those that it still serves."""

            async def poll() -> bool | None:
                return (await view(), await click()) == wanted or None

            await eventually(poll)

        async def run(*arguments: str) -> None:
            ended = await svc(tmp_path / "svc", settings, *arguments)
            assert (ended.returncode, ended.stderr) == (0, ""), ended

        assert (await view(), await click()) == (204, 302)
        unknown = await emulator.visit(f"go.{ZONE}", "/unknown", headers=HEADERS)
        await run("link", "disable", f"https://go.{ZONE}/sale", "--reason", "Phishing")
        await run("site", "disable", ZONE, "--reason", "Spam")
        await become((404, unknown.status))
        visit = await emulator.visit(f"go.{ZONE}", "/sale", headers=HEADERS)
        assert (visit.status, visit.body) == (unknown.status, unknown.body)
        await service.synced(site_path, link_path)
        counted = await totals()
        assert min(counted) >= 1
        assert (await view(), await click()) == (404, unknown.status)
        assert await totals() == counted

        shown = (await service.call("GET", link_path))["link"]
        assert (shown["disabled"]["reason"], shown["config"]) == ("Phishing", "synced")
        refused = await service.call("PATCH", link_path, {"url": "https://b.example/"}, expect=403)
        assert refused["error"]["code"] == "link_disabled"
        table = tmp_path / "links.csv"
        table.write_text("code,url\nsale,https://b.example/\n")
        imported = await svc(tmp_path / "svc", settings, "import", "links", str(table), "--account", account_id)
        assert "0 links to import, 0 already imported, 1 invalid" in imported.stdout
        await service.call("DELETE", link_path)
        imported = await svc(
            tmp_path / "svc", settings, "import", "links", str(table), "--account", account_id, "--apply"
        )
        assert imported.returncode == 1
        assert "The operator has disabled the link that has this code" in imported.stdout
        await run("link", "enable", link["id"])
        body = {"account_id": account_id, "url": "https://a.example/", "code": "sale"}
        again = (await service.call("POST", "/v1/links", body, expect=201))["link"]
        await run("site", "enable", site["id"])
        await service.synced(site_path, f"/v1/links/{again['id']}")
        await become((204, 302))
        events = (await service.call("GET", "/v1/events"))["events"]
        assert [(one["action"], one["target"]) for one in events if one["via"] == "operator"] == [
            ("site.enable", site["id"]),
            ("link.enable", link["id"]),
            ("site.disable", site["id"]),
            ("link.disable", link["id"]),
        ]
        listed = await svc(tmp_path / "svc", settings, "link", "disable", again["id"], "--reason", "Spam", "--json")
        assert json.loads(listed.stdout)["disabled"]["reason"] == "Spam"
