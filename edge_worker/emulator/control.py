"""The control interface for tests, under /_control.

It is reachable only on the loopback interface, so it needs no authentication.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import trio
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from quart import Blueprint, Response, current_app

from edge_worker.emulator.api.analytics import measure_storage
from edge_worker.emulator.api.wire import ApiError, body_object, invalid
from edge_worker.emulator.crons import Cron
from edge_worker.emulator.faults import D1_KINDS, EGRESS_KINDS, Fault, shown
from edge_worker.emulator.platform import InactiveZone, Minting, Platform, ZoneGone, platform
from edge_worker.emulator.runtime.runtime import CronEvent
from edge_worker.emulator.state import Account, epoch_ms
from edge_worker.local_http import local_client

if TYPE_CHECKING:
    from collections.abc import Sequence

routes = Blueprint("control", __name__, url_prefix="/_control")
edge_side = Blueprint("edge_side", __name__, url_prefix="/_emulator")
DAY_S = 86_400
# Maximum time that `faulted` waits. It is shorter than the clients' timeout, so that a client gets the response.
FAULTED_S, FAULTED_POLL_S = 25, 0.005


def as_json(body: Any, status: int = 200) -> Response:
    """Return a plain JSON response."""
    return Response(json.dumps(body), status=status, content_type="application/json")


class Body(BaseModel):
    """A request body of the control interface. Unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


Kind = TypeVar("Kind", bound=Body)


async def read(kind: type[Kind]) -> Kind:
    """Parse the request's body as a `kind`. Raises ApiError 400."""
    try:
        return kind.model_validate(await body_object())
    except ValidationError as error:
        raise invalid(str(error)) from None


def account_of(account_id: str) -> Account:
    """Return the account with that id. Raises ApiError 404."""
    account = platform().world.accounts.get(account_id)
    if account is None:
        raise ApiError(404, 7003, "no such account")
    return account


class CronCall(Body):
    """A cron to fire, now or at `at` (epoch ms or ISO 8601). `cron`: one of the script's crons; default: the first.

    `waits`: if true, scheduler.wait takes real time.
    """

    account_id: str
    script: str
    cron: str | None = None
    at: int | str | None = None
    waits: bool = False


def check_runs(here: Platform) -> None:
    """Check that the emulator runs scripts. Raises ApiError 409."""
    if not here.runtime.runs_scripts:
        raise ApiError(409, 0, "the emulator runs no scripts because it was started with --no-runtime")


async def fire_crons(here: Platform, events: Sequence[CronEvent]) -> list[dict[str, Any]]:
    """Run scheduled() for all events concurrently, and add the outcomes to the state's `cron_runs`."""
    outcomes = await here.runtime.crons(events)
    runs = [
        {
            "account_id": event.account.id,
            "script": event.script.name,
            "cron": event.cron,
            "at": event.at,
            **outcome,
        }
        for event, outcome in zip(events, outcomes, strict=True)
    ]
    here.cron_runs += runs
    del here.cron_runs[:-100]
    return runs


async def fire_due(here: Platform, minute: int, waits: bool = False) -> list[dict[str, Any]]:
    """Run every cron that is due in this minute (epoch ms), as the platform does, and return the outcomes."""
    events: list[CronEvent] = []
    for account in here.world.accounts.values():
        for script in account.scripts.values():
            for schedule in script.schedules:
                due = script.active and schedule.begins_at <= minute and Cron.parse(schedule.cron).fits(minute)
                missed = here.cron_missed_one_in and here.dice.randrange(here.cron_missed_one_in) == 0
                if due and not missed:
                    events.append(CronEvent(account, script, schedule.cron, minute, waits))
    return await fire_crons(here, events)


