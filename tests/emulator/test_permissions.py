"""Tests of tokens: permissions, validity, and the API's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.emulator.state import iso
from edge_worker.harness.service import eventually
from tests.emulator.clients import PROBE, WORKING_PERMISSIONS, Api

if TYPE_CHECKING:
    import httpx

    from edge_worker.emulator.client import Customer, Emulator

HOUR_MS = 3_600_000
REFUSED = (403, 10000)
# The errors for a missing permission, as (status, code). They differ by product.
LACKS = {"D1": (403, 7403), "Workers Routes": REFUSED, "Workers Scripts": REFUSED}


async def api_with(emulator: Emulator, api: Api, *rights: str, **wanted: Any) -> Api:
    _, value = await emulator.create_token(api.customer.account_id, rights=list(rights), **wanted)
    return Api(api.client, api.customer, value)


def calls(api: Api) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return one API call for each permission."""
    zone = api.customer.zones["shop.example"]
    return {
        "Workers Scripts Write": ("PUT", f"{api.account}/workers/scripts/probe/schedules", {"json": []}),
        "Workers Scripts Read": ("GET", f"{api.account}/workers/scripts", {}),
        "D1 Write": ("POST", f"{api.account}/d1/database", {"json": {"name": "another"}}),
        "D1 Read": ("GET", f"{api.account}/d1/database", {}),
        "Workers Routes Write": ("POST", f"/zones/{zone}/workers/routes", {"json": {"pattern": "shop.example/x"}}),
        "Workers Routes Read": ("GET", f"/zones/{zone}/workers/routes", {}),
        "Account Settings Read": ("GET", api.account, {}),
        "Account API Tokens Read": ("GET", f"{api.account}/tokens", {}),
    }


@pytest.mark.parametrize("right", ["Workers Scripts", "D1", "Workers Routes"])
async def test_read_permission_does_not_allow_writes(emulator: Emulator, api: Api, right: str) -> None:
    await api.upload("probe", PROBE)
    reader = await api_with(emulator, api, f"{right} Read")
    table = calls(api)
    method, path, body = table[f"{right} Read"]
    await reader.result(method, path, **body)
    method, path, body = table[f"{right} Write"]
    assert await reader.refusal(method, path, **body) == LACKS[right]
    await api.result(method, path, **body)


async def test_each_call_requires_its_own_permission(emulator: Emulator, api: Api) -> None:
    await api.upload("probe", PROBE)
    table = calls(api)
    for right in table:
        holder = await api_with(emulator, api, right)
        for other, (method, path, body) in table.items():
            granted = other == right or (other.endswith("Read") and right == other.replace("Read", "Write"))
            response = await holder.call(method, path, **body)
            assert (response.status_code != 403) is granted, (right, other, response.text)


async def test_zones_without_read_permission_are_not_listed(emulator: Emulator, api: Api) -> None:
    customer = await emulator.create_account(["one.example", "two.example"])
    _, value = await emulator.create_token(
        customer.account_id, rights=["Zone Read", "DNS Read", "Workers Routes Write"], zones=["one.example"]
    )
    narrow = Api(api.client, customer, value)
    assert [zone["name"] for zone in await narrow.result("GET", "/zones")] == ["one.example"]
    two, foreign = customer.zones["two.example"], api.customer.zones["shop.example"]
    for zone in (two, foreign):
        assert await narrow.refusal("GET", f"/zones/{zone}") == (403, 9109)
        assert await narrow.refusal("GET", f"/zones/{zone}/dns_records") == (403, 9109)
        assert await narrow.refusal("GET", f"/zones/{zone}/workers/routes") == REFUSED
    assert await narrow.refusal("GET", "/zones/shop.example") == (404, 7003)


@pytest.mark.parametrize(("zone_gone", "refusal"), [("invalid", (400, 1003)), ("unroutable", (404, 7003))])
async def test_error_for_a_removed_zone_is_configurable(
    emulator: Emulator, api: Api, zone_gone: str, refusal: tuple[int, int]
) -> None:
    zone = api.customer.zones["shop.example"]
    await emulator.set_failure_settings(zone_gone=zone_gone)
    await api.result("GET", f"/zones/{zone}/workers/routes")
    await emulator.delete_zone(api.customer.account_id, "shop.example")
    for path in ("workers/routes", "dns_records"):
        assert await api.refusal("GET", f"/zones/{zone}/{path}") == refusal


