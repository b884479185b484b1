"""Tests that the configuration sync writes all rows to the Worker's database, despite Cloudflare's firewall."""

from __future__ import annotations

import json
import math

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING
from edge_worker.harness.service import eventually
from svc.actors.duty import Timers
from svc.actors.sync.configuration import sync_when_due
from svc.store.versions import bump_version

LINKS = 1_000 if EVERYTHING else 100
SCRIPT = "/workers/scripts/svc-edge"


@pytest.fixture(autouse=True)
def quick_retries(place):
    """A place in which failed syncs are retried soon."""
    place.timing["sync_retry_s"] = 0.1


@pytest.fixture
async def account_id(service, zone):
    """The id of an installed and confirmed account with a link host."""
    account_id = await service.ready()
    await service.confirmed()
    response = await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    assert response.status == 202, response.raw
    return account_id


async def add_links(service, account_id, **urls):
    for code, url in urls.items():
        body = {"account_id": account_id, "code": code, "url": url}
        response = await service.call("POST", "/v1/links", body)
        assert response.status == 201, response.raw

    async def synced():
        account = await service.account()
        return account.synced_version == account.config_version or None

    await eventually(synced)
    links = (await service.call("GET", "/v1/links")).body["links"]
    return {link["code"]: link for link in links}


async def config_rows(service, where):
    """Return rows of the table `config` in the Worker's database."""
    account = await service.account()
    _, api_token = await service.emulator.create_token(service.customer.account_id, rights=["D1 Write"])
    path = f"/accounts/{service.customer.account_id}/d1/database/{account.database_id}/query"
    statement = {"sql": f"select key, version, body, typeof(body) as kind from config where {where}"}
    response = await service.as_platform("POST", path, api_token, json=statement)
    return response.json()["result"][0]["results"]


async def written(service):
    """Return the URL of each link in the Worker's database, by code. The URL of a removed link is None."""
    rows = await config_rows(service, "key like 'link:%'")
    assert {row["kind"] for row in rows} <= {"text", "null"}
    return {row["key"][5:]: row["body"] and json.loads(row["body"])["url"] for row in rows}


async def days_kept_row(service):
    """Return the row `days_kept` in the Worker's database as (version, body), or None if there is none."""
    rows = await config_rows(service, "key = 'days_kept'")
    return (int(rows[0]["version"]), rows[0]["body"]) if rows else None


async def test_sync_that_has_failed_for_days_is_repeated(service, account_id):
    await service.emulator.fault("refuse", "*/query", status=503, times=None)
    await service.store.run(bump_version(account_id))
    timers = Timers(0, sync_failures=2_000)
    due = await sync_when_due(service.context, await service.account(), timers)
    assert (math.isfinite(due), timers.sync_failures) == (True, 2_001)
    await service.emulator.clear_faults()


@pytest.mark.rule("W5")
async def test_changed_settings_are_written_immediately_and_unchanged_settings_are_not(service, account_id):
    async def change(**body):
        response = await service.call("PATCH", f"/v1/accounts/{account_id}", body)
        assert response.status == 200, response.raw
        await service.idle()
        account = await service.account()
        assert account.synced_version == account.config_version
        return account.config_version

    begin = await change(name="Shop")
    assert await days_kept_row(service) is None
    version = await change(days_kept=14)
    assert version == begin + 1
    assert await days_kept_row(service) == (version, '{"days":14}')
    assert await change(days_kept=14, plan="free") == version
    assert await change(days_kept=35) == version + 1
    assert await days_kept_row(service) == (version + 1, '{"days":35}')
    assert await change(months_kept=9, days_kept=35) == version + 2
    assert await days_kept_row(service) == (version + 2, '{"days":35,"months":9}')
    assert await change(months_kept=9) == version + 2
    assert await change(months_kept="forever") == version + 3
    assert await days_kept_row(service) == (version + 3, '{"days":35}')
    assert await change(plan="paid") == version + 4
    assert await days_kept_row(service) == (version + 4, '{"days":35,"plan":"paid"}')
    assert await change(plan="free") == version + 5
    assert await days_kept_row(service) == (version + 5, '{"days":35}')


