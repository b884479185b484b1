"""The tests' own hand on the platform, under /_control. No rights are asked for: it listens on the loopback only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import trio
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from quart import Blueprint, Response, current_app

from edge_worker.emulator.api.analytics import measure_storage
from edge_worker.emulator.api.wire import ApiError, body_object, invalid
from edge_worker.emulator.client import NO_TLS
from edge_worker.emulator.crons import Cron
from edge_worker.emulator.faults import D1_KINDS, EGRESS_KINDS, Fault, shown
from edge_worker.emulator.platform import InactiveZone, Minting, Platform, ZoneGone, platform
from edge_worker.emulator.runtime.runtime import CronEvent
from edge_worker.emulator.state import Account, epoch_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

routes = Blueprint("control", __name__, url_prefix="/_control")
edge_side = Blueprint("edge_side", __name__, url_prefix="/_emulator")
DAY_S = 86_400
# How long a caller waits for a fault to be met: less than the timeout of the clients of control.
FAULTED_S, FAULTED_POLL_S = 25, 0.005


def as_json(body: Any, status: int = 200) -> Response:
    """Make an answer of control: plain JSON."""
    return Response(json.dumps(body), status=status, content_type="application/json")


class Body(BaseModel):
    """A body of control; fields that it does not know are refused."""

    model_config = ConfigDict(extra="forbid")


Kind = TypeVar("Kind", bound=Body)


async def read(kind: type[Kind]) -> Kind:
    """Read the request's body as that kind. Raises ApiError 400."""
    try:
        return kind.model_validate(await body_object())
    except ValidationError as error:
        raise invalid(str(error)) from None


def account_of(account_id: str) -> Account:
    """Return the account of that id. Raises ApiError 404."""
    account = platform().world.accounts.get(account_id)
    if account is None:
        raise ApiError(404, 7003, "no such account")
    return account


class CronCall(Body):
    """A cron to fire, now or as of `at` (epoch ms or ISO 8601); `cron`: one of the script's, else its first.

    `waits`: what it waits for takes its time.
    """

    account_id: str
    script: str
    cron: str | None = None
    at: int | str | None = None
    waits: bool = False


def check_runs(here: Platform) -> None:
    """Check that scripts run here at all. Raises ApiError 409."""
    if not here.runtime.runs_scripts:
        raise ApiError(409, 0, "no script runs here: the emulator was started with --no-runtime")