async def test_token_of_another_account_is_rejected(emulator: Emulator, api: Api) -> None:
    other = await emulator.create_account()
    assert await api.refusal("GET", f"/accounts/{other.account_id}") == REFUSED
    assert await api.refusal("GET", f"/accounts/{other.account_id}/tokens/verify") == (401, 1000)
    assert await api.refusal("GET", "/accounts") == (400, 1001)
    assert await api.refusal("GET", "/user/tokens/verify") == (401, 1000)


@pytest.mark.parametrize(
    ("header", "refusal"),
    [
        (None, (400, 1001)),
        ("Bearer short", (400, 6003)),
        (f"Basic {'x' * 40}", (400, 6003)),
        (f"Bearer {'x' * 40}", REFUSED),
    ],
)
async def test_error_depends_on_the_invalid_header(
    client: httpx.AsyncClient, customer: Customer, header: str | None, refusal: tuple[int, int]
) -> None:
    headers = {} if header is None else {"Authorization": header}
    response = await client.get(f"/accounts/{customer.account_id}", headers=headers)
    assert (response.status_code, response.json()["errors"][0]["code"]) == refusal


async def mint(api: Api, group_names: list[str], resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    groups = await api.result("GET", f"{api.account}/tokens/permission_groups")
    ids = [{"id": group["id"]} for group in groups if group["name"] in group_names]
    policy = {"effect": "allow", "permission_groups": ids, "resources": resources}
    body = {"name": "working", "policies": [policy], **more}
    made: dict[str, Any] = await api.result("POST", f"{api.account}/tokens", json=body)
    return made


def whole(api: Api) -> dict[str, Any]:
    return {f"com.cloudflare.api.account.{api.customer.account_id}": "*"}


@pytest.fixture
def bootstrap(api: Api) -> Api:
    """A client for the same account, with a bootstrap token like that of a user."""
    return Api(api.client, api.customer, api.customer.bootstrap_token)


async def test_bootstrap_token_creates_a_working_token_and_deletes_itself(bootstrap: Api) -> None:
    zones = {next(iter(whole(bootstrap))): {"com.cloudflare.api.account.zone.*": "*"}}
    groups = await bootstrap.result(
        "GET", f"{bootstrap.account}/tokens/permission_groups", params={"name": "Zone Read"}
    )
    assert [(group["name"], group["scopes"]) for group in groups] == [
        ("Zone Read", ["com.cloudflare.api.account.zone"])
    ]
    made = await mint(bootstrap, ["Zone Read"], zones)
    assert made["value"].startswith("cfat_")
    working = Api(bootstrap.client, bootstrap.customer, made["value"])
    verified = await working.result("GET", f"{working.account}/tokens/verify")
    assert verified == {"id": made["id"], "status": "active"}
    assert [zone["name"] for zone in await working.result("GET", "/zones")] == ["shop.example"]
    own = (await bootstrap.result("GET", f"{bootstrap.account}/tokens/verify"))["id"]
    assert await bootstrap.result("DELETE", f"{bootstrap.account}/tokens/{own}") == {"id": own}
    assert await bootstrap.refusal("GET", f"{bootstrap.account}/tokens") == (403, 9109)
    assert await bootstrap.refusal("GET", bootstrap.account) == REFUSED


async def test_token_value_is_shown_once_and_can_be_rolled(bootstrap: Api) -> None:
    made = await mint(bootstrap, ["Account Settings Read"], whole(bootstrap))
    path = f"{bootstrap.account}/tokens/{made['id']}"
    assert "value" not in await bootstrap.result("GET", path)
    rolled = await bootstrap.result("PUT", f"{path}/value", json={})
    old, new = (Api(bootstrap.client, bootstrap.customer, value) for value in (made["value"], rolled))
    assert await old.refusal("GET", old.account) == REFUSED
    assert (await new.result("GET", new.account))["id"] == new.customer.account_id


async def granted(api: Api, resources: dict[str, Any]) -> Any:
    """Use the client's token to create a token that has DNS Read and Zone Read on these resources. Return the granted
    permissions, or the status and the error code.
    """
    groups = await api.result("GET", f"{api.account}/tokens/permission_groups")
    ids = {group["name"]: {"id": group["id"]} for group in groups if group["name"] in ("Zone Read", "DNS Read")}
    assert {group["name"] for group in groups if group["is_selectable"]} >= {"Zone Read"}
    assert not [group for group in groups if group["is_selectable"] and group["name"] == "DNS Read"]
    policy = {"effect": "allow", "permission_groups": list(ids.values()), "resources": resources}
    response = await api.call("POST", f"{api.account}/tokens", json={"name": "x", "policies": [policy]})
    if response.is_error:
        return response.status_code, response.json()["errors"][0]["code"]
    return sorted(g["name"] for policy in response.json()["result"]["policies"] for g in policy["permission_groups"])


async def test_permissions_that_a_token_can_grant_have_four_modes(emulator: Emulator, api: Api) -> None:
    creator = await api_with(emulator, api, "Account API Tokens Write", "Zone Read")
    all_zones = {next(iter(whole(api))): {"com.cloudflare.api.account.zone.*": "*"}}
    single = {f"com.cloudflare.api.account.zone.{api.customer.zones['shop.example']}": "*"}
    assert await granted(creator, all_zones) == ["DNS Read", "Zone Read"]
    assert await granted(creator, single) == (400, 1001)
    await emulator.set_failure_settings(minting="held")
    assert await granted(creator, all_zones) == (400, 1001)
    assert await granted(creator, single) == (400, 1001)
    await emulator.set_failure_settings(minting="surplus")
    assert await granted(creator, all_zones) == ["Account API Tokens Read", "DNS Read", "Zone Read"]
    await emulator.set_failure_settings(minting="silent")
    assert await granted(creator, all_zones) == ["Zone Read"]
    nothing = await api_with(emulator, api, "Account API Tokens Write")
    made = await mint(nothing, ["D1 Write"], whole(api))
    assert made["policies"] == []


async def test_permission_can_be_listed_under_another_name(emulator: Emulator, bootstrap: Api) -> None:
    await emulator.set_failure_settings(renamed_permission="D1 Write")
    groups = (await bootstrap.call("GET", f"{bootstrap.account}/tokens/permission_groups")).json()["result"]
    names = {group["name"] for group in groups}
    assert "D1 Write" not in names
    assert "D1 Write (new)" in names


async def test_new_token_is_rejected_at_first(emulator: Emulator, bootstrap: Api) -> None:
    await emulator.set_failure_settings(token_delay_ms=HOUR_MS)
    made = await mint(bootstrap, ["Account Settings Read"], whole(bootstrap))
    late = Api(bootstrap.client, bootstrap.customer, made["value"])
    assert await late.refusal("GET", late.account) == REFUSED
    await emulator.set_failure_settings(token_delay_ms=50)
    made = await mint(bootstrap, ["Account Settings Read"], whole(bootstrap))
    soon = Api(bootstrap.client, bootstrap.customer, made["value"])

    async def accepted() -> bool | None:
        return (await soon.call("GET", soon.account)).is_success or None

    await eventually(accepted)
    assert await late.refusal("GET", late.account) == REFUSED


async def test_new_token_is_not_known_everywhere_at_first(emulator: Emulator, bootstrap: Api) -> None:
    """Halfway through a token's propagation, half of the locations know the token. Some of the 60 calls must succeed,
    and some must fail.
    """
    await emulator.set_failure_settings(token_spread_ms=HOUR_MS)
    rights = ["Account Settings Read"]

    async def statuses(age_ms: int, calls: int) -> set[int]:
        _, value = await emulator.create_token(bootstrap.customer.account_id, rights=rights, delay_ms=-age_ms)
        working = Api(bootstrap.client, bootstrap.customer, value)
        return {(await working.call("GET", working.account)).status_code for _ in range(calls)}

    assert await statuses(HOUR_MS // 2, 60) == {200, 403}
    assert await statuses(HOUR_MS, 5) == {200}


async def test_token_expires_by_the_emulated_clock(emulator: Emulator, bootstrap: Api) -> None:
    await emulator.clock(86_400 - 60)
    await bootstrap.result("GET", bootstrap.account)
    await emulator.clock(86_400 + 60)
    assert await bootstrap.refusal("GET", bootstrap.account) == REFUSED
    verified = await bootstrap.result("GET", f"{bootstrap.account}/tokens/verify")
    assert verified["status"] == "expired"


async def test_expiry_of_a_token_can_be_changed_to_a_later_time(emulator: Emulator, bootstrap: Api) -> None:
    now = await emulator.clock(0)
    made = await mint(bootstrap, ["Account Settings Read"], whole(bootstrap), expires_on=iso(now + 60_000))
    working = Api(bootstrap.client, bootstrap.customer, made["value"])
    await emulator.clock(120)
    assert await working.refusal("GET", working.account) == REFUSED
    path = f"{bootstrap.account}/tokens/{made['id']}"
    body = {"name": made["name"], "policies": made["policies"]}
    assert (await bootstrap.refusal("PUT", path, json=body | {"expires_on": iso(now)}))[0] == 400
    await bootstrap.result("PUT", path, json=body | {"expires_on": iso(now + 3_600_000)})
    await working.result("GET", working.account)
    verified = await working.result("GET", f"{working.account}/tokens/verify")
    assert (verified["status"], verified["expires_on"]) == ("active", iso(now + 3_600_000))


async def test_condition_and_status_disable_a_token(bootstrap: Api) -> None:
    condition = {"request.ip": {"in": ["198.51.100.0/24"]}}
    made = await mint(bootstrap, ["Account Settings Read"], whole(bootstrap), condition=condition)
    working = Api(bootstrap.client, bootstrap.customer, made["value"])
    assert await working.refusal("GET", working.account) == REFUSED
    path = f"{bootstrap.account}/tokens/{made['id']}"
    body = {"name": "open", "policies": made["policies"], "status": "active"}
    await bootstrap.result("PUT", path, json=body)
    await working.result("GET", working.account)
    await bootstrap.result("PUT", path, json=body | {"status": "disabled"})
    assert await working.refusal("GET", working.account) == REFUSED


async def test_deny_wins_over_allow(bootstrap: Api) -> None:
    made = await mint(bootstrap, ["Account Settings Read"], whole(bootstrap))
    [allow] = made["policies"]
    body = {"name": "denied", "policies": [allow, {**allow, "effect": "deny"}]}
    await bootstrap.result("PUT", f"{bootstrap.account}/tokens/{made['id']}", json=body)
    working = Api(bootstrap.client, bootstrap.customer, made["value"])
    assert await working.refusal("GET", working.account) == REFUSED


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 121},
        {"policies": []},
        {"policies": [{"effect": "allow", "permission_groups": [{"id": "0" * 32}], "resources": {"a": "*"}}]},
        {"expires_on": "yesterday"},
        {"expires_on": "2020-01-01T00:00:00Z"},
        {"condition": {"request_ip": {"in": ["10.0.0.1"]}}},
        {"condition": {"request.ip": {"in": ["no address"]}}},
    ],
)
async def test_invalid_token_is_not_created(bootstrap: Api, wrong: dict[str, Any]) -> None:
    before = await bootstrap.result("GET", f"{bootstrap.account}/tokens")
    groups = await bootstrap.result("GET", f"{bootstrap.account}/tokens/permission_groups", params={"name": "D1 Read"})
    policy = {"effect": "allow", "permission_groups": [{"id": groups[0]["id"]}], "resources": whole(bootstrap)}
    body = {"name": "x", "policies": [policy]} | wrong
    status, _ = await bootstrap.refusal("POST", f"{bootstrap.account}/tokens", json=body)
    assert status == 400
    after = await bootstrap.result("GET", f"{bootstrap.account}/tokens")
    assert {token["id"] for token in after} == {token["id"] for token in before}


