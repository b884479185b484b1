"""Tests that health checks of a whole account find and repair problems that changes outside the service have caused."""

from __future__ import annotations

import json

import pytest
import trio

from edge_worker.emulator.api.permissions import group_named
from edge_worker.harness.service import eventually
from svc.clock import day_of, day_text, iso
from svc.finding import ENGLISH, sentence
from svc.german.findings import GERMAN_FINDINGS
from svc.store import account_health
from svc.store.tx import sql

pytestmark = pytest.mark.usefixtures("every_state_is_logged")

RUNNING_WORKER = pytest.mark.usefixtures("running_worker")
SCRIPT = "svc-edge"
RIGHTS = ["Workers Scripts Write", "Workers Routes Write", "D1 Write", "Account API Tokens Write"]


def as_is(_name: str, value: str) -> str:
    return value


class CustomerApi:
    """The customer's own access to Cloudflare, for changes outside the service."""

    def __init__(self, service):
        self.service = service
        self.account = f"/accounts/{service.customer.account_id}"
        self.script = f"{self.account}/workers/scripts/{SCRIPT}"
        self._token = ""

    async def call(self, method, path, **more):
        if not self._token:
            _, self._token = await self.service.emulator.create_token(self.service.customer.account_id, rights=RIGHTS)
        return (await self.service.as_platform(method, path, self._token, **more)).json()["result"]

    async def sql(self, text):
        path = f"{self.account}/d1/database/{(await self.service.account()).database_id}/query"
        return (await self.call("POST", path, json={"sql": text}))[0]["results"]

    async def routes(self):
        """Return the API path of the zone's routes, and the routes by pattern."""
        [zone_id] = self.service.customer.zones.values()
        path = f"/zones/{zone_id}/workers/routes"
        return path, {route["pattern"]: route for route in await self.call("GET", path)}

    async def edit_token(self, *, without=(), **changed):
        """Remove permissions from the working token, or change its `status` or `expires_on`."""
        token_id = (await self.service.account()).token_id
        token = (await self.service.held())["tokens"][token_id]
        gone = {group_named(name).id for name in without}
        policies = [
            {**policy, "permission_groups": [one for one in policy["permission_groups"] if one["id"] not in gone]}
            for policy in token["policies"]
        ]
        body = {"name": token["name"], "expires_on": iso(token["expires_at"]), "policies": policies, **changed}
        await self.call("PUT", f"{self.account}/tokens/{token_id}", json=body)

    async def expire_token(self):
        """Let the working token expire."""
        now = await self.service.emulator.clock(0)
        await self.edit_token(expires_on=iso(now + 60_000))
        await self.service.emulator.clock(120)

    async def delete_routes(self):
        path, found = await self.routes()
        for route in found.values():
            await self.call("DELETE", f"{path}/{route['id']}")


def retire(site_id, path, until):
    """Record an old path of the site. The Worker counts views at this path until `until` (epoch ms)."""
    yield sql(
        "insert into retiring_paths (site_id, path, route_id, until) values ($1, $2, null, $3)", site_id, path, until
    )


REPAIRED_AUTOMATICALLY = "Nothing to do: the service repairs it automatically."


async def check(service):
    response = await service.call("POST", f"/v1/accounts/{(await service.account()).id}/check")
    assert response.status == 200, response.raw
    for one in response.body["findings"]:  # each machine-readable fact must also be in the texts
        words = " ".join(one[name] for name in ("thing", "expected", "found"))
        assert all(fact.removesuffix(".") in words for fact in one["facts"].values()), one
        assert one["kind"] != "other" or one["found"].startswith(("cannot be checked", "is refused")), one
        assert (one["remedy_code"] is None) == (one["remedy"] in (None, REPAIRED_AUTOMATICALLY)), one
    return response.body["findings"]


def by_thing(findings):
    """Map the `thing` of each finding to what was found, whether it was repaired, and the remedy."""
    return {one["thing"]: (one["found"], one["mended"], one["remedy"]) for one in findings}