async def fire_crons(here: Platform, events: Sequence[CronEvent]) -> list[dict[str, Any]]:
    """Run scheduled() for each event, all at once, and note the outcomes among the state's `cron_runs`."""
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
    """Run every cron that is due in this minute (epoch ms), as the platform does by itself; return their outcomes."""
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
    """Let the present minute of the emulated clock pass: fire what is due by itself."""
    here = platform()
    check_runs(here)
    return as_json(await fire_due(here, here.now() // 60_000 * 60_000))


@routes.post("/cron")
async def cron() -> Response:
    """Fire a cron, and answer once its waitUntil work has settled."""
    call, here = await read(CronCall), platform()
    check_runs(here)
    [run] = await fire_crons(here, [_event(here, call)])
    return as_json(run)


class CronsCall(Body):
    """Crons to fire at once."""

    crons: list[CronCall]


@routes.post("/crons")
async def crons() -> Response:
    """Fire crons of as many accounts as are named at once, and answer once all of their work has settled."""
    call, here = await read(CronsCall), platform()
    check_runs(here)
    return as_json(await fire_crons(here, [_event(here, one) for one in call.crons]))


def _event(here: Platform, call: CronCall) -> CronEvent:
    """Find what is to be fired. Raises ApiError: there is no such script, or it has no such cron."""
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
    """How far the emulated clock is to be ahead of the real one, in seconds."""

    offset_s: float


@routes.post("/clock")
async def clock() -> Response:
    """Move the emulated clock, and with it days and daily limits."""
    call, here = await read(ClockCall), platform()
    await here.runtime.collect()
    here.world.offset_s = call.offset_s
    await here.runtime.update()
    return as_json({"offset_s": call.offset_s, "now": here.now()})


@routes.post("/faults")
async def add_fault() -> Response:
    """Let the next calls that fit fail."""
    try:
        fault = Fault.model_validate(await body_object())
    except ValidationError as error:
        raise invalid(str(error)) from None
    here = platform()
    here.faults.add(fault)
    await _tell_of_faults(here)
    return as_json({}, 201)


@routes.get("/faults")
async def list_faults() -> Response:
    """List the faults that still wait for a call."""
    return as_json([fault.model_dump() for fault in platform().faults.waiting])


@routes.delete("/faults")
async def clear_faults() -> Response:
    """Forget all faults."""
    platform().faults.clear()
    await _tell_of_faults(platform())
    return as_json({})


async def _tell_of_faults(here: Platform) -> None:
    if here.runtime.watch_d1 != here.faults.for_bindings:
        here.runtime.watch_d1 = here.faults.for_bindings
        await here.runtime.update()


@edge_side.post("/fault")
async def fault_for_edge() -> Response:
    """Tell the edge whether a worker's fetch, or a D1 statement while a fault for those waits, is to fail."""
    call, here = await body_object(), platform()
    kinds = EGRESS_KINDS if call["side"] == "egress" else D1_KINDS
    fault = here.faults.match(kinds, call["method"], call["target"])
    if call["side"] == "egress":
        here.note_egress({**call, "at": here.now(), "fault": fault.kind if fault else None})
    return as_json(shown(fault))


@routes.get("/requests")
async def requests() -> Response:
    """Show the API's log, and the workers' own fetches."""
    return as_json({"requests": platform().requests, "egress": platform().egress})


@routes.delete("/requests")
async def forget_requests() -> Response:
    """Empty both logs."""
    platform().requests.clear()
    platform().egress.clear()
    return as_json({})


class FaultedCall(Body):
    """The number of API calls that must have met a fault."""

    calls: int = 1


@routes.post("/faulted")
async def faulted() -> Response:
    """Answer once that many API calls in the log have met a fault; 408 after `FAULTED_S`.

    Polls the log in this process, which costs far less than a client that polls it over HTTP.
    """
    call, here = await read(FaultedCall), platform()
    with trio.move_on_after(FAULTED_S):
        while sum(1 for request in here.requests if request["fault"]) < call.calls:  # noqa: ASYNC110 (nothing tells)
            await trio.sleep(FAULTED_POLL_S)
        return as_json({})
    raise ApiError(408, 0, "no API call met a fault")


class UploadsCall(Body):
    """Which uploads: those after the first `after`."""

    after: int = 0


@routes.post("/uploads")
async def uploads() -> Response:
    """Tell which versions went live, in order, and all that each is bound to, its secrets with their texts.

    It is for who plays the workers where none runs (--no-runtime): such a one needs a worker's key, as the worker does.
    Nothing else here shows a secret.
    """
    call, here = await read(UploadsCall), platform()
    told = []
    for account_id, name, version_id in here.uploads[call.after :]:
        script = here.world.accounts[account_id].scripts.get(name)
        version = script.version(version_id) if script else None
        bindings = version.bindings if version else []
        told.append({"account_id": account_id, "script": name, "version_id": version_id, "bindings": bindings})
    return as_json(told)


def _account_shown(here: Platform, account: Account) -> dict[str, Any]:
    """Return all that an account holds, except secrets' and tokens' values and the modules' code."""
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
    """Show what one account holds. Its usage and storage sizes are as of the last call that counted them."""
    return as_json(_account_shown(platform(), account_of(account_id)))


@routes.get("/state")
async def state() -> Response:
    """Show all that the platform holds, except secrets' and tokens' values and the modules' code."""
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
    """What an account used on a day (epoch day or date; default: today).

    It goes on counting from there, and the limits of the present day count from it too.
    """

    account_id: str
    day: int | str | None = None
    requests: int | None = None
    rows_read: int | None = None
    rows_written: int | None = None
    pages_requests: int | None = None
    size: int | None = None
    sample_interval: float | None = None


@routes.post("/usage")
async def usage() -> Response:
    """Set what an account used on a day."""
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
    """Raises ApiError when a browser would end at the edge's certificate: the edge itself has no TLS here."""
    for account in here.world.accounts.values():
        for zone in account.zones.values():
            inside = host == zone.name or host.endswith(f".{zone.name}")
            if inside and not zone.has_certificate(host):
                raise ApiError(421, 0, f"TLS: no certificate of zone {zone.name} covers {host}")


@routes.post("/visit")
async def visit() -> Response:
    """Send one request through the edge, and show its answer; redirects are not followed."""
    call, here = await read(VisitCall), platform()
    check_runs(here)
    _check_certificate(here, call.host.lower())
    headers = {**call.headers, "Host": call.host}
    if call.cf is not None:
        headers["X-Emulator-Cf"] = json.dumps(call.cf)
    if call.ip is not None:
        headers["X-Emulator-Ip"] = call.ip
    async with httpx.AsyncClient(trust_env=False, timeout=60, verify=NO_TLS) as client:
        for name in ("accept", "user-agent", "accept-encoding", "connection"):
            client.headers.pop(name, None)
        request = client.build_request(call.method, here.edge_url + call.path, headers=headers, content=call.body)
        answer = await client.send(request)
    body = {"status": answer.status_code, "headers": dict(answer.headers), "body": answer.text}
    return as_json(body)


class PageCall(Body):
    """A page of the origin."""

    host: str
    path: str = "/"
    body: str
    content_type: str = "text/html; charset=utf-8"
    status: int = 200


@routes.post("/pages")
async def add_page() -> Response:
    """Put a page on a customer's own server."""
    call = await read(PageCall)
    pages = current_app.extensions["pages"]
    pages[call.host.lower(), call.path] = (call.status, call.content_type, call.body.encode())
    return as_json({}, 201)


@routes.post("/settled")
async def settled() -> Response:
    """Answer when no worker invocation runs, waitUntil work included."""
    await platform().runtime.settled()
    return as_json({})


class IsolatesCall(Body):
    """`place`: the data centre whose isolates are to answer from now on, with its own caches; null: the same."""

    place: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")


@routes.post("/isolates")
async def new_isolates() -> Response:
    """Begin new isolates of all scripts, as the platform does whenever and wherever it likes."""
    call, here = await read(IsolatesCall), platform()
    await here.runtime.new_isolates(call.place)
    return as_json({"place": here.runtime.place})


class RudenessCall(Body):
    """How rude the API is: a new token's delay and spread; one answer in so many is slow, one call in so many refused
    (0: none); the rest see platform.Platform.

    `firewall`: whether bodies that look like an attack are refused; `firewall_also`: one more pattern ("": none).
    `renamed_right`: the name of a right that the platform lists under another name ("": none).
    `ignores_fail_open`: routes neither keep nor show `request_limit_fail_open`.
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
    renamed_right: str | None = None
    ignores_fail_open: bool | None = None
    cron_delay_s: float | None = None
    cron_missed_one_in: int | None = None


def _set_rudeness(here: Platform, call: RudenessCall) -> None:
    for name, value in call.model_dump(exclude_none=True).items():
        setattr(here, name, value)


@routes.post("/rudeness")
async def set_rudeness() -> Response:
    """Change how rude the API is."""
    call, here = await read(RudenessCall), platform()
    _set_rudeness(here, call)
    return as_json({name: getattr(here, name) for name in RudenessCall.model_fields})


@routes.post("/reset")
async def reset() -> Response:
    """Delete all accounts, faults and logs, and set how rude the API is. Running workers end with the next upload."""
    call, here = await read(RudenessCall), platform()
    _set_rudeness(here, call)
    databases = [uuid for account in here.world.accounts.values() for uuid in account.databases]
    for emptied in (
        here.world.accounts, here.windows, here.uploads, here.cron_runs, here.requests, here.egress, here.faults,
    ):  # fmt: skip
        emptied.clear()
    here.runtime.watch_d1 = False
    await here.runtime.update()
    for database in databases:
        await here.runtime.destroy_database(database)
    return as_json({})
