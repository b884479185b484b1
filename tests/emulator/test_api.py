"""Tests of the API: pages, order, error codes, settings that an upload keeps, SQL statements, and analytics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.emulator.api.analytics import day_text
from edge_worker.emulator.api.databases import split
from tests.emulator.clients import PROBE

if TYPE_CHECKING:
    from edge_worker.emulator.client import Emulator
    from tests.emulator.clients import Api


async def test_pages_are_small_and_show_each_item_once(emulator: Emulator, api: Api) -> None:
    names = {f"zone-{number}.example" for number in range(12)}
    for name in names:
        await emulator.set_zone(api.customer.account_id, name)
    pages: list[list[str]] = []
    while not pages or pages[-1]:
        response = (await api.call("GET", "/zones", params={"page": len(pages) + 1})).json()
        assert response["result_info"]["total_count"] == 13
        pages.append([zone["name"] for zone in response["result"]])
    assert [len(page) for page in pages] == [5, 5, 3, 0]
    assert {name for page in pages for name in page} == names | {"shop.example"}
    assert sorted(name for page in pages for name in page) != [name for page in pages for name in page]


async def test_zones_and_records_are_filtered(emulator: Emulator, api: Api) -> None:
    dns = [{"name": "@", "proxied": True}, {"name": "www", "type": "CNAME", "proxied": True}, {"name": "*"}]
    zone = await emulator.set_zone(api.customer.account_id, "pending.example", status="pending", dns=dns)
    found = await api.result("GET", "/zones", params={"name": "pending.example", "status": "pending"})
    assert [(z["id"], z["status"], z["paused"]) for z in found] == [(zone, "pending", False)]
    assert await api.result("GET", "/zones", params={"name": "example"}) == []
    assert len(await api.result("GET", "/zones", params={"name": "contains:example"})) == 2
    assert await api.result("GET", "/zones", params={"account.id": "0" * 32}) == []
    path = f"/zones/{zone}/dns_records"

    async def names(**params: str) -> set[str]:
        return {
            r["name"] for r in await api.result("GET", path, params={k.replace("_", "."): v for k, v in params.items()})
        }

    assert await names() == {"pending.example", "www.pending.example", "*.pending.example"}
    assert await names(name="www.pending.example") == {"www.pending.example"}
    assert await names(name_exact="*.pending.example") == {"*.pending.example"}
    assert await names(proxied="true") == {"pending.example", "www.pending.example"}
    assert await names(type="CNAME") == {"www.pending.example"}


async def test_invalid_route_is_rejected(api: Api) -> None:
    await api.upload("probe", PROBE)
    await api.route("shop.example", "shop.example/go*", "probe")
    path = f"/zones/{api.customer.zones['shop.example']}/workers/routes"
    for pattern, script, refusal in (
        ("shop.example/go*", "probe", (409, 10020)),
        ("SHOP.example/go*", "probe", (409, 10020)),
        ("https://shop.example/go*", "probe", (409, 10020)),
        ("shop.example/x*", "missing", (400, 10019)),
        ("other.example/*", "probe", (400, 10022)),
        ("shop.example/*/x", "probe", (400, 10022)),
        ("shop.example/x?q=1", "probe", (400, 10022)),
        ("sh*p.example/x", "probe", (400, 10022)),
    ):
        assert await api.refusal("POST", path, json={"pattern": pattern, "script": script}) == refusal, pattern
        assert len(await api.result("GET", path)) == 1, pattern


async def test_route_is_read_changed_and_deleted(api: Api) -> None:
    await api.upload("probe", PROBE)
    route = await api.route("shop.example", "shop.example/a*", "probe", request_limit_fail_open=True)
    path = f"/zones/{api.customer.zones['shop.example']}/workers/routes"
    expected = {"id": route, "pattern": "shop.example/a*", "script": "probe", "request_limit_fail_open": True}
    assert await api.result("GET", f"{path}/{route}") == expected
    changed = await api.result("PUT", f"{path}/{route}", json={"pattern": "shop.example/b*", "script": "probe"})
    assert (changed["pattern"], changed["request_limit_fail_open"]) == ("shop.example/b*", False)
    await api.result("DELETE", f"{path}/{route}")
    assert await api.refusal("GET", f"{path}/{route}") == (404, 10009)


async def test_replacing_all_routes_requires_the_permission_on_all_zones(emulator: Emulator, api: Api) -> None:
    await api.upload("probe", PROBE)
    await api.route("shop.example", "shop.example/old*", "probe")
    path = f"{api.account}/workers/scripts/probe/routes"
    items = [{"pattern": "shop.example/new*", "zone_name": "shop.example"}]
    narrow_rights = ["Workers Scripts Write", "Workers Routes Write"]
    _, value = await emulator.create_token(api.customer.account_id, rights=narrow_rights, zones=["shop.example"])
    narrow = type(api)(api.client, api.customer, value)
    assert await narrow.refusal("PUT", path, json=items) == (403, 10000)
    await api.result("PUT", path, json=items)
    listed = await api.result("GET", f"/zones/{api.customer.zones['shop.example']}/workers/routes")
    assert [route["pattern"] for route in listed] == ["shop.example/new*"]


async def settings_of(api: Api, name: str) -> dict[str, Any]:
    settings: dict[str, Any] = await api.result("GET", f"{api.account}/workers/scripts/{name}/settings")
    return settings


async def test_upload_keeps_secrets_and_drops_variables(emulator: Emulator, api: Api) -> None:
    database = await api.database()
    bindings = [
        {"type": "d1", "name": "DB", "id": database},
        {"type": "secret_text", "name": "KEY", "text": "s"},
        {"type": "plain_text", "name": "NAME", "text": "n"},
    ]
    first = await api.upload("probe", bindings=bindings, tags=["owner:svc"])
    await api.upload("probe", PROBE)
    assert [binding["name"] for binding in (await settings_of(api, "probe"))["bindings"]] == ["KEY"]
    await api.upload("probe", bindings=bindings)
    second = await api.upload("probe", bindings=[{"type": "inherit", "name": "DB"}], keep_bindings=["plain_text"])
    kept = {binding["name"]: binding for binding in (await settings_of(api, "probe"))["bindings"]}
    assert set(kept) == {"DB", "KEY", "NAME"}
    assert kept["DB"]["database_id"] == database
    assert second["etag"] == first["etag"]  # the etag depends only on the code
    assert second["tag"] == first["tag"]
    assert (await settings_of(api, "probe"))["tags"] == ["owner:svc"]
    path = f"{api.account}/workers/scripts/probe"
    deployments = (await api.result("GET", f"{path}/deployments"))["deployments"]
    assert len(deployments) == 4
    newest = deployments[0]["versions"][0]["version_id"]
    assert (await api.result("GET", f"{path}/versions/{newest}"))["resources"]["script"]["etag"] == first["etag"]
    await api.result("PUT", f"{path}/secrets", json={"name": "KEY", "text": "t", "type": "secret_text"})
    assert len((await api.result("GET", f"{path}/deployments"))["deployments"]) == 5


async def test_script_that_cannot_run_changes_nothing(emulator: Emulator, api: Api) -> None:
    await api.probe()
    path = f"{api.account}/workers/scripts/probe"
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("export default { fetch( {", {}, "SyntaxError"),
        ("throw new Error('at start')", {}, "at start"),
        (PROBE, {"main_module": "missing.js"}, "No such module"),
        (PROBE, {"bindings": [{"type": "d1", "name": "DB", "id": "none"}]}, "must have a valid `id` specified"),
        (PROBE, {"compatibility_date": "2099-01-01"}, "2099"),
    )
    for code, metadata, text in cases:
        response = await api.call("PUT", path, files=api.form(code, **metadata))
        assert response.status_code == 400, text
        [error] = response.json()["errors"]
        assert error["code"] == 10021
        assert text in error["message"]
        assert len((await api.result("GET", f"{path}/deployments"))["deployments"]) == 1, text
        assert (await emulator.visit("shop.example", "/insert")).body == "ok", text


async def test_routes_remain_after_their_script_is_deleted(emulator: Emulator, api: Api) -> None:
    await api.probe()
    await api.result("DELETE", f"{api.account}/workers/scripts/probe")
    assert await api.refusal("GET", f"{api.account}/workers/scripts/probe/settings") == (404, 10007)
    assert await api.refusal("GET", f"{api.account}/workers/services/probe") == (404, 10090)
    assert "origin" in (await emulator.visit("shop.example", "/")).body
    assert len(await api.result("GET", f"/zones/{api.customer.zones['shop.example']}/workers/routes")) == 1
    assert len(await api.result("GET", f"{api.account}/d1/database")) == 1


async def test_deleted_database_is_gone_for_the_binding(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    path = f"{api.account}/d1/database/{database}"
    assert await api.result("DELETE", path) is None
    assert await api.refusal("GET", path) == (404, 7404)
    assert await api.refusal("POST", f"{path}/query", json={"sql": "select 1"}) == (404, 7404)
    assert await api.refusal("GET", f"{api.account}/d1/database/no such") == (404, 7003)
    assert (await emulator.visit("shop.example", "/insert")).body == "D1_ERROR: database not found"


async def test_statements_run_in_order_and_report_their_cost(api: Api) -> None:
    database = await api.database()
    path = f"{api.account}/d1/database/{database}"
    batch = [{"sql": "insert into hit values (?)", "params": ["a;b"]}, {"sql": "select what from hit"}]
    insert, select = await api.result("POST", f"{path}/query", json={"batch": batch})
    assert (insert["meta"]["rows_written"], insert["meta"]["changes"], insert["meta"]["changed_db"]) == (1, 1, True)
    assert (select["results"], select["meta"]["rows_read"]) == ([{"what": "a;b"}], 1)
    assert select["meta"]["size_after"] > 0
    [raw] = await api.result("POST", f"{path}/raw", json={"sql": "select what, 1 as one from hit"})
    assert raw["results"] == {"columns": ["what", "one"], "rows": [["a;b", 1]]}
    joined = "insert into hit values ('x;'); -- a comment; with a semicolon\nselect count(*) as n from hit;"
    assert [r["results"] for r in await api.result("POST", f"{path}/query", json={"sql": joined})] == [[], [{"n": 2}]]
    wrong = {"sql": "select 1; select ?", "params": [1]}
    assert await api.refusal("POST", f"{path}/query", json=wrong) == (400, 7500)
    assert await api.refusal("POST", f"{path}/query", json={"sql": "  ;  "}) == (400, 7500)


@pytest.mark.parametrize(
    ("sql", "statements"),
    [
        ("select 1", ["select 1"]),
        ("select ';'; select 2;", ["select ';';", "select 2;"]),
        ("select 1; -- end", ["select 1;"]),
        ("/* ; */ select 1;;", ["/* ; */ select 1;"]),
        (
            "create trigger t after insert on a begin select 1; select 2; end; select 3",
            ["create trigger t after insert on a begin select 1; select 2; end;", "select 3"],
        ),
    ],
)
def test_sql_is_split_at_the_end_of_statements(sql: str, statements: list[str]) -> None:
    assert split(sql) == statements


USAGE = """query Usage($a: String!, $d0: Date!, $d1: Date!) { viewer { accounts(filter: {accountTag: $a}) {
  w: workersInvocationsAdaptive(limit: 1000, filter: {date_geq: $d0, date_leq: $d1}) {
    sum { requests errors subrequests } dimensions { date scriptName } }
  total: workersInvocationsAdaptive(limit: 1000, filter: {date_geq: $d0, date_leq: $d1}) { sum { requests } }
  q: d1AnalyticsAdaptiveGroups(limit: 10000, filter: {date_geq: $d0, date_leq: $d1}) {
    sum { rowsRead rowsWritten readQueries writeQueries } dimensions { date databaseId } }
  s: d1StorageAdaptiveGroups(limit: 10000, filter: {date_geq: $d0, date_leq: $d1}, orderBy: [date_DESC]) {
    max { databaseSizeBytes } dimensions { date databaseId } } } } }"""


async def test_analytics_return_counted_or_set_usage(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    await emulator.visit("shop.example", "/insert")
    today = (await emulator.state())["today"]
    two_ago, one_ago, now = (day_text(today - ago) for ago in (2, 1, 0))
    account_id = api.customer.account_id
    await emulator.set_usage(account_id, two_ago, requests=7, rows_written=8, rows_read=9, size=10)
    await emulator.set_usage(account_id, one_ago, requests=1, size=11)

    async def ask(first: str, last: str, query: str = USAGE) -> dict[str, Any]:
        variables = {"a": api.customer.account_id, "d0": first, "d1": last}
        body = {"query": query, "variables": variables}
        response = await api.call("POST", "/graphql", json=body)
        assert response.status_code == 200
        found: dict[str, Any] = response.json()
        return found

    before = (await ask(two_ago, one_ago))["data"]["viewer"]["accounts"][0]
    assert before["total"] == [{"sum": {"requests": 8}}]
    assert before["q"][0]["sum"] == {"rowsRead": 9, "rowsWritten": 8, "readQueries": 0, "writeQueries": 0}
    assert [row["max"]["databaseSizeBytes"] for row in before["s"]] == [11, 10]
    present = (await ask(now, now))["data"]["viewer"]["accounts"][0]
    assert [(row["dimensions"]["scriptName"], row["sum"]["requests"]) for row in present["w"]] == [("probe", 1)]
    assert present["q"][0]["dimensions"]["databaseId"] == database
    assert present["s"][0]["max"]["databaseSizeBytes"] > 0

    async def refusal(first: str, last: str, query: str = USAGE) -> tuple[str, str]:
        response = await ask(first, last, query)
        assert response["data"] is None
        return response["errors"][0]["message"], response["errors"][0]["extensions"]["code"]

    message, code = await refusal(two_ago, one_ago, USAGE.replace("rowsRead", "rowsSeen"))
    assert ("rowsSeen" in message, code) == (True, "parser")
    message, code = await refusal(day_text(today - 33), now)
    assert ("cannot request a time range wider than 4w4d" in message, code) == (True, "quota")
    message, code = await refusal(day_text(today - 32), one_ago, USAGE.replace("limit: 1000", "limit: 100"))
    assert ("cannot request data older than 4w3d" in message, code) == (True, "quota")
    assert (await refusal("yesterday", now))[1] == "validation"
    assert (await refusal(one_ago, now, USAGE.replace("limit: 1000,", "limit: 10001,")))[0].startswith("limit must be")
    _, value = await emulator.create_token(account_id, rights=["D1 Read"])
    blind = type(api)(api.client, api.customer, value)
    variables = {"a": account_id, "d0": two_ago, "d1": one_ago}
    refused = (await blind.call("POST", "/graphql", json={"query": USAGE, "variables": variables})).json()
    assert refused["errors"][0]["message"] == "not authorized for that account"
    assert refused["errors"][0]["extensions"]["code"] == "authz"


SAMPLED = """query Sampled($a: String!, $d: Date!) { viewer { accounts(filter: {accountTag: $a}) {
  w: workersInvocationsAdaptive(limit: 10, filter: {date_geq: $d, date_leq: $d}) { avg { sampleInterval }
    sum { requests } confidence(level: 0.95) { sum { requests { estimate lower upper sampleSize } } } }
  p: pagesFunctionsInvocationsAdaptiveGroups(limit: 10, filter: {date: $d}) { sum { requests } } } } }"""


async def test_analytics_return_confidence_intervals(emulator: Emulator, api: Api) -> None:
    account_id = api.customer.account_id
    yesterday = (await emulator.state())["today"] - 1

    async def sampled(**usage: float) -> Any:
        await emulator.set_usage(account_id, yesterday, **usage)
        variables = {"a": account_id, "d": day_text(yesterday)}
        response = (await api.call("POST", "/graphql", json={"query": SAMPLED, "variables": variables})).json()
        return response["data"]["viewer"]["accounts"][0]

    whole = await sampled(requests=1_000, pages_requests=5)
    assert whole["w"][0]["avg"] == {"sampleInterval": 1}
    interval = {"estimate": 1_000, "lower": 1_000, "upper": 1_000, "sampleSize": 1_000}
    assert whole["w"][0]["confidence"]["sum"]["requests"] == interval
    assert whole["p"] == [{"sum": {"requests": 5}}]
    row = (await sampled(requests=1_004, sample_interval=10))["w"][0]
    interval = row["confidence"]["sum"]["requests"]
    assert (row["sum"]["requests"], interval["estimate"], interval["sampleSize"]) == (1_000, 1_000, 100)
    assert interval["upper"] - 1_000 == 1_000 - interval["lower"] == pytest.approx(185.9, abs=0.1)


async def test_unknown_path_is_rejected_in_the_envelope(api: Api) -> None:
    assert await api.refusal("GET", f"{api.account}/nothing/here") == (404, 7003)
    assert await api.refusal("GET", "/accounts/short") == (404, 7003)