async def with_site_and_link(service, zone):
    """Create an account with a site, a link host and the link `code`. Return the site's route pattern."""
    account_id = await service.ready()
    await service.confirmed()
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    site = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})).body["site"]
    link = {"account_id": account_id, "code": "code", "url": "https://example.org/"}
    assert (await service.call("POST", "/v1/links", link)).status == 201

    async def settled():
        account = await service.account()
        [one] = (await service.call("GET", "/v1/sites")).body["sites"]
        synced = account.synced_version == account.config_version
        return (synced and one["state"] == "active" and account.link_host.state == "active") or None

    await eventually(settled)
    await service.idle()
    return f"{zone}{site['path']}*"


async def redirects(service, zone):
    """Return True if the link redirects in a new isolate (a running instance of the Worker) with empty caches."""
    await service.emulator.new_isolates()
    visit = await service.emulator.visit(f"go.{zone}", "/code")
    return visit.status == 302 and visit.headers["location"] == "https://example.org/"


@pytest.mark.rule("X6", "A20")
async def test_healthy_account_has_no_findings_and_many_sites_need_no_more_calls_than_one(service, zone):
    await with_site_and_link(service, zone)
    assert await check(service) == []
    account_id = (await service.account()).id
    for number in range(8):
        body = {"account_id": account_id, "host": f"s{number}.{zone}"}
        assert (await service.call("POST", "/v1/sites", body)).status == 202

    async def active():
        found = (await service.call("GET", "/v1/sites")).body["sites"]
        return all(one["state"] == "active" and one["config"] == "synced" for one in found) or None

    await eventually(active)
    await service.idle()
    await service.emulator.forget_requests()
    assert await check(service) == []
    asked = [call["path"] for call in await service.emulator.requests()]
    assert len([path for path in asked if path.endswith("/workers/routes")]) == 1
    assert len([path for path in asked if path.endswith("/dns_records")]) == 1
    assert len(asked) <= 13


@pytest.mark.rule("X6", "S3")
@RUNNING_WORKER
async def test_missing_resources_are_repaired_automatically(service, zone):
    pattern = await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    [site] = (await service.call("GET", "/v1/sites")).body["sites"]
    await service.store.run(retire(site["id"], "/old", service.clock() + 86_400_000))
    await customer_api.delete_routes()
    await customer_api.call("PUT", f"{customer_api.script}/schedules", json=[])
    await customer_api.call(
        "POST", f"{customer_api.script}/subdomain", json={"enabled": True, "previews_enabled": True}
    )
    await customer_api.sql("delete from config where key = 'link:code'")
    assert not await redirects(service, zone)
    found = await check(service)
    assert {one["mended"] for one in found} == {True}
    assert {one["remedy"] for one in found} == {None}
    assert set(by_thing(found)) == {
        f"the route {pattern}",
        f"the route {zone}/old*",
        f"the route go.{zone}/*",
        "the Worker's cron trigger",
        "the Worker's address on workers.dev",
        "the Worker's configuration",
    }
    assert set((await customer_api.routes())[1]) == {pattern, f"{zone}/old*", f"go.{zone}/*"}
    script = (await service.held())["scripts"][SCRIPT]
    assert [one["cron"] for one in script["schedules"]] == ["* * * * *"]
    assert (script["subdomain_enabled"], script["previews_enabled"]) == (False, False)
    assert await redirects(service, zone)
    notes = (await service.call("GET", f"/v1/notes?site_id={site['id']}")).body["notes"]
    today = day_text(day_of(service.clock()))
    restored = {"since": today, "until": today}
    assert {note["kind"]: note["facts"] for note in notes} == {
        "route_missing": restored,
        "link_host_route_missing": {"host": f"go.{zone}", **restored},
    }
    assert (await service.shown())["state"] == "ready"
    assert await check(service) == []