@pytest.mark.rule("L1")
async def test_urls_that_resemble_attacks_reach_the_worker_unchanged(service, account_id):
    urls = {
        "path": "https://example.org/../../etc/passwd",
        "select": "https://example.org/?q=1%20union%20select%202",
        "or1": "https://example.org/?q='%20or%20'1'='1",
        "script": "https://example.org/?q=%3Cscript%3E",
    }
    links = await add_links(service, account_id, **urls)
    assert {(link["config"], link["error"]) for link in links.values()} == {("synced", None)}
    assert await written(service) == urls


@pytest.mark.rule("L1")
async def test_link_refused_by_the_firewall_does_not_delay_others(service, account_id):
    evil = "https://example.org/evil"
    await service.emulator.set_failure_settings(firewall_also=b"/evil".hex())
    # delay the sync, so that the other links are added during it
    await service.emulator.fault("slow", "*/d1/database/*/query", delay_s=0.5)
    good = {code: f"https://example.org/{code}" for code in ("aaa", "ccc", "ddd")}
    links = await add_links(service, account_id, aaa=good["aaa"], bbb=evil, ccc=good["ccc"], ddd=good["ddd"])
    assert {code for code, link in links.items() if link["config"] == "synced"} == set(good)
    error = links["bbb"]["error"]
    assert error["code"] == "edge_firewall"
    assert error["details"]["ray_id"]
    assert error["details"]["remedy"]
    assert await written(service) == good
    assert (await service.shown())["state"] == "ready"


async def test_if_the_firewall_refuses_every_row_the_log_names_a_request(service, account_id, caplog):
    await service.idle()
    await service.emulator.set_failure_settings(firewall_also=b"/evil".hex())
    body = {
        "account_id": account_id,
        "links": [{"code": code, "url": "https://example.org/evil"} for code in ("aaa", "bbb")],
    }
    assert (await service.call("POST", "/v1/links/bulk", body)).status == 200

    async def logged():
        refusals = [record for record in caplog.records if record.message == "call refused"]
        return next((record for record in refusals if record.code == "edge_firewall"), None)

    assert (await eventually(logged)).why["ray_id"]
    await service.emulator.set_failure_settings(firewall_also="")

    async def synced():
        account = await service.account()
        return account.synced_version == account.config_version or None

    await eventually(synced)
    assert set(await written(service)) == {"aaa", "bbb"}


async def test_redirect_of_the_link_host_refused_by_the_firewall_does_not_delay_links(service, account_id, zone):
    await service.idle()
    await service.emulator.set_failure_settings(firewall_also=b"/evil".hex())
    path = f"/v1/accounts/{account_id}/link-host"
    changed = await service.call("PATCH", path, {"root_url": "https://example.org/evil"})
    assert changed.status == 200, changed.raw
    links = await add_links(service, account_id, aaa="https://example.org/aaa")
    assert links["aaa"]["config"] == "synced"
    shown = await service.shown()
    assert (shown["state"], shown["link_host"]["config"]) == ("ready", "pending")
    assert shown["link_host"]["error"]["code"] == "edge_firewall"
    findings = (await service.call("POST", f"/v1/accounts/{account_id}/check")).body["findings"]
    assert findings == []  # the rows in the database are unchanged, so the check finds nothing
    assert (await service.call("PATCH", path, {"root_url": "https://example.org/good"})).status == 200
    await add_links(service, account_id, bbb="https://example.org/bbb")
    host = (await service.shown())["link_host"]
    assert (host["config"], host["error"]) == ("synced", None)
    [row] = await config_rows(service, "key = 'host'")
    assert json.loads(row["body"]) == {"host": f"go.{zone}", "root_url": "https://example.org/good"}


