"""Rows: codes of the install, and of what is installed."""

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


async def again(case: Case) -> None:
    """Install once more without the remedy, and then for good."""
    await case.install("connected")
    await case.met(state="connected")


# ------------------------------------------------------------------------------------------------------- name_taken


@row("name_taken", "account.error", "operation.error", state="connected", holds=DATABASE_ONLY)
async def a_database_of_another_maker(case: Case) -> None:
    database = await case.hand.call("POST", f"{case.hand.account}/d1/database", json={"name": "svc-edge"})
    await case.connected()
    await case.met()
    await again(case)
    await case.hand.call("DELETE", f"{case.hand.account}/d1/database/{database['uuid']}")
    await case.install("ready")


@row("name_taken", "account.error", "operation.error", state="connected", holds=A_TOKEN._replace(scripts=1))
async def a_worker_of_another_maker(case: Case) -> None:
    await edited(case.service, "theirs", tags=[])
    await case.connected()
    await case.met()
    await again(case)
    await case.hand.call("DELETE", case.hand.script)
    await case.install("ready")


@row("name_taken", "account.error", state="resource_drift", timing=QUICK)
async def a_worker_that_was_replaced(case: Case) -> None:
    await case.installed()
    await edited(case.service, "theirs", tags=[])
    await case.met()
    await again(case)
    await case.hand.call("DELETE", case.hand.script)
    await case.install("ready")


# --------------------------------------------------------------------------------------------------- resource_drift


@row("resource_drift", "account.error", state="resource_drift", holds=DATABASE_ONLY, timing=QUICK)
async def a_worker_that_was_deleted(case: Case) -> None:
    await case.installed()
    await case.hand.call("DELETE", case.hand.script)
    await case.met()
    refused = await case.add_site(case.zone)
    assert (refused.code, refused.body["error"]["details"]["reason"]) == ("account_not_ready", "resource_drift")
    await case.met()
    await case.install("ready")


@row("resource_drift", "account.error", state="resource_drift", timing=QUICK)
async def a_worker_that_was_changed(case: Case) -> None:
    await case.installed()
    await edited(case.service, (await case.service.account()).install_id)
    await case.met()
    await again(case)
    await case.hand.call("DELETE", case.hand.script)
    await case.install("ready")


@row("resource_drift", "account.error", state="resource_drift", holds=INSTALLED._replace(databases=0), timing=QUICK)
async def a_database_that_was_deleted(case: Case) -> None:
    await case.installed()
    await case.hand.call("DELETE", f"{case.hand.account}/d1/database/{(await case.service.account()).database_id}")
    await case.met()
    await case.post("/check")
    await case.met()
    await case.install("ready")


@row("resource_drift", "operation.error", timing={"rollout_every_s": 0.05})
async def a_worker_that_was_changed_before_its_update(case: Case) -> None:
    await case.installed()
    await edited(case.service, (await case.service.account()).install_id)
    case.place.upgrade()
    case.place.worker |= {"auto_update": True}
    await case.start()
    await case.met()
    await case.service.idle()
    await case.met()
    await case.hand.call("DELETE", case.hand.script)
    await case.install("ready")
    assert (await case.service.shown())["edge"]["up_to_date"]


# ------------------------------------------------------------------------------------------- what an install may lack


@row(
    "cron_limit",
    "account.error",
    "operation.error",
    details=REFUSED,
    state="connected",
    holds=INSTALLED._replace(crons=0),
)
async def no_cron_is_left(case: Case) -> None:
    await edited(case.service, "theirs", tags=[], name="theirs")
    schedules = f"{case.hand.account}/workers/scripts/theirs/schedules"
    await case.hand.call("PUT", schedules, json=[{"cron": "0 0 * * *"}])
    await case.emulator.set_limits(case.customer.account_id, crons=1)
    await case.connected()
    await case.met()
    await again(case)
    await case.hand.call("PUT", schedules, json=[])
    await case.install("ready")