@pytest.mark.rule("X6", "S7")
@RUNNING_WORKER
async def test_emptied_or_restored_database_is_filled_again(service, zone):
    await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    assert await redirects(service, zone)
    path = f"/v1/accounts/{(await service.account()).id}"
    assert (await service.call("PATCH", path, {"days_kept": 14})).status == 200
    await service.idle()
    for left in ("nothing", "no configuration", "no meta", "an earlier state", "no days kept"):
        if left == "nothing":
            for row in await customer_api.sql(
                "select name from sqlite_master where type = 'table' and name not like '\\_%' escape '\\'"
            ):
                await customer_api.sql(f"drop table {row['name']}")
        elif left == "no configuration":
            await customer_api.sql("drop table config")
        elif left == "no meta":
            await customer_api.sql("delete from meta")
        elif left == "no days kept":
            await customer_api.sql("delete from config where key = 'days_kept'")
        else:
            await customer_api.sql(
                "delete from config where key = 'link:code'; update meta set value = 1 where key = 'config_version'"
            )
        [finding] = await check(service)
        assert finding["mended"], left
        assert ("lost" if left != "no days kept" else "deleted") in finding["found"], left
        assert ("lacks rows of the table meta," in finding["found"]) == (left == "no meta"), left
        [row] = await customer_api.sql("select body from config where key = 'days_kept'")
        assert row["body"] == '{"days":14}', left
        assert await redirects(service, zone), left
        assert await check(service) == [], left
        run = await service.emulator.cron(service.customer.account_id, SCRIPT)
        assert run["outcome"] == "ok", left


@pytest.mark.rule("X6", "A20")
async def test_refused_repair_is_shown_until_the_problem_is_gone(service, zone):
    await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    await customer_api.sql("update meta set value = 'x' || value where key = 'schema'")
    for _ in range(2):  # the second check must not clear the error
        [finding] = await check(service)
        assert not finding["mended"]
        assert "the repair was refused" in finding["found"]
        shown = await service.shown()
        assert (shown["state"], shown["error"]["code"]) == ("resource_drift", "resource_drift")
        assert finding["found"] in shown["error"]["message"]
    await customer_api.sql("update meta set value = substr(value, 2) where key = 'schema'")
    assert await check(service) == []
    assert (await service.shown())["state"] == "ready"


@pytest.mark.rule("X6", "A20")
async def test_version_that_the_service_never_wrote_is_reported_and_not_adopted(service, zone):
    await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    before = (await service.account()).config_version
    set_version = "update meta set value = {} where key = 'config_version'"
    for version in (10**18, 2**63 - 1, -5):
        await customer_api.sql(set_version.format(version))
        [finding] = await check(service)
        assert not finding["mended"], version
        assert "Time Travel" in finding["found"], version
        assert (await service.shown())["error"]["code"] == "resource_drift", version
        assert (await service.account()).config_version == before, version
        await customer_api.sql(set_version.format(before))
        assert await check(service) == [], version
        assert (await service.shown())["state"] == "ready", version


@pytest.mark.rule("X6", "A20")
@RUNNING_WORKER
async def test_remedy_for_a_corrupted_cron_state_works(service, zone):
    pattern = await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    await customer_api.sql("update meta set value = '{\"day\": \"x\"}' where key = 'state'")
    [finding] = await check(service)
    assert (finding["mended"], "delete the database" in finding["found"]) == (False, True)
    account = await service.account()
    await customer_api.call("DELETE", f"{customer_api.account}/d1/database/{account.database_id}")
    await service.call("POST", f"/v1/accounts/{account.id}/install")
    await service.settled("ready")
    assert await check(service) == []
    assert (await redirects(service, zone), pattern in (await customer_api.routes())[1]) == (True, True)