async def test_resources_of_another_account_are_not_granted(emulator: Emulator, bootstrap: Api) -> None:
    other = await emulator.create_account(["other.example"])
    zone = other.zones["other.example"]
    foreign = (
        {f"com.cloudflare.api.account.{other.account_id}": "*"},
        {f"com.cloudflare.api.account.zone.{zone}": "*"},
        {f"com.cloudflare.api.account.{other.account_id}": {"com.cloudflare.api.account.zone.*": "*"}},
        {"com.cloudflare.api.account.zone.*": "*"},
    )
    groups = await bootstrap.result("GET", f"{bootstrap.account}/tokens/permission_groups")
    ids = [{"id": group["id"]} for group in groups if group["name"] in ("D1 Write", "Zone Read")]
    for resources in foreign:
        policy = {"effect": "allow", "permission_groups": ids, "resources": resources}
        status, _ = await bootstrap.refusal(
            "POST", f"{bootstrap.account}/tokens", json={"name": "x", "policies": [policy]}
        )
        assert status in (400, 403)


async def test_no_response_and_no_log_contains_a_secret(emulator: Emulator, api: Api) -> None:
    await api.upload("probe", PROBE, bindings=[{"type": "secret_text", "name": "KEY", "text": "very-secret"}])
    texts = [
        str(await emulator.state()),
        str(await emulator.requests()),
        (await api.call("GET", f"{api.account}/workers/scripts/probe/settings")).text,
        (await api.call("GET", f"{api.account}/workers/scripts/probe/secrets")).text,
        repr(api.customer),
    ]
    for text in texts:
        assert "very-secret" not in text
        assert api.value not in text
        assert api.customer.bootstrap_token not in text
    assert set(WORKING_PERMISSIONS) <= {g["name"] for g in await _groups(emulator, api)}


async def _groups(emulator: Emulator, api: Api) -> list[dict[str, Any]]:
    reader = await api_with(emulator, api, "Account API Tokens Read")
    groups: list[dict[str, Any]] = await reader.result("GET", f"{api.account}/tokens/permission_groups")
    return groups