@row("subdomain_required", "account.error", "operation.error", state="connected", holds=DATABASE_ONLY)
async def no_name_on_workers_dev(case: Case) -> None:
    async def none_is_given() -> None:
        await case.refuse("*/workers/subdomain", "PUT", status=403, code=10031)

    await none_is_given()
    await case.connected()
    await case.met()
    await again(case)
    await case.emulator.clear_faults()
    name = f"w{case.customer.account_id[:12]}"
    await case.hand.call("PUT", f"{case.hand.account}/workers/subdomain", json={"subdomain": name})
    await none_is_given()
    await case.install("ready")


@row("not_configured", "account.error", "operation.error", state="connected", holds=DATABASE_ONLY)
async def a_service_that_moved_to_where_no_worker_reaches_it(case: Case) -> None:
    public, case.place.push_url = case.place.push_url, LOCAL
    await case.refuse(SCRIPT, "PUT", status=500)
    case.place.push_url = public
    await case.start()
    await case.connected()
    await case.emulator.faulted()
    case.place.push_url = LOCAL
    await case.start()
    await case.emulator.clear_faults()
    await case.met()
    assert (await case.post("/install")).code == "not_configured"
    await case.met()
    case.place.push_url = public
    await case.start()
    await case.install("ready")


@row("schema_newer", "answer", details=("schema", "known"))
async def an_older_service(case: Case) -> None:
    older, case.place.bundle = case.place.bundle, case.next_bundle()
    await case.start()
    await case.installed()
    case.place.bundle = older
    await case.start()
    await case.met(await case.post("/install"))
    await case.met(await case.post("/install"))
    case.place.bundle = case.next_bundle()
    await case.start()
    await case.install("ready")


@row("schema_newer", "account.error", "operation.error", details=("schema", "known"), state="connected")
async def an_older_service_that_does_not_know(case: Case) -> None:
    await case.installed()
    await case.hand.sql("update meta set value = 2 where key = 'schema'")
    await case.install("connected")
    await case.met()
    await again(case)
    case.place.bundle = case.next_bundle()
    await case.start()
    await case.install("ready")


@row("cloudflare_error", "account.error", "operation.error", details=REFUSED, state="connected", holds=DATABASE_ONLY)
async def an_upload_that_is_refused(case: Case) -> None:
    await case.refuse(SCRIPT, "PUT", code=10021)
    await case.connected()
    await case.met()
    await again(case)
    await case.emulator.clear_faults()
    await case.install("ready")


@row("cloudflare_error", "account.error", "operation.error", details=BROKEN, state="connected", holds=DATABASE_ONLY)
async def no_rows_are_left_today(case: Case) -> None:
    await case.emulator.set_usage(case.customer.account_id, rows_written=100_000)
    await case.connected()
    await case.met()
    assert "midnight" in (await case.service.shown())["error"]["details"]["remedy"]
    await again(case)
    await case.emulator.set_usage(case.customer.account_id, rows_written=0)  # as it is after midnight
    await case.install("ready")


@row(
    "edge_firewall",
    "account.error",
    "operation.error",
    details=("status", "ray_id"),
    state="connected",
    holds=DATABASE_ONLY,
)
async def an_upload_that_looks_like_an_attack(case: Case) -> None:
    await case.emulator.set_rudeness(firewall_also="main_module")
    await case.connected()
    await case.met()
    await again(case)
    await case.emulator.set_rudeness(firewall_also="")  # whom the operator told has mended it
    await case.install("ready")


# ---------------------------------------------------------------------------------------------- silent workers


@row("self_check_timeout", "operation.error")
@row("not_confirmed", "account.error.warnings")
async def a_worker_that_does_not_report_itself(case: Case) -> None:
    await case.service.ready()
    case.place.clock.advance_s(HOUR_S)
    await case.start()
    await case.met()
    await case.service.idle()
    await case.met()
    await case.install("ready")
    await case.service.confirmed()


@row("worker_silent", "account.error", state="no_connection", timing=QUICK)
async def a_worker_that_is_silent_for_a_day(case: Case) -> None:
    await case.installed()
    case.place.clock.advance_s(27 * HOUR_S)
    await case.start()
    await case.met()
    refused = await case.put_link_host(f"go.{case.zone}")
    assert (refused.code, refused.body["error"]["details"]["reason"]) == ("account_not_ready", "worker_silent")
    await case.met()
    await case.service.confirmed()  # a report ends it
    await case.well()
    case.place.clock.advance_s(27 * HOUR_S)
    await case.start()
    await case.sign_in()
    await case.met()
    await case.install("ready")