@pytest.mark.rule("X6", "A13")
async def test_resources_changed_outside_are_reported_and_not_touched(service, zone):
    pattern = await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    path, there = await customer_api.routes()
    await customer_api.call("PUT", f"{path}/{there[pattern]['id']}", json={"pattern": pattern})
    await customer_api.call("DELETE", f"{customer_api.script}/secrets/WORKER_KEY")
    await customer_api.call("PUT", f"{customer_api.script}/schedules", json=[])
    await service.emulator.set_limits(service.customer.account_id, crons=0)
    findings = await check(service)
    assert not any(one["mended"] for one in findings)
    found = by_thing(findings)
    assert set(found) == {f"the route {pattern}", f"the Worker {SCRIPT}", "the Worker's cron trigger"}
    assert "Remove the other Worker's route" in found[f"the route {pattern}"][2]
    assert "WORKER_KEY" in found[f"the Worker {SCRIPT}"][0]
    assert "Delete a cron trigger" in found["the Worker's cron trigger"][2]
    assert (await customer_api.routes())[1][pattern]["script"] is None
    [site] = (await service.call("GET", "/v1/sites")).body["sites"]
    assert (site["state"], site["error"]["code"]) == ("route_conflict", "route_conflict")
    [note] = (await service.call("GET", f"/v1/notes?site_id={site['id']}")).body["notes"]
    assert (note["kind"], note["facts"]) == ("route_missing", {"since": day_text(day_of(service.clock()))})
    shown = await service.shown()
    assert (shown["state"], shown["error"]["code"]) == ("resource_drift", "resource_drift")

    await customer_api.call("DELETE", f"{customer_api.account}/d1/database/{(await service.account()).database_id}")
    await customer_api.call("DELETE", f"{customer_api.script}?force=true")
    found = by_thing(await check(service))
    assert found[f"the Worker {SCRIPT}"][0] == "was deleted outside the service"
    assert found[f"the database {SCRIPT}"][0] == "was deleted outside the service"
    note = (await service.account()).error
    assert (
        sentence(note.finding, ENGLISH, as_is)
        == note.message
        == f"The Worker {SCRIPT} was deleted outside the service."
    )
    assert sentence(note.finding, GERMAN_FINDINGS, as_is) == "Der Worker wurde außerhalb des Dienstes gelöscht."
    assert (await service.shown())["error"].keys() == {"code", "message", "details"}
    assert "/install" in found[f"the database {SCRIPT}"][2]
    assert SCRIPT not in (await service.held())["scripts"]


@pytest.mark.rule("X6", "A20")
async def test_missing_permissions_are_named_and_an_invalid_token_is_the_only_finding(service, zone):
    await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    account = await service.account()
    token = (await service.held())["tokens"][account.token_id]
    path = f"{customer_api.account}/tokens/{token['id']}"
    await customer_api.edit_token(without=("Workers Routes Write", "Account Settings Read"))
    found = await check(service)
    assert {one["thing"] for one in found} == {"the working token"}
    assert {one["expected"] for one in found} == {
        "has the permission Workers Routes: Edit",
        "has the permission Account Settings: Read",
    }
    assert all("renew the token" in one["remedy"] for one in found)
    assert (await service.shown())["state"] == "permission_error"
    # A check that cannot check the missing permission does not clear the error.
    await customer_api.edit_token(policies=token["policies"])
    await customer_api.edit_token(without=("Account Settings Read",))
    await service.emulator.fault("html", customer_api.account, method="GET", times=None)
    [finding] = await check(service)
    assert finding["expected"] == "has the permission Account Settings: Read"
    assert (await service.shown())["state"] == "permission_error"
    await service.emulator.clear_faults()
    await customer_api.call("PUT", path, json={"name": token["name"], "policies": token["policies"]})
    assert await check(service) == []
    assert (await service.shown())["state"] == "ready"
    await customer_api.call("DELETE", path)
    [finding] = await check(service)
    assert (finding["thing"], finding["mended"]) == ("the working token", False)
    assert (await service.shown())["error"]["code"] == "token_refused"


@pytest.mark.rule("X6")
async def test_check_responds_in_every_state_and_with_503_if_cloudflare_is_down(place, zone):
    place.edge |= {"retries": 0, "connect_s": 3}
    async with place.running() as service:
        await service.emulator.fault("refuse", "*/workers/scripts/*", method="PUT", times=None, status=400, code=10021)
        await service.connect()
        await service.settled("connected")
        [finding] = await check(service)
        assert finding["thing"] == f"the Worker {SCRIPT}"
        assert "is not installed" in finding["found"]
        await service.emulator.clear_faults()
        await service.call("POST", f"/v1/accounts/{(await service.account()).id}/install")
        await service.settled("ready")
        await service.confirmed()
        await service.idle()
        for kind in ("drop_before", "html"):
            await service.emulator.fault(kind, "*", times=None)
            response = await service.call("POST", f"/v1/accounts/{(await service.account()).id}/check")
            assert (response.status, response.code) == (503, "cloudflare_unavailable")
            await service.emulator.clear_faults()
        # A part of the account that cannot be checked causes a finding, and the other parts are still checked.
        await CustomerApi(service).call("PUT", f"{CustomerApi(service).script}/schedules", json=[])
        await service.emulator.fault("html", "*/query", times=None)
        found = by_thing(await check(service))
        assert found["the Worker's cron trigger"][1]
        assert found[f"the database {SCRIPT}"][0].startswith("cannot be checked now")
        assert (await service.shown())["state"] == "ready"


