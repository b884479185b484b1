"""Tests of the edge: routing to scripts, the requests that scripts receive, and work after the response."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from edge_worker.local_http import local_client
from tests.emulator.clients import PROBE, WORKING_PERMISSIONS, Api

if TYPE_CHECKING:
    from edge_worker.emulator.client import Emulator

NAMED = [{"type": "plain_text", "name": "NAME", "text": "{}"}]


async def named_scripts(api: Api, *names: str) -> None:
    for name in names:
        await api.upload(name, bindings=[{"type": "plain_text", "name": "NAME", "text": name}])


async def test_most_specific_pattern_wins(emulator: Emulator, api: Api) -> None:
    await named_scripts(api, "all", "below", "host", "path")
    await api.route("shop.example", "*shop.example/*", "all")
    await api.route("shop.example", "*.shop.example/*", "below")
    await api.route("shop.example", "go.shop.example/*", "host")
    await api.route("shop.example", "go.shop.example/go*", "path")
    targets = [
        ("shop.example", "/a"),
        ("www.shop.example", "/a"),
        ("go.shop.example", "/a"),
        ("go.shop.example", "/go/1?q"),
    ]
    seen = {host + path: (await emulator.visit(host, path)).body for host, path in targets}
    assert seen == {
        "shop.example/a": "probe all /a",
        "www.shop.example/a": "probe below /a",
        "go.shop.example/a": "probe host /a",
        "go.shop.example/go/1?q": "probe path /go/1?q",
    }


async def test_route_without_script_bypasses_workers(emulator: Emulator, api: Api) -> None:
    await named_scripts(api, "all")
    await api.route("shop.example", "shop.example/*", "all")
    await api.route("shop.example", "shop.example/plain/*", None)
    await emulator.add_page("shop.example", "/plain/page", "from the shop", content_type="text/plain")
    assert (await emulator.visit("shop.example", "/other")).body == "probe all /other"
    page = await emulator.visit("shop.example", "/plain/page")
    assert (page.status, page.body, page.headers["content-type"]) == (200, "from the shop", "text/plain")


async def test_pattern_without_star_matches_no_query_and_paths_are_case_sensitive(emulator: Emulator, api: Api) -> None:
    await named_scripts(api, "exact")
    await api.route("shop.example", "shop.example/Go", "exact")
    bodies = [(await emulator.visit("SHOP.example", path)).body for path in ("/Go", "/Go?x=1", "/go", "/Go/")]
    assert bodies[0] == "probe exact /Go"
    assert all("origin of shop.example" in body for body in bodies[1:])


async def test_only_a_proxied_host_reaches_a_script(emulator: Emulator, api: Api) -> None:
    await named_scripts(api, "all")
    await api.route("shop.example", "*shop.example/*", "all")
    cases: tuple[tuple[list[dict[str, Any]], str, bool], ...] = (
        ([{"name": "*", "proxied": True}], "a.shop.example", True),
        ([{"name": "*", "proxied": True}, {"name": "a"}], "a.shop.example", False),
        ([{"name": "*", "proxied": True}, {"name": "*.b"}], "a.shop.example", True),
        ([{"name": "a", "proxied": True}], "b.shop.example", False),
        ([{"name": "a", "type": "TXT"}], "a.shop.example", False),
        ([{"name": "@"}], "shop.example", False),
    )
    for dns, host, reached in cases:
        await emulator.set_zone(api.customer.account_id, "shop.example", dns=dns)
        assert ((await emulator.visit(host, "/")).body == "probe all /") is reached, (dns, host)


async def test_inactive_zone_runs_no_script(emulator: Emulator, api: Api) -> None:
    await named_scripts(api, "all")
    await api.route("shop.example", "shop.example/*", "all")
    inactive: tuple[dict[str, Any], ...] = ({"status": "pending"}, {"paused": True})
    for change in inactive:
        assert (await emulator.visit("shop.example", "/")).body == "probe all /"
        await emulator.set_zone(api.customer.account_id, "shop.example", **change)
        assert "origin" in (await emulator.visit("shop.example", "/")).body, change
        await emulator.set_zone(api.customer.account_id, "shop.example", status="active", paused=False)


async def test_inactive_zone_rejects_new_and_changed_routes(emulator: Emulator, api: Api) -> None:
    await named_scripts(api, "all")
    await api.route("shop.example", "shop.example/old", "all")
    path = f"/zones/{api.customer.zones['shop.example']}/workers/routes"
    body = {"pattern": "shop.example/new", "script": "all"}
    for change in ({"status": "initializing"}, {"status": "pending"}, {"status": "moved"}, {"paused": True}):
        await emulator.set_zone(api.customer.account_id, "shop.example", **change)
        [old] = await api.result("GET", path)
        for refused in (("POST", path), ("PUT", f"{path}/{old['id']}")):
            assert await api.refusal(*refused, json=body) == (400, 10022), change
    await emulator.set_failure_settings(inactive_zone="forbids")
    assert await api.refusal("POST", path, json=body) == (403, 10000)
    await emulator.set_failure_settings(inactive_zone="accepts")
    assert (await api.result("POST", path, json=body))["pattern"] == body["pattern"]


async def test_script_sees_location_and_address_but_no_trace_of_the_emulator(emulator: Emulator, api: Api) -> None:
    await api.probe()
    seen = json.loads((await emulator.visit("shop.example", "/seen", cf={"country": "DE"}, ip="2001:db8::7")).body)
    assert seen["cf"] == {"country": "DE"}
    assert seen["headers"]["cf-connecting-ip"] == "2001:db8::7"
    assert seen["headers"]["cf-ipcountry"] == "DE"
    assert not [name for name in seen["headers"] if "emulator" in name]
    async with local_client() as visitor:
        headers = {"Host": "shop.example", "X-Emulator-Cf": "null", "CF-Connecting-IP": "6.6.6.6"}
        plain = (await visitor.get(emulator.edge + "/seen", headers=headers)).json()
    assert plain["cf"] == {}
    assert plain["headers"]["cf-connecting-ip"] == "127.0.0.1"  # the value that the visitor sent is overwritten


async def test_settled_waits_for_the_work_after_the_response(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    assert (await emulator.visit("shop.example", "/write?a")).body == "written later"
    await emulator.settled()
    assert await api.query(database, "select what from hit") == [{"what": "?a"}]


async def test_exception_is_error_1101_and_counted(emulator: Emulator, api: Api) -> None:
    await api.probe()
    response = await emulator.visit("shop.example", "/throw")
    assert response.status == 500
    assert "1101" in response.body
    state = await emulator.state()
    usage = state["accounts"][api.customer.account_id]["usage"][str(state["today"])]
    assert usage["scripts"]["probe"] == {"requests": 1, "errors": 1, "subrequests": 0}

    async def printed() -> bool | None:  # the output and the response come from different processes
        return any("on purpose" in line for line in (await emulator.state())["logs"]) or None

    await eventually(printed)


async def test_fetch_to_its_own_zone_goes_to_the_origin(emulator: Emulator, api: Api) -> None:
    await api.probe()
    await emulator.add_page("www.shop.example", "/page", "the shop")
    assert (await emulator.visit("shop.example", "/fetch?url=http://www.shop.example/page")).body == "200 the shop"


async def test_worker_cannot_reach_private_addresses_and_names(strict_emulator: Emulator) -> None:
    customer = await strict_emulator.create_account([proxied_zone("shop.example")], subdomain="shop-example")
    _, value = await strict_emulator.create_token(customer.account_id, rights=WORKING_PERMISSIONS)
    async with local_client(base_url=strict_emulator.api, timeout=30) as client:
        await Api(client, customer, value).probe()
    for target, response in (
        ("http://127.0.0.1:9/edge/push", "403"),
        ("http://[::1]:9/edge/push", "403"),
        ("http://192.168.1.7/edge/push", "403"),
        ("http://localhost:9/edge/push", "530"),
        ("http://svc.lan/edge/push", "530"),
    ):
        seen = await strict_emulator.visit("shop.example", f"/fetch?url={target}")
        assert seen.body.split(" ", 1)[0] == response, target
    assert await strict_emulator.egress() == []


async def test_records_of_a_zone_are_not_proxied_by_default(emulator: Emulator, api: Api) -> None:
    await emulator.set_zone(api.customer.account_id, "grey.example")
    zone = (await emulator.state())["accounts"][api.customer.account_id]["zones"].values()
    assert {record["proxied"] for one in zone if one["name"] == "grey.example" for record in one["dns"]} == {False}


async def test_there_is_no_server_behind_a_dummy_record(emulator: Emulator, api: Api) -> None:
    assert (await emulator.visit("go.shop.example", "/")).status == 522
    await named_scripts(api, "links")
    await api.route("shop.example", "go.shop.example/*", "links")
    assert (await emulator.visit("go.shop.example", "/x")).body == "probe links /x"


async def test_certificate_of_a_full_zone_covers_one_label_below_it(emulator: Emulator, api: Api) -> None:
    with pytest.raises(httpx.HTTPStatusError, match="no certificate"):
        await emulator.visit("go.eu.shop.example", "/")
    await emulator.set_zone(api.customer.account_id, "shop.example", type="partial")
    assert (await emulator.visit("go.eu.shop.example", "/")).status == 522


async def test_platform_can_ignore_request_limit_fail_open(emulator: Emulator, api: Api) -> None:
    await api.upload("probe", PROBE)
    path = f"/zones/{api.customer.zones['shop.example']}/workers/routes"
    await api.route("shop.example", "shop.example/a*", "probe", request_limit_fail_open=True)
    assert [route["request_limit_fail_open"] for route in await api.result("GET", path)] == [True]
    await emulator.set_failure_settings(ignores_fail_open=True)
    await api.route("shop.example", "shop.example/b*", "probe", request_limit_fail_open=True)
    assert ["request_limit_fail_open" in route for route in await api.result("GET", path)] == [False, False]


async def test_uploads_interrupt_no_running_work(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    binding = [{"type": "d1", "name": "DB", "id": database}]
    sent = 0

    async def visit_until(done: trio.Event) -> None:
        nonlocal sent
        while not done.is_set():
            response = await emulator.visit("shop.example", f"/write?{sent}")
            assert response.status == 200
            sent += 1

    async with trio.open_nursery() as nursery:
        done = trio.Event()
        nursery.start_soon(visit_until, done)
        for _ in range(5):
            await api.upload("probe", bindings=binding)
        done.set()
    await emulator.settled()
    [row] = await api.query(database, "select count(distinct what) as n from hit")
    assert row["n"] == sent > 0
    state = await emulator.state()
    usage = state["accounts"][api.customer.account_id]["usage"][str(state["today"])]
    assert usage["requests"] == sent  # the usage contains each request once, regardless of the process that served it