@pytest.mark.rule("L1", "L3")
async def test_reused_code_does_not_keep_the_old_url_if_the_firewall_refuses_the_new_one(service, account_id):
    await service.emulator.set_failure_settings(firewall_also=b"/evil".hex())
    links = await add_links(service, account_id, abc="https://example.org/old")
    assert await written(service) == {"abc": "https://example.org/old"}
    # Delay a query, so that one sync writes both changes.
    await service.emulator.fault("slow", "*/d1/database/*/query", delay_s=0.5)
    assert (await service.call("DELETE", f"/v1/links/{links['abc']['id']}")).status == 200
    links = await add_links(service, account_id, abc="https://example.org/evil")
    assert links["abc"]["error"]["code"] == "edge_firewall"
    assert await written(service) == {"abc": None}


@pytest.mark.rule("A12")
async def test_upload_refused_by_the_firewall_is_not_repeated(service):
    await service.emulator.set_failure_settings(firewall_also="main_module")
    assert (await service.connect()).status == 202
    shown = await service.settled("connected")
    assert shown["error"]["code"] == "edge_firewall"
    assert shown["error"]["details"]["ray_id"]
    uploads = [call for call in await service.emulator.requests() if call["path"].endswith(SCRIPT)]
    assert len([call for call in uploads if call["method"] == "PUT"]) == 1


@pytest.mark.rule("S7")
async def test_links_added_one_by_one_take_few_calls_and_the_first_is_synced_immediately(service, account_id):
    await service.idle()
    await service.emulator.forget_requests()
    first = await add_links(service, account_id, first="https://example.org/first")
    assert first["first"]["config"] == "synced"
    began = trio.current_time()
    for number in range(LINKS):
        body = {"account_id": account_id, "url": f"https://example.org/{number}"}
        assert (await service.call("POST", "/v1/links", body)).status == 201
    last = await add_links(service, account_id, last="https://example.org/last")
    assert {link["config"] for link in last.values()} == {"synced"}
    calls = [call for call in await service.emulator.requests() if call["path"].endswith("/query")]
    syncs = 8 + 1 + (trio.current_time() - began) / 10
    assert len(calls) <= 2 * syncs + 4  # the limit is low, because one call writes 330 rows
    addresses = {f"https://example.org/{number}" for number in ("first", "last", *range(LINKS))}
    assert set((await written(service)).values()) == addresses


async def rows_written(service):
    return sum(day["rows_written"] for day in (await service.held())["usage"].values())


@pytest.mark.rule("S7", "X2")
async def test_interrupted_sync_does_not_write_existing_rows_again(service, account_id):
    await service.idle()
    before = await rows_written(service)
    for _ in range(2):  # the last of three calls fails, and its retries fail as well
        await service.emulator.fault("refuse", "*/d1/database/*/query", after=3, times=2, status=500, code=7500)
    rows = [{"code": f"l{n:03}", "url": f"https://example.org/{n}"} for n in range(900)]
    response = await service.call("POST", "/v1/links/bulk", {"account_id": account_id, "links": rows})
    assert response.status == 200, response.raw
    await add_links(service, account_id, last="https://example.org/last")
    assert not await service.emulator.faults()
    assert len(await written(service)) == 901
    assert await rows_written(service) - before <= 901 + 10


@pytest.mark.rule("S7")
async def test_account_at_its_daily_row_limit_shows_why_its_links_are_pending(service, account_id):
    await service.idle()
    customer = service.customer.account_id
    await service.emulator.set_limits(customer, rows_written=0)
    body = {"account_id": account_id, "code": "late", "url": "https://example.org/"}
    assert (await service.call("POST", "/v1/links", body)).status == 201

    async def warned():
        shown = await service.shown()
        return shown if "daily_limit" in (shown["error"] or {}).get("warnings", ()) else None

    shown = await eventually(warned)
    assert shown["state"] == "ready"
    [link] = (await service.call("GET", "/v1/links")).body["links"]
    assert (link["config"], link["error"]) == ("pending", None)
    await service.emulator.set_limits(customer, rows_written=None)  # a paid plan
    assert (await service.call("POST", f"/v1/accounts/{account_id}/check")).status == 200
    await service.idle()
    [link] = (await service.call("GET", "/v1/links")).body["links"]
    assert link["config"] == "synced"
    assert (await service.shown())["error"] is None