@pytest.mark.rule("X6", "A20")
@RUNNING_WORKER
async def test_duty_repairs_automatically(place, zone):
    async with place.running() as service:
        pattern = await with_site_and_link(service, zone)
        customer_api = CustomerApi(service)
        await customer_api.delete_routes()
        await customer_api.call("PUT", f"{customer_api.script}/schedules", json=[])
        await customer_api.sql("drop table config")
    place.timing["health_every_s"] = 0.2
    async with place.running() as service:
        customer_api = CustomerApi(service)

        async def is_repaired():
            script = (await service.held())["scripts"][SCRIPT]
            routes = set((await customer_api.routes())[1])
            return (bool(script["schedules"]) and routes == {pattern, f"go.{zone}/*"}) or None

        await eventually(is_repaired)
        await eventually(lambda: config_is_filled(customer_api))
        assert await redirects(service, zone)


async def config_is_filled(customer_api):
    tables = await customer_api.sql("select name from sqlite_master where name = 'config'")
    return (tables and await customer_api.sql("select 1 from config where key = 'link:code'")) or None


@pytest.mark.rule("A20")
async def test_suspicious_refusal_triggers_one_immediate_check(place, zone):
    place.timing |= {"sync_retry_s": 0.05, "recheck_s": 5}
    async with place.running() as service:
        await with_site_and_link(service, zone)
        customer_api = CustomerApi(service)
        await customer_api.call("DELETE", f"{customer_api.account}/d1/database/{(await service.account()).database_id}")
        await service.emulator.forget_requests()
        link = {"account_id": (await service.account()).id, "url": "https://example.org/"}
        for _ in range(3):
            await service.call("POST", "/v1/links", link)

        async def shows_drift():
            shown = await service.shown()
            return shown if shown["state"] == "resource_drift" else None

        # The sync only gets a 404, but a 404 starts a check, so the change is reported long before the hourly check.
        shown = await eventually(shows_drift)
        assert "database" in shown["error"]["message"]
        verified = [call for call in await service.emulator.requests() if call["path"].endswith("/tokens/verify")]
        assert len(verified) == 1


@pytest.mark.rule("X6")
async def test_concurrent_checks_are_shared_and_a_repeated_request_is_replayed(service, zone):
    await with_site_and_link(service, zone)
    customer_api = CustomerApi(service)
    await customer_api.delete_routes()
    await service.emulator.forget_requests()
    responses = []

    async def ask():
        responses.append(await check(service))

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(ask)
    assert max(len(response) for response in responses) == 2
    verified = [call for call in await service.emulator.requests() if call["path"].endswith("/tokens/verify")]
    # the first check verifies the token twice, because it makes repairs; the other requests share the result of a
    # second check
    assert len(verified) <= 3

    path = f"/v1/accounts/{(await service.account()).id}/check"
    headers = {**service.session, "Idempotency-Key": "again"}
    await customer_api.delete_routes()
    first = await service.world.call("POST", path, None, headers=headers)
    assert len(json.loads(first.raw)["findings"]) == 2
    again = await service.world.call("POST", path, None, headers=headers)
    assert again.raw == first.raw


@pytest.mark.rule("X6")
async def test_request_does_not_wait_for_a_hanging_health_check(place, zone):
    place.edge["timeout_s"] = 60
    place.timing["recheck_s"] = 0.01
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        await service.emulator.fault("slow", "*/workers/scripts", method="GET", times=None, delay_s=60)
        account = await service.account()
        await service.store.run(account_health.suspect(account.id, service.clock()))
        service.supervisor.wake(account.edge_account_id)
        await service.emulator.faulted()
        with trio.fail_after(40):  # shorter than the 60 s for which the emulator delays the call
            response = await service.call("PUT", f"/v1/accounts/{account.id}/link-host", {"host": f"go.{zone}"})
        assert response.status == 202, response.raw
        await service.emulator.clear_faults()