@row("crons_stopped", "account.error.warnings", timing=QUICK)
async def a_worker_whose_crons_do_not_run(case: Case) -> None:
    await case.installed()
    case.place.clock.advance_s(3 * HOUR_S)
    await case.start()
    await case.met()
    await case.post("/check")
    await case.met()
    await case.install("ready")


# ----------------------------------------------------------------------------------- requests that come at a bad moment


@row("operation_in_progress", "answer", state="installing", holds=None, shares=True)
async def requests_while_an_install_works(case: Case) -> None:
    await case.installed()
    await case.emulator.fault("slow", SCRIPT, method="PUT", delay_s=3)
    assert (await case.post("/install")).status == 202
    await case.met(await case.post("/install"))
    await case.met(await case.service.call("DELETE", f"/v1/accounts/{(await case.service.account()).id}"))
    await case.service.settled("ready")
    await case.renewed()
    await case.install("ready")


@row("account_not_ready", "answer", details=("reason", *REFUSED), state="connected", holds=DATABASE_ONLY)
async def a_link_host_before_the_worker(case: Case) -> None:
    await case.refuse(SCRIPT, "PUT", code=10021)
    await case.connected()
    await case.service.settled("connected")
    await case.met(await case.put_link_host(f"go.{case.zone}"))
    assert (await case.met(await case.add_site(case.zone)))["reason"] == "cloudflare_error"
    await case.emulator.clear_faults()
    await case.install("ready")
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202


@row("account_not_ready", "answer", state="pending", holds=NOTHING)
async def requests_before_the_connect_is_done(case: Case) -> None:
    await case.refuse("*/tokens", "POST", status=500, times=4)
    await case.service.connect()
    zones = f"/v1/accounts/{(await case.service.account()).id}/zones"
    await case.met(await case.service.call("GET", zones))
    await case.met(await case.add_site(case.zone))
    await case.met(await case.renew())
    await case.met(await case.post("/install"))
    await case.emulator.clear_faults()
    assert (await case.service.connect()).status == 202


@row("cloudflare_unavailable", "answer", details=REFUSED, state="pending", holds=NOTHING)
async def a_platform_that_fails_in_a_connect(case: Case) -> None:
    await case.refuse("*/permission_groups", status=500)
    await case.met(await case.service.connect())
    await case.met(await case.service.connect())
    await case.emulator.clear_faults()
    assert (await case.service.connect()).status == 202  # the same request: its bootstrap token is there


@row("cloudflare_unavailable", "answer", details=REFUSED, shares=True)
async def a_platform_that_fails_in_a_renewal(case: Case) -> None:
    await case.installed()
    _, token = await case.bootstrap()
    await case.refuse("*/permission_groups", status=500)
    await case.met(await case.renew(token))
    await case.met(await case.renew(token))
    await case.emulator.clear_faults()
    await case.renewed(token)


@row("cloudflare_unavailable", "answer", details=("status",), shares=True)
async def a_platform_that_answers_with_pages(case: Case) -> None:
    await case.installed()
    await case.emulator.fault("html", "*", times=None)
    account = f"/v1/accounts/{(await case.service.account()).id}"
    await case.met(await case.service.call("GET", f"{account}/zones"))
    await case.met(await case.add_site(case.zone))
    await case.met(await case.put_link_host(f"go.{case.zone}"))
    await case.met(await case.post("/check"))
    await case.emulator.clear_faults()
    assert (await case.service.call("GET", f"{account}/zones")).status == 200


@row("cloudflare_error", "answer", details=REFUSED)
async def a_platform_that_refuses_a_request(case: Case) -> None:
    await case.installed()
    await case.refuse("/zones", code=1234)
    zones = f"/v1/accounts/{(await case.service.account()).id}/zones"
    await case.met(await case.service.call("GET", zones))
    await case.met(await case.add_site(case.zone))
    await case.met(await case.put_link_host(f"go.{case.zone}"))
    await case.emulator.clear_faults()
    assert (await case.add_site(case.zone)).status == 202
