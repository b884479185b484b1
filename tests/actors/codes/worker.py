"""Rows with the codes of installs and of the installed Worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.actors.codes.case import A_TOKEN, DATABASE_ONLY, INSTALLED, NOTHING, row
from tests.actors.codes.tokens import LOCAL, QUICK, REFUSED
from tests.actors.operations.test_install import edited

if TYPE_CHECKING:
    from tests.actors.codes.case import Case

SCRIPT = "*/workers/scripts/svc-edge"
HOUR_S = 3600
BROKEN = (*REFUSED, "transient")


async def install_without_remedy(case: Case) -> None:
    """Install again without applying the remedy, and expect the same error."""
    await case.install("connected")
    await case.expect_error(state="connected")


# ------------------------------------------------------------------------------------------------------- name_taken


@row("name_taken", "account.error", "operation.error", state="connected", resources=DATABASE_ONLY)
async def a_foreign_database(case: Case) -> None:
    database = await case.customer_api.call(
        "POST", f"{case.customer_api.account}/d1/database", json={"name": "svc-edge"}
    )
    await case.connected()
    await case.expect_error()
    await install_without_remedy(case)
    await case.customer_api.call("DELETE", f"{case.customer_api.account}/d1/database/{database['uuid']}")
    await case.install("ready")


@row("name_taken", "account.error", "operation.error", state="connected", resources=A_TOKEN._replace(scripts=1))
async def a_foreign_worker(case: Case) -> None:
    await edited(case.service, "theirs", tags=[])
    await case.connected()
    await case.expect_error()
    await install_without_remedy(case)
    await case.customer_api.call("DELETE", case.customer_api.script)
    await case.install("ready")


@row("name_taken", "account.error", state="resource_drift", timing=QUICK)
async def a_worker_that_was_replaced(case: Case) -> None:
    await case.installed()
    await edited(case.service, "theirs", tags=[])
    await case.expect_error()
    await install_without_remedy(case)
    await case.customer_api.call("DELETE", case.customer_api.script)
    await case.install("ready")


# --------------------------------------------------------------------------------------------------- resource_drift


@row("resource_drift", "account.error", state="resource_drift", resources=DATABASE_ONLY, timing=QUICK)
async def a_worker_that_was_deleted(case: Case) -> None:
    await case.installed()
    await case.customer_api.call("DELETE", case.customer_api.script)
    await case.expect_error()
    refused = await case.add_site(case.zone)
    assert (refused.code, refused.body["error"]["details"]["reason"]) == ("account_not_ready", "resource_drift")
    await case.expect_error()
    await case.install("ready")


@row("resource_drift", "account.error", state="resource_drift", timing=QUICK)
async def a_worker_that_was_changed(case: Case) -> None:
    await case.installed()
    await edited(case.service, (await case.service.account()).install_id)
    await case.expect_error()
    await install_without_remedy(case)
    await case.customer_api.call("DELETE", case.customer_api.script)
    await case.install("ready")


@row("resource_drift", "account.error", state="resource_drift", resources=INSTALLED._replace(databases=0), timing=QUICK)
async def a_database_that_was_deleted(case: Case) -> None:
    await case.installed()
    await case.customer_api.call(
        "DELETE", f"{case.customer_api.account}/d1/database/{(await case.service.account()).database_id}"
    )
    await case.expect_error()
    await case.post("/check")
    await case.expect_error()
    await case.install("ready")


@row("resource_drift", "operation.error", timing={"rollout_every_s": 0.05})
async def a_worker_that_was_changed_before_its_update(case: Case) -> None:
    await case.installed()
    await edited(case.service, (await case.service.account()).install_id)
    case.place.upgrade()
    case.place.worker |= {"auto_update": True}
    await case.start()
    await case.expect_error()
    await case.service.idle()
    await case.expect_error()
    await case.customer_api.call("DELETE", case.customer_api.script)
    await case.install("ready")
    assert (await case.service.shown())["edge"]["up_to_date"]


# ------------------------------------------------------------------------------------------- missing prerequisites


@row(
    "cron_limit",
    "account.error",
    "operation.error",
    details=REFUSED,
    state="connected",
    resources=INSTALLED._replace(crons=0),
)
async def no_cron_trigger_is_available(case: Case) -> None:
    await edited(case.service, "theirs", tags=[], name="theirs")
    schedules = f"{case.customer_api.account}/workers/scripts/theirs/schedules"
    await case.customer_api.call("PUT", schedules, json=[{"cron": "0 0 * * *"}])
    await case.emulator.set_limits(case.customer.account_id, crons=1)
    await case.connected()
    await case.expect_error()
    await install_without_remedy(case)
    await case.customer_api.call("PUT", schedules, json=[])
    await case.install("ready")


@row("subdomain_required", "account.error", "operation.error", state="connected", resources=DATABASE_ONLY)
async def no_name_on_workers_dev(case: Case) -> None:
    async def none_is_given() -> None:
        await case.refuse("*/workers/subdomain", "PUT", status=403, code=10031)

    await none_is_given()
    await case.connected()
    await case.expect_error()
    await install_without_remedy(case)
    await case.emulator.clear_faults()
    name = f"w{case.customer.account_id[:12]}"
    await case.customer_api.call("PUT", f"{case.customer_api.account}/workers/subdomain", json={"subdomain": name})
    await none_is_given()
    await case.install("ready")


@row("not_configured", "account.error", "operation.error", state="connected", resources=DATABASE_ONLY)
async def a_service_that_moved_to_an_unreachable_address(case: Case) -> None:
    public, case.place.push_url = case.place.push_url, LOCAL
    await case.refuse(SCRIPT, "PUT", status=500)
    case.place.push_url = public
    await case.start()
    await case.connected()
    await case.emulator.faulted()
    case.place.push_url = LOCAL
    await case.start()
    await case.emulator.clear_faults()
    await case.expect_error()
    assert (await case.post("/install")).code == "not_configured"
    await case.expect_error()
    case.place.push_url = public
    await case.start()
    await case.install("ready")


@row("schema_newer", "response", details=("schema", "known"))
async def an_older_service(case: Case) -> None:
    older, case.place.bundle = case.place.bundle, case.next_bundle()
    await case.start()
    await case.installed()
    case.place.bundle = older
    await case.start()
    await case.expect_error(await case.post("/install"))
    await case.expect_error(await case.post("/install"))
    case.place.bundle = case.next_bundle()
    await case.start()
    await case.install("ready")


@row("schema_newer", "account.error", "operation.error", details=("schema", "known"), state="connected")
async def an_older_service_with_an_unknown_schema(case: Case) -> None:
    await case.installed()
    await case.customer_api.sql("update meta set value = value + 1 where key = 'schema'")
    await case.install("connected")
    await case.expect_error()
    await install_without_remedy(case)
    case.place.bundle = case.next_bundle()
    await case.start()
    await case.install("ready")


@row(
    "cloudflare_error", "account.error", "operation.error", details=REFUSED, state="connected", resources=DATABASE_ONLY
)
async def an_upload_that_is_refused(case: Case) -> None:
    await case.refuse(SCRIPT, "PUT", code=10021)
    await case.connected()
    await case.expect_error()
    await install_without_remedy(case)
    await case.emulator.clear_faults()
    await case.install("ready")


@row("cloudflare_error", "account.error", "operation.error", details=BROKEN, state="connected", resources=DATABASE_ONLY)
async def todays_rows_are_used_up(case: Case) -> None:
    await case.emulator.set_usage(case.customer.account_id, rows_written=100_000)
    await case.connected()
    await case.expect_error()
    assert "midnight" in (await case.service.shown())["error"]["details"]["remedy"]
    await install_without_remedy(case)
    # the usage is 0 again, as it is after midnight UTC
    await case.emulator.set_usage(case.customer.account_id, rows_written=0)
    await case.install("ready")


@row(
    "edge_firewall",
    "account.error",
    "operation.error",
    details=("status", "ray_id"),
    state="connected",
    resources=DATABASE_ONLY,
)
async def an_upload_that_the_firewall_refuses(case: Case) -> None:
    await case.emulator.set_failure_settings(firewall_also="main_module")
    await case.connected()
    await case.expect_error()
    await install_without_remedy(case)
    # the operator has fixed the cause of the firewall's refusal
    await case.emulator.set_failure_settings(firewall_also="")
    await case.install("ready")


# ---------------------------------------------------------------------------------------------- silent Workers


@row("self_check_timeout", "operation.error")
@row("not_confirmed", "account.error.warnings")
async def a_worker_that_never_pushes(case: Case) -> None:
    await case.service.ready()
    case.place.clock.advance_s(HOUR_S)
    await case.start()
    await case.expect_error()
    await case.service.idle()
    await case.expect_error()
    await case.install("ready")
    await case.service.confirmed()


@row("worker_silent", "account.error", state="no_connection", timing=QUICK)
async def a_worker_that_is_silent_for_a_day(case: Case) -> None:
    await case.installed()
    case.place.clock.advance_s(27 * HOUR_S)
    await case.start()
    await case.expect_error()
    refused = await case.put_link_host(f"go.{case.zone}")
    assert (refused.code, refused.body["error"]["details"]["reason"]) == ("account_not_ready", "worker_silent")
    await case.expect_error()
    await case.service.confirmed()  # a push clears the error
    await case.wait_until_healthy()
    case.place.clock.advance_s(27 * HOUR_S)
    await case.start()
    await case.sign_in()
    await case.expect_error()
    await case.install("ready")


@row("crons_stopped", "account.error.warnings", timing=QUICK)
async def a_worker_whose_cron_trigger_stopped(case: Case) -> None:
    await case.installed()
    case.place.clock.advance_s(3 * HOUR_S)
    await case.start()
    await case.expect_error()
    await case.post("/check")
    await case.expect_error()
    await case.install("ready")


# ------------------------------------------------------------------------- requests at the wrong moment


@row("operation_in_progress", "response", state="installing", resources=None, shares=True)
async def requests_during_an_install(case: Case) -> None:
    await case.installed()
    # Hold every upload, because the service retries an upload if the requests below take longer than the timeout.
    await case.emulator.fault("hold", SCRIPT, method="PUT", times=None)
    assert (await case.post("/install")).status == 202
    await case.expect_error(await case.post("/install"))
    await case.expect_error(await case.service.call("DELETE", f"/v1/accounts/{(await case.service.account()).id}"))
    await case.emulator.clear_faults()
    await case.service.settled("ready")
    await case.renewed()
    await case.install("ready")


@row("account_not_ready", "response", details=("reason", *REFUSED), state="connected", resources=DATABASE_ONLY)
async def a_link_host_before_the_worker(case: Case) -> None:
    await case.refuse(SCRIPT, "PUT", code=10021)
    await case.connected()
    await case.service.settled("connected")
    await case.expect_error(await case.put_link_host(f"go.{case.zone}"))
    assert (await case.expect_error(await case.add_site(case.zone)))["reason"] == "cloudflare_error"
    await case.emulator.clear_faults()
    await case.install("ready")
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202


@row("account_not_ready", "response", state="pending", resources=NOTHING)
async def requests_before_the_connect_is_done(case: Case) -> None:
    await case.refuse("*/tokens", "POST", status=500, times=4)
    await case.service.connect()
    zones = f"/v1/accounts/{(await case.service.account()).id}/zones"
    await case.expect_error(await case.service.call("GET", zones))
    await case.expect_error(await case.add_site(case.zone))
    await case.expect_error(await case.renew())
    await case.expect_error(await case.post("/install"))
    await case.emulator.clear_faults()
    assert (await case.service.connect()).status == 202


@row("cloudflare_unavailable", "response", details=REFUSED, state="pending", resources=NOTHING)
async def a_platform_failure_during_a_connect(case: Case) -> None:
    await case.refuse("*/permission_groups", status=500)
    await case.expect_error(await case.service.connect())
    await case.expect_error(await case.service.connect())
    await case.emulator.clear_faults()
    # The same request now succeeds, because the bootstrap token has not been deleted.
    assert (await case.service.connect()).status == 202


@row("cloudflare_unavailable", "response", details=REFUSED, shares=True)
async def a_platform_failure_during_a_renewal(case: Case) -> None:
    await case.installed()
    _, token = await case.bootstrap()
    await case.refuse("*/permission_groups", status=500)
    await case.expect_error(await case.renew(token))
    await case.expect_error(await case.renew(token))
    await case.emulator.clear_faults()
    await case.renewed(token)


@row("cloudflare_unavailable", "response", details=("status",), shares=True)
async def a_platform_that_answers_with_html(case: Case) -> None:
    await case.installed()
    await case.emulator.fault("html", "*", times=None)
    account = f"/v1/accounts/{(await case.service.account()).id}"
    await case.expect_error(await case.service.call("GET", f"{account}/zones"))
    await case.expect_error(await case.add_site(case.zone))
    await case.expect_error(await case.put_link_host(f"go.{case.zone}"))
    await case.expect_error(await case.post("/check"))
    await case.emulator.clear_faults()
    assert (await case.service.call("GET", f"{account}/zones")).status == 200


@row("cloudflare_error", "response", details=REFUSED)
async def a_platform_that_refuses_a_request(case: Case) -> None:
    await case.installed()
    await case.refuse("/zones", code=1234)
    zones = f"/v1/accounts/{(await case.service.account()).id}/zones"
    await case.expect_error(await case.service.call("GET", zones))
    await case.expect_error(await case.add_site(case.zone))
    await case.expect_error(await case.put_link_host(f"go.{case.zone}"))
    await case.emulator.clear_faults()
    assert (await case.add_site(case.zone)).status == 202
