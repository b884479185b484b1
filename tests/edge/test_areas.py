"""Tests of the functions for tokens, zones, Workers, databases and routes, with the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.clock import system_clock
from svc.edge import d1, routes, tokens, workers, zones
from svc.edge.responses import DailyLimit
from svc.errors import EdgeRefused, EdgeUnavailable, ServiceError
from tests.edge.test_calls import schedules, upload

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from svc.edge.access import Access
    from svc.edge.client import Edge

ACCOUNT, ZONE = "com.cloudflare.api.account", "com.cloudflare.api.account.zone"
GROUPS = [
    tokens.PermissionGroup(f"id{number}", right.name, (right.scope,))
    for number, right in enumerate(tokens.WORKING_PERMISSIONS)
]


@pytest.mark.rule("A4")
async def test_created_token_has_exactly_the_requested_permissions(
    bootstrap: Access, edge: Edge, customer: Customer, zone: str
) -> None:
    policies = tokens.policies_for(customer.account_id, await tokens.permission_groups(bootstrap))
    expires_at = system_clock() // 1000 * 1000 + 86_400_000
    made = await tokens.create(bootstrap, "svc-op_1", policies, expires_at)
    assert (made.name, made.expires_at) == ("svc-op_1", expires_at)
    assert tokens.permissions_of(made.policies) == tokens.permissions_of(policies)
    access = edge.access(customer.account_id, made.value.get_secret_value())
    assert await tokens.verify(access) == tokens.TokenStatus(made.id, "active", expires_at)
    assert await workers.get_script(access, "svc-edge") is None
    assert await d1.find(access, "svc-edge") is None
    assert await zones.account_name(access) == "Customer"
    assert (await zones.records_of(access, customer.zones[zone], zone)).proxied
    assert await routes.list_routes(access, customer.zones[zone]) == []
    with pytest.raises(EdgeRefused) as caught:  # the token has only the permission to create tokens
        await tokens.list_all(access)
    assert caught.value.code == "permission_error"


@pytest.mark.rule("A4")
def test_missing_permission_group_is_reported() -> None:
    # Some permission names exist twice, with different scopes. Only the scope distinguishes these permissions.
    elsewhere = [tokens.PermissionGroup("x", "DNS Read", (ACCOUNT,))]
    groups = [group for group in GROUPS if group.name not in ("D1 Write", "DNS Read")] + elsewhere
    with pytest.raises(ServiceError) as caught:
        tokens.policies_for("a" * 32, groups)
    assert caught.value.code == "permission_catalog"
    assert caught.value.details == {"missing": ["D1 Write", "DNS Read"]}


@pytest.mark.rule("A4")
def test_permissions_are_compared_independently_of_grouping() -> None:
    policies = tokens.policies_for("a" * 32, GROUPS)
    split = [
        tokens.Policy(policy.effect, frozenset({group_id}), policy.resources)
        for policy in reversed(policies)
        for group_id in policy.group_ids
    ]
    rights = tokens.permissions_of(policies)
    assert tokens.permissions_of(split) == rights
    assert tokens.permissions_of(split[1:]) < rights
    assert tokens.permissions_of([*split, tokens.Policy("allow", frozenset({"id9"}), policies[0].resources)]) > rights
    assert tokens.permissions_of([*split, tokens.Policy("deny", split[0].group_ids, split[0].resources)]) > rights
    assert (
        tokens.permissions_of([policies[0], tokens.Policy("allow", policies[1].group_ids, frozenset({f"{ZONE}.*"}))])
        != rights
    )


async def test_all_tokens_are_listed_and_deletion_reports_missing_ones(
    bootstrap: Access, emulator: Emulator, customer: Customer
) -> None:
    made = {(await emulator.create_token(customer.account_id, name=f"t{number}"))[0] for number in range(60)}
    assert made < {token.id for token in await tokens.list_all(bootstrap)}
    gone = made.pop()
    assert await tokens.delete(bootstrap, gone) is True
    assert await tokens.delete(bootstrap, gone) is False
    assert {token.id for token in await tokens.list_all(bootstrap)} & {gone, *made} == made


@pytest.mark.rule("A3")
async def test_token_of_another_account_is_refused(edge: Edge, emulator: Emulator, customer: Customer) -> None:
    other = await emulator.create_account()
    with pytest.raises(EdgeRefused) as caught:
        await tokens.verify(edge.access(other.account_id, customer.bootstrap_token))
    assert caught.value.code == "token_refused"


async def test_a_token_can_delete_itself(bootstrap: Access, customer: Customer) -> None:
    assert await tokens.delete(bootstrap, customer.bootstrap_token_id)
    with pytest.raises(EdgeRefused) as caught:
        await tokens.verify(bootstrap)
    assert caught.value.code == "token_refused"


async def test_zones_are_listed_by_name_up_to_the_limit(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    names = sorted([zone, *(f"{number:02}-{zone}" for number in range(55))])
    for name in names:
        if name != zone:
            await emulator.set_zone(customer.account_id, name, status="pending" if name.startswith("00") else "active")
    listed, truncated = await zones.list_zones(access)
    assert [each.name for each in listed] == names
    assert not truncated
    assert (listed[0].status, listed[1].status) == ("pending", "active")
    some, truncated = await zones.list_zones(access, limit=54)
    assert [each.name for each in some] == names[:54]
    assert truncated
    exactly, truncated = await zones.list_zones(access, limit=56)
    assert (len(exactly), truncated) == (56, False)


async def test_host_belongs_to_its_closest_active_zone_else_its_closest_zone(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    closer = await emulator.set_zone(customer.account_id, f"eu.{zone}")

    async def zone_id_of(host: str) -> str | None:
        found = await zones.zone_of(access, host)
        return found.id if found else None

    assert await zone_id_of(zone) == customer.zones[zone]
    assert await zone_id_of(f"a.b.{zone}") == customer.zones[zone]
    assert await zone_id_of(f"shop.EU.{zone}") == closer
    assert await zone_id_of(f"not{zone}") is None
    await emulator.set_zone(customer.account_id, f"eu.{zone}", paused=True)
    assert await zone_id_of(f"shop.eu.{zone}") == customer.zones[zone]
    await emulator.set_zone(customer.account_id, zone, status="pending")
    assert await zone_id_of(f"a.b.{zone}") == customer.zones[zone]
    # no zone is active, so the zone with the longest matching name is used
    assert await zone_id_of(f"shop.eu.{zone}") == closer
    assert not (await zones.zone_by_id(access, closer)).is_active


@pytest.mark.parametrize(
    ("records", "host", "proxied"),
    [
        ([{"name": "@", "proxied": True}], "", True),
        ([{"name": "@", "proxied": False}], "", False),
        ([{"name": "@", "type": "CNAME", "proxied": True}], "", True),
        ([{"name": "@", "type": "TXT"}], "", False),
        ([{"name": "*", "proxied": True}], "a.b.", True),
        ([{"name": "*", "proxied": True}], "", False),
        ([{"name": "*", "proxied": True}, {"name": "*.b", "proxied": False}], "a.b.", False),
        ([{"name": "*", "proxied": True}, {"name": "a", "proxied": False}], "a.", False),
        ([{"name": "*", "proxied": True}, {"name": "a", "type": "TXT"}], "a.", False),
        ([{"name": "a", "proxied": False}, {"name": "a", "type": "AAAA", "proxied": True}], "a.", True),
        ([], "", False),
    ],
)
async def test_own_records_take_precedence_over_the_closest_wildcard(
    access: Access,
    emulator: Emulator,
    customer: Customer,
    zone: str,
    records: list[dict[str, object]],
    host: str,
    proxied: bool,
) -> None:
    zone_id = await emulator.set_zone(customer.account_id, zone, dns=records)
    assert (await zones.records_of(access, zone_id, f"{host}{zone}")).proxied is proxied
    # For many hosts, the function instead reads all records of the zone, with the same result.
    many = {f"{host}{zone}", *(f"{other}.{zone}" for other in ("a.b", "c", "go", "www"))}
    assert await zones.records_of_all(access, zone_id, many) == {
        name: await zones.records_of(access, zone_id, name) for name in many
    }


async def test_script_has_tags_and_a_stable_etag(access: Access) -> None:
    await upload(access)
    uploaded = await workers.get_script(access, "svc-edge")
    assert uploaded is not None
    assert uploaded.etag
    assert uploaded.tags == ("svc-account:acc_1",)
    await upload(access)
    # uploading the same code again does not change the etag
    assert await workers.get_script(access, "svc-edge") == uploaded
    await workers.disable_subdomain(access, "svc-edge")
    await workers.set_schedules(access, "svc-edge", ["* * * * *"])
    assert await schedules(access) == ["* * * * *"]
    await workers.set_schedules(access, "svc-edge", [])
    assert await schedules(access) == []
    assert await workers.delete_script(access, "svc-edge") is True
    assert await workers.delete_script(access, "svc-edge") is False
    assert await workers.get_script(access, "svc-edge") is None


async def test_bindings_are_available_in_the_worker(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    database = await d1.create(access, "svc-edge")
    await d1.query(access, database.id, [("create table note (text)", []), ("insert into note values ('kept')", [])])
    module = """export default { async fetch(request, env) {
      const row = await env.DB.prepare("select text from note").first();
      return new Response(`${env.PLAIN} ${env.SECRET} ${row.text}`);
    } };"""
    bindings = (
        workers.database_binding("DB", database.id),
        workers.text_binding("PLAIN", "plain ü"),
        workers.secret_binding("SECRET", "hidden"),
    )
    content = workers.Upload(module.encode(), "svc-edge.js", "2026-04-01", bindings=bindings)
    await workers.upload(access, "svc-edge", content)
    route = await routes.create(access, customer.zones[zone], f"{zone}/x*", "svc-edge", fail_open=True)
    assert (await emulator.visit(zone, "/x1")).body == "plain ü hidden kept"
    assert await routes.delete(access, customer.zones[zone], route.id)
    assert (await emulator.visit(zone, "/x1")).status == 404


@pytest.mark.rule("A12")
async def test_subdomain_is_registered_for_a_new_workers_account(edge: Edge, emulator: Emulator) -> None:
    taken = f"taken{system_clock()}"
    await emulator.create_account(subdomain=taken)
    access = await new_workers_account(edge, emulator)
    with pytest.raises(EdgeRefused) as caught:
        await upload(access)
    assert caught.value.code == "subdomain_required"
    assert await workers.has_subdomain(access) is False
    with pytest.raises(EdgeRefused) as caught:
        await workers.register_subdomain(access, taken)
    assert caught.value.code == "name_taken"
    await workers.register_subdomain(access, f"free{system_clock()}")
    assert await workers.has_subdomain(access) is True
    await upload(access)


async def new_workers_account(edge: Edge, emulator: Emulator) -> Access:
    """Return access to an account that has never used Workers."""
    customer = await emulator.create_account()
    rights = [right.name for right in tokens.WORKING_PERMISSIONS]
    _, value = await emulator.create_token(customer.account_id, rights=rights)
    return edge.access(customer.account_id, value)


async def test_unchanged_cron_trigger_is_accepted_above_the_limit(
    access: Access, emulator: Emulator, customer: Customer
) -> None:
    await upload(access)
    await workers.set_schedules(access, "svc-edge", ["* * * * *"])
    await emulator.set_limits(customer.account_id, crons=0)
    await workers.set_schedules(access, "svc-edge", ["* * * * *"])
    with pytest.raises(EdgeRefused) as caught:
        await workers.set_schedules(access, "svc-edge", [])
    assert caught.value.code == "cron_limit"


@pytest.mark.parametrize("call", ["schedules", "subdomain"])
async def test_worker_not_found_after_upload_is_retried(access: Access, emulator: Emulator, call: str) -> None:
    await upload(access)
    await emulator.fault("refuse", f"*/scripts/svc-edge/{call}", status=404, code=10007, times=2)
    await finish_install(access)
    assert await schedules(access) == ["* * * * *"]
    await emulator.fault("refuse", f"*/scripts/svc-edge/{call}", status=404, code=10007, times=None)
    with pytest.raises(EdgeUnavailable):  # the install continues after this error; it would end after EdgeRefused
        await finish_install(access)


async def finish_install(access: Access) -> None:
    """Run the install steps that follow the upload."""
    await workers.set_schedules(access, "svc-edge", ["* * * * *"])
    await workers.disable_subdomain(access, "svc-edge")


@pytest.mark.rule("A12")
async def test_exceeded_cron_triggers_are_cron_limit(access: Access, emulator: Emulator, customer: Customer) -> None:
    await upload(access)
    await emulator.set_limits(customer.account_id, crons=0)
    with pytest.raises(EdgeRefused) as caught:
        await workers.set_schedules(access, "svc-edge", ["* * * * *"])
    assert caught.value.code == "cron_limit"


async def test_database_is_found_by_exact_name(access: Access) -> None:
    longer = await d1.create(access, "svc-edge-old")
    assert await d1.find(access, "svc-edge") is None
    before = system_clock()
    made = await d1.create(access, "svc-edge")
    assert abs(made.created_at - before) < 60_000
    assert await d1.find(access, "svc-edge") == made
    assert await d1.get(access, made.id) == made
    assert await d1.delete(access, made.id) is True
    assert await d1.delete(access, made.id) is False
    assert await d1.get(access, made.id) is None
    assert await d1.find(access, "svc-edge-old") == longer


@pytest.mark.rule("A12")
async def test_existing_database_name_is_name_taken(access: Access) -> None:
    await d1.create(access, "svc-edge")
    with pytest.raises(EdgeRefused) as caught:
        await d1.create(access, "svc-edge")
    assert caught.value.code == "name_taken"


async def test_statements_run_as_one_transaction_and_report_their_cost(access: Access) -> None:
    database = await d1.create(access, "svc-edge")
    insert = "insert into n (a, b, c) values (cast($1 as integer), $2, $3)"
    made, one, two, read = await d1.query(
        access,
        database.id,
        [
            ("create table n (a integer, b text, c text)", []),
            (insert, [7, "grün 'quoted'", None]),
            (insert, [8, "", "x"]),
            ("select a, b, c, typeof(a) as kind from n order by a", []),
        ],
    )
    assert made.rows == []
    assert (one.rows_written, two.rows_written) == (1, 1)
    assert [dict(row) for row in read.rows] == [
        {"a": 7, "b": "grün 'quoted'", "c": None, "kind": "integer"},
        {"a": 8, "b": "", "c": "x", "kind": "integer"},
    ]
    assert read.rows_read >= 2
    with pytest.raises(EdgeRefused) as caught:
        await d1.query(access, database.id, [("delete from n", []), ("select nothing from nowhere", [])])
    assert caught.value.code == "cloudflare_error"
    (left,) = await d1.query(access, database.id, [("select count(*) as n from n", [])])
    assert left.rows[0]["n"] == 2  # the failed batch was rolled back, so there are still two rows


async def test_daily_limit_is_reported_and_not_retried(access: Access, emulator: Emulator, customer: Customer) -> None:
    database = await d1.create(access, "svc-edge")
    await d1.query(access, database.id, [("create table n (a)", [])])
    await emulator.set_limits(customer.account_id, rows_written=1)
    await emulator.forget_requests()
    insert = ("insert into n values (1)", ())
    with pytest.raises(DailyLimit) as caught:
        await d1.query(access, database.id, [insert])
    assert caught.value.rows == "write"
    refused = [call for call in await emulator.requests() if call["status"] == 400]
    assert len(refused) == 1  # the call was not repeated


@pytest.mark.rule("S3")
async def test_existing_pattern_is_route_conflict(access: Access, customer: Customer, zone: str) -> None:
    zone_id = customer.zones[zone]
    await upload(access)
    made = await routes.create(access, zone_id, f"{zone}/x*", "svc-edge", fail_open=True)
    assert await routes.list_routes(access, zone_id) == [made]
    with pytest.raises(EdgeRefused) as caught:
        await routes.create(access, zone_id, f"{zone}/x*", "svc-edge", fail_open=True)
    assert caught.value.code == "route_conflict"
    assert await routes.delete(access, zone_id, made.id) is True
    assert await routes.delete(access, zone_id, made.id) is False


async def test_fail_open_is_reported_unless_the_api_ignores_it(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    zone_id = customer.zones[zone]
    await upload(access)
    open_, closed = [
        await routes.create(access, zone_id, f"{zone}/{path}*", "svc-edge", fail_open=path == "open")
        for path in ("open", "closed")
    ]
    assert (open_.fail_open, closed.fail_open) == (True, False)
    assert {route.fail_open for route in await routes.list_routes(access, zone_id)} == {True, False}
    await emulator.set_failure_settings(ignores_fail_open=True)
    try:
        made = await routes.create(access, zone_id, f"{zone}/other*", "svc-edge", fail_open=False)
        assert made.fail_open is None
        assert {route.fail_open for route in await routes.list_routes(access, zone_id)} == {None}
    finally:
        await emulator.set_failure_settings(ignores_fail_open=False)


@pytest.mark.parametrize(
    ("records", "dummy"),
    [
        ([{"type": "AAAA", "content": "100::", "proxied": True}], True),
        ([{"content": "192.0.2.1", "proxied": True}], True),
        ([{"content": "192.0.2.1", "proxied": True}, {"type": "AAAA", "proxied": True}], False),
        ([{"type": "CNAME", "content": "192.0.2.1.example", "proxied": True}], False),
        ([{"proxied": True}], False),
        ([], False),
    ],
)
async def test_record_with_unroutable_address_is_a_dummy(
    access: Access, emulator: Emulator, customer: Customer, zone: str, records: list[dict[str, object]], dummy: bool
) -> None:
    zone_id = await emulator.set_zone(customer.account_id, zone, dns=[{"name": "go", **one} for one in records])
    assert (await zones.records_of(access, zone_id, f"go.{zone}")).dummy is dummy


async def test_free_certificate_of_a_full_zone_covers_one_label(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    for kind, deep in (("full", False), ("partial", True)):
        await emulator.set_zone(customer.account_id, zone, type=kind)
        found = await zones.zone_of(access, zone)
        assert found is not None
        hosts = (zone, f"go.{zone}", f"go.eu.{zone}")
        assert [found.has_certificate(host) for host in hosts] == [True, True, deep]


async def test_route_with_fail_open_serves_the_page_at_the_request_limit(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    await upload(access)
    await routes.create(access, customer.zones[zone], f"{zone}/x*", "svc-edge", fail_open=True)
    await emulator.add_page(zone, "/x1", "the customer's own page")
    assert (await emulator.visit(zone, "/x1")).body == "hello"
    await emulator.set_limits(customer.account_id, requests=0)
    assert (await emulator.visit(zone, "/x1")).body == "the customer's own page"


async def test_routes_of_a_removed_zone_are_permission_error(
    access: Access, emulator: Emulator, customer: Customer, zone: str
) -> None:
    zone_id = customer.zones[zone]
    await upload(access)
    made = await routes.create(access, zone_id, f"{zone}/x*", "svc-edge", fail_open=True)
    await emulator.delete_zone(customer.account_id, zone)
    with pytest.raises(EdgeRefused) as caught:
        await routes.list_routes(access, zone_id)
    assert caught.value.code == "permission_error"
    with pytest.raises(EdgeRefused):
        await routes.delete(access, zone_id, made.id)
    with pytest.raises(EdgeRefused) as caught:
        await zones.records_of(access, zone_id, zone)
    # the code says that a permission is missing, because the token itself is valid
    assert (caught.value.code, caught.value.remote_code) == ("permission_error", 9109)
    assert await zones.zone_of(access, zone) is None