@routes.post("/minute")
async def minute() -> Response:
    """Run all crons that are due in the current minute of the emulated clock."""
    here = platform()
    check_runs(here)
    return as_json(await fire_due(here, here.now() // 60_000 * 60_000))


@routes.post("/cron")
async def cron() -> Response:
    """Fire a cron, and respond after its waitUntil work has ended."""
    call, here = await read(CronCall), platform()
    check_runs(here)
    [run] = await fire_crons(here, [_event(here, call)])
    return as_json(run)


class CronsCall(Body):
    """Crons to fire concurrently."""

    crons: list[CronCall]


@routes.post("/crons")
async def crons() -> Response:
    """Fire crons of several accounts concurrently, and respond after all of their work has ended."""
    call, here = await read(CronsCall), platform()
    check_runs(here)
    return as_json(await fire_crons(here, [_event(here, one) for one in call.crons]))


def _event(here: Platform, call: CronCall) -> CronEvent:
    """Return the cron event to fire. Raises ApiError if the script or its cron does not exist."""
    account = account_of(call.account_id)
    script = account.scripts.get(call.script)
    if script is None or script.active is None:
        raise ApiError(404, 10007, "no such script")
    crons = [schedule.cron for schedule in script.schedules]
    if call.cron not in (None, *crons) or not crons:
        raise ApiError(409, 10072, f"the script has no such cron trigger; it has {crons}")
    at = epoch_ms(call.at) if isinstance(call.at, str) else call.at
    minute = here.now() // 60_000 * 60_000
    return CronEvent(account, script, call.cron or crons[0], minute if at is None else at, call.waits)


class ClockCall(Body):
    """Offset of the emulated clock from the real one, in seconds."""

    offset_s: float


@routes.post("/clock")
async def clock() -> Response:
    """Move the emulated clock. Days and daily limits follow this clock."""
    call, here = await read(ClockCall), platform()
    await here.runtime.collect()
    here.world.offset_s = call.offset_s
    await here.runtime.update()
    return as_json({"offset_s": call.offset_s, "now": here.now()})


@routes.post("/faults")
async def add_fault() -> Response:
    """Make the next matching calls fail."""
    try:
        fault = Fault.model_validate(await body_object())
    except ValidationError as error:
        raise invalid(str(error)) from None
    here = platform()
    here.faults.add(fault)
    await _update_fault_watch(here)
    return as_json({}, 201)


@routes.get("/faults")
async def list_faults() -> Response:
    """List the faults that have not been used up."""
    return as_json([fault.model_dump() for fault in platform().faults.waiting])


@routes.delete("/faults")
async def clear_faults() -> Response:
    """Delete all faults."""
    platform().faults.clear()
    await _update_fault_watch(platform())
    return as_json({})


async def _update_fault_watch(here: Platform) -> None:
    if here.runtime.watch_d1 != here.faults.for_bindings:
        here.runtime.watch_d1 = here.faults.for_bindings
        await here.runtime.update()


@edge_side.post("/fault")
async def fault_for_edge() -> Response:
    """Return the fault that applies to a Worker's fetch or D1 statement. The emulated edge makes this call."""
    call, here = await body_object(), platform()
    kinds = EGRESS_KINDS if call["side"] == "egress" else D1_KINDS
    fault = here.faults.match(kinds, call["method"], call["target"])
    if call["side"] == "egress":
        here.log_egress({**call, "at": here.now(), "fault": fault.kind if fault else None})
    return as_json(shown(fault))


@routes.get("/requests")
async def requests() -> Response:
    """Return the log of calls to the emulated API, and of the fetches that Workers sent."""
    return as_json({"requests": platform().requests, "egress": platform().egress})


@routes.delete("/requests")
async def forget_requests() -> Response:
    """Empty the log of API calls and the log of the Workers' own fetches."""
    platform().requests.clear()
    platform().egress.clear()
    return as_json({})


class FaultedCall(Body):
    """A call that waits until faults have affected `calls` calls of the API."""

    calls: int = 1


@routes.post("/faulted")
async def faulted() -> Response:
    """Respond when the log has the requested number of API calls with faults, or with 408 after `FAULTED_S`.

    Polling the log in this process takes far less CPU time than polling it over HTTP.
    """
    call, here = await read(FaultedCall), platform()
    with trio.move_on_after(FAULTED_S):
        while sum(1 for request in here.requests if request["fault"]) < call.calls:  # noqa: ASYNC110 (no event)
            await trio.sleep(FAULTED_POLL_S)
        return as_json({})
    raise ApiError(408, 0, "too few API calls met a fault")


class UploadsCall(Body):
    """Selects all uploads except the first `after` uploads."""

    after: int = 0


@routes.post("/uploads")
async def uploads() -> Response:
    """Return the deployed versions in order, each with its bindings, including the values of secrets.

    With --no-runtime, other programs can act as the Workers, and need the Workers' keys for this. No other endpoint
    returns secrets.
    """
    call, here = await read(UploadsCall), platform()
    uploaded = []
    for account_id, name, version_id in here.uploads[call.after :]:
        script = here.world.accounts[account_id].scripts.get(name)
        version = script.version(version_id) if script else None
        bindings = version.bindings if version else []
        uploaded.append({"account_id": account_id, "script": name, "version_id": version_id, "bindings": bindings})
    return as_json(uploaded)


def _account_shown(here: Platform, account: Account) -> dict[str, Any]:
    """Return the state of an account, except values of secrets and tokens, and module code."""
    held = account.model_dump(exclude={"tokens": {"__all__": {"value"}}, "scripts": True})
    held["scripts"] = {
        name: {
            **script.model_dump(exclude={"versions"}),
            "versions": [
                {
                    **version.model_dump(exclude={"modules", "bindings"}),
                    "bindings": [
                        {k: v for k, v in binding.items() if binding["type"] != "secret_text" or k != "text"}
                        for binding in version.bindings
                    ],
                }
                for version in script.versions
            ],
            "active_version_id": script.active.id if script.active else None,
            "max_d1_queries": here.runtime.max_d1_queries.get(account.id, {}).get(name, 0),
        }
        for name, script in account.scripts.items()
    }
    return held


@routes.get("/accounts/<account_id>")
async def account_state(account_id: str) -> Response:
    """Return the state of one account. This call does not update the usage and storage sizes."""
    return as_json(_account_shown(platform(), account_of(account_id)))


@routes.get("/state")
async def state() -> Response:
    """Return the platform's whole state, except values of secrets and tokens, and module code."""
    here = platform()
    await here.runtime.collect()
    for account in here.world.accounts.values():
        await measure_storage(account)
    world = here.world.model_dump(exclude={"accounts"})
    world["accounts"] = {account.id: _account_shown(here, account) for account in here.world.accounts.values()}
    world["today"] = here.runtime.today()
    world["now"] = here.now()
    world["cron_runs"] = here.cron_runs
    world["logs"] = here.logs
    return as_json(world)


class UsageCall(Body):
    """Usage of an account on a day (epoch day or date; default: today).

    The emulator sets the usage to these values, and continues counting from them. Today's values count toward the
    account's daily limits.
    """

    account_id: str
    day: int | str | None = None
    requests: int | None = None
    rows_read: int | None = None
    rows_written: int | None = None
    pages_requests: int | None = None
    size: int | None = None
    web_views: dict[str, tuple[int, int]] | None = None
    sample_interval: float | None = None


@routes.post("/usage")
async def usage() -> Response:
    """Set the usage of an account on a day."""
    call, here = await read(UsageCall), platform()
    account = account_of(call.account_id)
    day = call.day
    if day is None:
        day = here.runtime.today()
    elif isinstance(day, str):
        day = epoch_ms(f"{day}T00:00:00Z") // (DAY_S * 1000)
    await here.runtime.collect()
    used = account.day(day)
    for name, value in call.model_dump(exclude={"account_id", "day"}, exclude_none=True).items():
        setattr(used, name, value)
    await here.runtime.set_meter(account, day, used)
    await here.runtime.update()
    return as_json(used.model_dump())


class VisitCall(Body):
    """One request through the edge."""

    host: str
    path: str = "/"
    method: str = "GET"
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    cf: dict[str, Any] | None = None
    ip: str | None = None


def _check_certificate(here: Platform, host: str) -> None:
    """Check that a certificate covers the host, because the emulated edge has no TLS. Raises ApiError if not."""
    for account in here.world.accounts.values():
        for zone in account.zones.values():
            inside = host == zone.name or host.endswith(f".{zone.name}")
            if inside and not zone.has_certificate(host):
                raise ApiError(421, 0, f"TLS: no certificate of zone {zone.name} covers {host}")


@routes.post("/visit")
async def visit() -> Response:
    """Send one request through the edge and return its response. Redirects are not followed."""
    call, here = await read(VisitCall), platform()
    check_runs(here)
    _check_certificate(here, call.host.lower())
    headers = {**call.headers, "Host": call.host}
    if call.cf is not None:
        headers["X-Emulator-Cf"] = json.dumps(call.cf)
    if call.ip is not None:
        headers["X-Emulator-Ip"] = call.ip
    async with local_client(timeout=60) as client:
        for name in ("accept", "user-agent", "accept-encoding", "connection"):
            client.headers.pop(name, None)
        request = client.build_request(call.method, here.edge_url + call.path, headers=headers, content=call.body)
        response = await client.send(request)
    body = {"status": response.status_code, "headers": dict(response.headers), "body": response.text}
    return as_json(body)


class PageCall(Body):
    """A page of the origin server."""

    host: str
    path: str = "/"
    body: str
    content_type: str = "text/html; charset=utf-8"
    status: int = 200


@routes.post("/pages")
async def add_page() -> Response:
    """Add a page to a customer's origin server."""
    call = await read(PageCall)
    pages = current_app.extensions["pages"]
    pages[call.host.lower(), call.path] = (call.status, call.content_type, call.body.encode())
    return as_json({}, 201)


@routes.post("/settled")
async def settled() -> Response:
    """Respond when no Worker invocation is running, including waitUntil work."""
    await platform().runtime.settled()
    return as_json({})


class IsolatesCall(Body):
    """Set where new isolates start. `place`: a data center, which has its own caches; null: the current one."""

    place: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")


@routes.post("/isolates")
async def new_isolates() -> Response:
    """Start new isolates of all scripts, as the platform may do at any time and place."""
    call, here = await read(IsolatesCall), platform()
    await here.runtime.new_isolates(call.place)
    return as_json({"place": here.runtime.place})


class FailureSettingsCall(Body):
    """Failure settings of the API. platform.Platform describes the fields.

    `firewall`: true to reject bodies that resemble an attack; `firewall_also`: an additional pattern ("": none).
    `renamed_permission`: a permission that the platform lists under another name ("": none).
    `ignores_fail_open`: true if routes neither store nor show `request_limit_fail_open`.
    """

    token_delay_ms: int | None = None
    token_spread_ms: int | None = None
    slow_one_in: int | None = None
    slow_ms: int | None = None
    refuse_one_in: int | None = None
    minting: Minting | None = None
    zone_gone: ZoneGone | None = None
    inactive_zone: InactiveZone | None = None
    rate_limit: int | None = None
    rate_window_s: float | None = None
    firewall: bool | None = None
    firewall_also: str | None = None
    renamed_permission: str | None = None
    ignores_fail_open: bool | None = None
    cron_delay_s: float | None = None
    cron_missed_one_in: int | None = None


def _set_failure_settings(here: Platform, call: FailureSettingsCall) -> None:
    for name, value in call.model_dump(exclude_none=True).items():
        setattr(here, name, value)


@routes.post("/failure-settings")
async def set_failure_settings() -> Response:
    """Change the failure settings."""
    call, here = await read(FailureSettingsCall), platform()
    _set_failure_settings(here, call)
    return as_json({name: getattr(here, name) for name in FailureSettingsCall.model_fields})


@routes.post("/reset")
async def reset() -> Response:
    """Delete all accounts, faults and logs, and set the failure settings and the real time.

    Running Workers stop at the next upload.
    """
    call, here = await read(FailureSettingsCall), platform()
    _set_failure_settings(here, call)
    databases = [uuid for account in here.world.accounts.values() for uuid in account.databases]
    for emptied in (
        here.world.accounts, here.windows, here.uploads, here.cron_runs, here.requests, here.egress, here.faults,
    ):  # fmt: skip
        emptied.clear()
    here.world.offset_s = 0
    here.runtime.watch_d1 = False
    await here.runtime.update()
    for database in databases:
        await here.runtime.destroy_database(database)
    return as_json({})
