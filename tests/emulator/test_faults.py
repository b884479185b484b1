"""Tests of injected faults: in API calls, in the Workers' own fetches, and in database bindings."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import httpx
import pytest
import trio

from edge_worker.harness.service import eventually

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from tests.emulator.clients import Api


async def count(api: Api, database: str) -> int:
    rows = await api.query(database, "select count(*) as n from hit")
    return int(rows[0]["n"])


@pytest.mark.parametrize(("kind", "done"), [("drop_before", 0), ("drop_after", 1)])
async def test_dropped_call_is_executed_or_not(emulator: Emulator, api: Api, kind: str, done: int) -> None:
    database = await api.database()
    await emulator.fault(kind, "/accounts/*/query", method="POST")
    path, body = f"{api.account}/d1/database/{database}/query", {"sql": "insert into hit values ('x')"}
    with pytest.raises(httpx.RemoteProtocolError):
        await api.call("POST", path, json=body)
    assert await count(api, database) == done
    await api.result("POST", path, json=body)
    logged = [entry for entry in await emulator.requests() if entry["fault"]]
    assert [(entry["method"], entry["fault"]) for entry in logged] == [("POST", kind)]


@pytest.mark.parametrize(("kind", "done"), [("refuse", 0), ("fail_after", 1)])
async def test_call_with_a_5xx_response_is_executed_or_not(emulator: Emulator, api: Api, kind: str, done: int) -> None:
    database = await api.database()
    await emulator.fault(kind, "/accounts/*/query", method="POST", status=503, code=10001)
    path, body = f"{api.account}/d1/database/{database}/query", {"sql": "insert into hit values ('x')"}
    response = await api.call("POST", path, json=body)
    assert (response.status_code, response.json()["errors"][0]["code"]) == (503, 10001)
    assert await count(api, database) == done


async def test_call_is_completed_after_its_client_disconnects(emulator: Emulator, api: Api) -> None:
    await emulator.fault("slow", "*/d1/database", method="POST", delay_s=0.2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(api.call, "POST", f"{api.account}/d1/database", json={"name": "late"}))
        await emulator.faulted()
        nursery.cancel_scope.cancel()

    async def made() -> list[dict[str, str]] | None:
        listed: list[dict[str, str]] = await api.result("GET", f"{api.account}/d1/database")
        return listed or None

    [database] = await eventually(made)
    assert await api.query(database["uuid"], "select 1 as n") == [{"n": 1}]


async def test_held_call_is_executed_once_the_faults_are_cleared(emulator: Emulator, api: Api) -> None:
    await emulator.fault("hold", "*/d1/database", method="POST", times=None)
    path = f"{api.account}/d1/database"
    async with trio.open_nursery() as nursery:
        for name in ("one", "two"):
            nursery.start_soon(partial(api.call, "POST", path, json={"name": name}))
        await emulator.faulted(2)
        assert await api.result("GET", path) == []
        await emulator.clear_faults()
    assert sorted(database["name"] for database in await api.result("GET", path)) == ["one", "two"]
    assert [call["fault"] for call in await emulator.requests() if call["method"] == "POST"] == ["hold", "hold"]


async def test_log_has_the_token_of_a_call_in_progress(emulator: Emulator, customer: Customer, api: Api) -> None:
    token_id, value = await emulator.create_token(customer.account_id, rights=["D1 Read"])
    await emulator.fault("slow", "*/d1/database", method="GET", delay_s=30)
    async with trio.open_nursery() as nursery:
        headers = {"Authorization": f"Bearer {value}"}
        nursery.start_soon(partial(api.client.get, f"{api.account}/d1/database", headers=headers))
        await emulator.faulted()
        calls = await emulator.requests()
        assert [(call["status"], call["token_id"]) for call in calls] == [(None, token_id)]
        assert value not in str(calls)
        nursery.cancel_scope.cancel()


async def test_fault_responds_as_configured(emulator: Emulator, api: Api) -> None:
    await emulator.fault("refuse", "/accounts/*", method="GET", status=500, code=10013, message="internal")
    response = await api.call("GET", api.account)
    assert (response.status_code, response.json()["errors"]) == (500, [{"code": 10013, "message": "internal"}])
    await emulator.fault("throttle", delay_s=7)
    response = await api.call("GET", api.account)
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    await emulator.fault("html", status=504)
    response = await api.call("GET", api.account)
    assert (response.status_code, response.headers["content-type"]) == (504, "text/html; charset=UTF-8")
    await emulator.fault("slow", delay_s=0.3)
    started = time.monotonic()
    await api.result("GET", api.account)
    assert time.monotonic() - started >= 0.3


async def test_fault_matches_method_path_and_times(emulator: Emulator, api: Api) -> None:
    await emulator.fault("refuse", "/zones*", times=2)
    await emulator.fault("refuse", "*", method="DELETE", times=None)
    statuses = [(await api.call("GET", path)).status_code for path in (api.account, "/zones", "/zones", "/zones")]
    assert statuses == [200, 403, 403, 200]
    refused = [(await api.call("DELETE", f"{api.account}/d1/database/{'x' * 5}")).status_code for _ in range(3)]
    assert refused == [403, 403, 403]
    await emulator.clear_faults()
    assert (await api.call("DELETE", f"{api.account}/d1/database/xxxxx")).status_code == 404


async def test_fault_applies_after_the_given_number_of_calls(emulator: Emulator, api: Api) -> None:
    await emulator.fault("refuse", "/zones*", after=2)
    statuses = [
        (await api.call("GET", path)).status_code for path in ("/zones", api.account, "/zones", "/zones", "/zones")
    ]
    assert statuses == [200, 200, 200, 403, 200]


async def test_unknown_fault_is_rejected(emulator: Emulator) -> None:
    with pytest.raises(httpx.HTTPStatusError):
        await emulator.fault("explode")


async def test_workers_fetch_is_lost_before_or_after_execution(emulator: Emulator, api: Api) -> None:
    await api.probe()
    target = f"{emulator.control}/settled-not-a-path"
    visit = f"/fetch?url={target}"
    responses = []
    for kind in ("egress_drop_before", "egress_drop_after", "egress_status"):
        await emulator.fault(kind, target, status=503)
        responses.append((await emulator.visit("shop.example", visit)).body)
    assert responses[:2] == ["lost: Network connection lost."] * 2
    assert responses[2] == "503 "
    assert (await emulator.visit("shop.example", visit)).body.startswith("404 ")
    sent = await emulator.egress()
    assert [call["fault"] for call in sent] == ["egress_drop_before", "egress_drop_after", "egress_status", None]
    assert {(call["script"], call["method"], call["target"]) for call in sent} == {("probe", "POST", target)}


@pytest.mark.parametrize(("kind", "done"), [("d1_drop_before", 0), ("d1_drop_after", 1)])
async def test_database_call_is_lost_before_or_after_execution(
    emulator: Emulator, api: Api, kind: str, done: int
) -> None:
    database = await api.probe()
    await emulator.fault(kind, database)
    assert (await emulator.visit("shop.example", "/insert")).body == "D1_ERROR: Network connection lost."
    assert await count(api, database) == done
    assert (await emulator.visit("shop.example", "/insert")).body == "ok"


@pytest.mark.parametrize(("kind", "done"), [("d1_end_before", 0), ("d1_end_after", 1)])
async def test_invocation_is_ended_at_a_statement(emulator: Emulator, api: Api, kind: str, done: int) -> None:
    database = await api.probe()
    await emulator.fault(kind, database)
    assert (await emulator.visit("shop.example", "/insert")).status == 500
    await emulator.settled()
    assert await count(api, database) == done
    assert (await emulator.visit("shop.example", "/insert")).body == "ok"


async def test_some_responses_are_slow(emulator: Emulator, api: Api) -> None:
    await emulator.set_failure_settings(slow_one_in=1, slow_ms=200)
    started = time.monotonic()
    await api.result("GET", api.account)
    assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize(
    "attack",
    [
        "a' union  ALL select b",
        "' or 1=1 --",
        "../../etc/passwd",
        "<script>",
        "%3Cscript%3E",
        "union\nselect",
        'or "a"="a"',
    ],
)
async def test_body_that_resembles_an_attack_never_reaches_the_api(emulator: Emulator, api: Api, attack: str) -> None:
    database = await api.database()
    path = f"{api.account}/d1/database/{database}/query"
    body = {"sql": "insert into hit values (?)", "params": [attack]}
    refused = await api.call("POST", path, json=body)
    assert refused.status_code == 403
    assert refused.headers["content-type"].startswith("text/html")
    assert refused.headers["cf-ray"].partition("-")[0] in refused.text
    assert await api.query(database, "select * from hit") == []
    await api.query(database, "insert into hit values (cast(unhex(?) as text))", attack.encode().hex())
    assert await api.query(database, "select what from hit") == [{"what": attack}]
    await emulator.set_failure_settings(firewall=False)
    assert (await api.call("POST", path, json=body)).status_code == 200


async def test_firewall_pattern_can_be_added(emulator: Emulator, api: Api) -> None:
    await emulator.set_failure_settings(firewall_also="harml[e]ss")
    assert (await api.call("POST", f"{api.account}/d1/database", json={"name": "harmless"})).status_code == 403
    await emulator.set_failure_settings(firewall_also="")
    assert (await api.call("POST", f"{api.account}/d1/database", json={"name": "harmless"})).status_code == 200
