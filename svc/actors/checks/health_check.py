"""The look at a whole account: is everything at the platform as it should be? What needs no question is mended.

The duty looks when `look_times` says, and at once after a refusal that suggests more; whoever asks gets the findings of
a look of their own.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors import operations
from svc.actors.checks import findings, hosts, installation, schedule, worker_database
from svc.actors.checks.account_state import STATE_AFTER
from svc.actors.checks.findings import Finding
from svc.actors.sync import configuration, routes
from svc.clock import day_of, iso
from svc.edge import analytics, tokens, zones
from svc.errors import CannotUnseal, EdgeRefused, EdgeUnavailable, ErrorNote, ServiceError, StoreUnavailable
from svc.model import SERVING
from svc.store import accounts, states
from svc.store import operations as operation_rows
from svc.store.tx import UNCHANGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from svc.actors.checks.findings import About
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.finding import Subject
    from svc.model import Account, AccountState, Operation
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

# The platform also refuses good tokens, in incidents for minutes to hours: only so many checks in a row, over so long,
# make a token `revoked`.
_REVOKED_AFTER_CHECKS = 3
_REVOKED_AFTER_MS = 3_600_000
_WATCHED: tuple[AccountState, ...] = (*SERVING, "permission_error", "revoked", "resource_drift")
# How closely to look. thorough: also at what hardly ever changes; asked: also at what costs the account rows to read.
Depth = Literal["usual", "thorough", "asked"]
# Of the duty's looks one in so many is thorough: all accounts share the calls that are under way at once.
_THOROUGH_ONE_IN = 6
_OF_THE_TOKEN = frozenset(
    {"revoked", "token_refused", "permission_error", "credentials_missing", "credentials_unreadable"}
)
# Of several findings the account shows the one that the others may follow from.
_GRAVEST_FIRST = (
    "revoked", "credentials_unreadable", "token_refused", "permission_error", "name_taken", "resource_drift",
)  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """A finding that somebody asked for; `mended`: the check has mended it, and looked again."""

    finding: Finding
    mended: bool


async def check_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Look at the account when it is time; mend, and let it show what cannot be mended. All well heals a broken state.

    Nothing is looked at while an operation works on it.
    """
    if account.state not in _WATCHED or account.sealed_token is None:
        return math.inf
    timing, recheck_s = context.config.timing, context.config.timing.recheck_s
    longest_s = schedule.every_s(account, timing, context.clock())
    timers.health_at = min(timers.health_at, trio.current_time() + longest_s)
    due_at = timers.health_at
    if account.suspected_at is not None:
        due_at = min(due_at, timers.looked_at + recheck_s)
    if trio.current_time() < due_at:
        return due_at
    if _works(await context.store.read(operation_rows.running(account.id))):
        return trio.current_time() + recheck_s
    timers.looked_at = trio.current_time()
    next_at = math.inf
    wait_s = timing.health_every_s
    try:
        depth = _depth(account, timers)
        if depth == "thorough":
            timers.thorough_at = trio.current_time() + _THOROUGH_ONE_IN * timing.health_every_s
        found = await _look(context, context.access(account), account, timers, depth)
        await _repair(context, account, found)
        if any(one.is_repairable for one in found):  # the duties of routes and configuration do the rest, at once
            timers.routes_at = timers.sync_at = 0
            next_at = trio.current_time()
        elif found:  # some routes may have to be made again, once it is possible
            timers.routes_at = min(timers.routes_at, trio.current_time() + timing.route_retry_s)
            next_at = timers.routes_at
        looked_at = await context.store.read(accounts.account_by_id(account.id))
        wait_s = schedule.wait_s(looked_at or account, timing, context.clock())
    except EdgeUnavailable as error:
        log.info("health not known", extra={"account": account.id, "why": error.message})
    except (EdgeRefused, CannotUnseal) as error:
        await _settle(context, account, [findings.refused("token", "works", error)])
    timers.health_at = trio.current_time() + wait_s
    return min(next_at, timers.health_at)


async def repeat_install_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Begin an install again that failed because the platform refused the working token, once the token is accepted.

    One that is refused for long enough is `revoked`: then only a person goes on.
    """
    if account.state != "connected" or account.error is None or account.error.code != "token_refused":
        return math.inf
    if trio.current_time() < timers.repeat_at:
        return timers.repeat_at
    timers.repeat_at = trio.current_time() + schedule.while_refused_s(context.config.timing)
    try:
        found = await _token(context, context.access(account), account)
        if not found:
            await operations.begin(context, "install", account.id, lambda effect: effect)
            return trio.current_time()
    except StoreUnavailable:
        raise
    except ServiceError as error:
        log.info("install not repeated", extra={"account": account.id, "code": error.code})
        return timers.repeat_at
    note = await _believed(context, account, found[0].note())
    if note.code != "token_refused":
        await context.store.run(states.move(account.id, (account.state,), account.state, note, context.clock()))
    return timers.repeat_at


def mended(checked: Sequence[Checked]) -> int:
    """How many of the findings the look has mended."""
    return sum(one.mended for one in checked)


def told(checked: Sequence[Checked], *, own: bool) -> Tx[Sequence[Checked]]:
    """The transaction of an answer that tells what a look has found; `own`: it was made for this answer."""
    if not own or not mended(checked):
        yield UNCHANGED
    return checked


async def check_now(context: Context, account: Account, timers: Timers) -> list[Checked]:
    """Look at the account, mend, and look again at what was mended; in any state. Raises EdgeUnavailable.

    The account shows what was found, as after the duty's look.
    """
    found = await _without_platform(context, account)
    if found:
        return [Checked(one, mended=False) for one in found]
    before: list[Finding] | None = None
    try:
        with trio.fail_after(context.config.edge.connect_s):
            access = context.access(account).awaited()
            before = await _look(context, access, account, timers, "asked")
            refusals = await _repair(context, account, before)
            if not any(one.is_repairable for one in before):
                return [Checked(one, mended=False) for one in before]
            await _follow(context, account, timers)
            account = accounts.present(await context.store.read(accounts.account_by_id(account.id)))
            after = await _look(context, access, account, timers, "asked")
            await _settle(context, account, [refusals.get(one.about, one) for one in after])
    except (EdgeUnavailable, trio.TooSlowError) as error:
        if before is not None:
            return [Checked(one, mended=False) for one in before]
        if isinstance(error, EdgeUnavailable):
            raise
        raise EdgeUnavailable("The edge platform took too long.") from None
    except (EdgeRefused, CannotUnseal) as error:
        refused = [findings.refused("token", "works", error)]
        await _settle(context, account, refused)
        return [Checked(one, mended=False) for one in refused]
    remaining = {one.about for one in after}
    repaired = [Checked(one, mended=True) for one in before if one.is_repairable and one.about not in remaining]
    return repaired + [Checked(refusals.get(one.about, one), mended=False) for one in after]


def _depth(account: Account, timers: Timers) -> Depth:
    """How closely the duty looks: whatever was found by a thorough look is gone only when another one says so."""
    doubtful = account.state not in SERVING or account.suspected_at is not None
    return "thorough" if doubtful or trio.current_time() >= timers.thorough_at else "usual"


async def found_with_new_token(context: Context, account: Account) -> tuple[AccountState, ErrorNote | None]:
    """State and error of an account whose token was renewed: what a look at the token, the worker and the database
    finds, or, where the platform does not tell in time, what it was before. `account` has the new token.

    An account whose install has failed, or whose worker was never installed, is `connected`: only an install says more.
    """
    if account.state == "connected" or account.installed_at is None:
        of_the_token = account.error is not None and account.error.code in _OF_THE_TOKEN
        return "connected", None if of_the_token else account.error
    with trio.move_on_after(context.config.edge.settling_in_connect_s):
        try:
            access = context.access(account)
            found = await _token(context, access, account)
            if not found:
                found = (await installation.script(context, access, account))[0]
                found += await installation.database(access, account)
        except EdgeUnavailable as error:
            log.info("health not known", extra={"account": account.id, "why": error.message})
            return account.state, account.error
        except (EdgeRefused, CannotUnseal) as error:
            found = [findings.refused("token", "works", error)]
        worst = _gravest(found)
        if worst is None:
            return (account.state, account.error) if account.state in SERVING else ("ready", None)
        if worst.code != "token_refused":
            return STATE_AFTER[worst.code], worst.note()
    return account.state, account.error


def _works(operation: Operation | None) -> bool:
    """Whether an operation changes things at the platform now; in its self-check it only waits."""
    return operation is not None and operation.step != operation_rows.SELFCHECK


async def _without_platform(context: Context, account: Account) -> list[Finding]:
    """What is wrong before the platform is asked anything, and makes every question to it useless."""
    running = await context.store.read(operation_rows.running(account.id))
    if running is not None and _works(running):
        facts = {"operation": running.kind, "step": running.step}
        return [Finding("operation_running", "operation_in_progress", facts)]
    if account.sealed_token is not None:
        return []
    if account.state == "bootstrap_lost":
        return [Finding("connect_cut_short", "bootstrap_lost")]
    if account.state == "pending":
        return [Finding("connect_waits", "account_not_ready")]
    return [Finding("token_missing", "credentials_missing")]


async def _look(context: Context, access: Access, account: Account, timers: Timers, depth: Depth) -> list[Finding]:
    """All that is wrong. Raises EdgeUnavailable, EdgeRefused."""
    found = await _token(context, access, account)
    if not found:
        found = await _all_but_token(context, access, account, timers, depth)
    return found


async def _token(context: Context, access: Access, account: Account) -> list[Finding]:
    """Whether the working token is alive. Raises EdgeUnavailable."""
    if account.token_expires_at is not None and context.clock() >= account.token_expires_at:
        return [Finding("token_expired", "revoked", {"at": iso(account.token_expires_at)})]
    try:
        status = await tokens.verify(access)
    except EdgeRefused as error:
        return [findings.refused("token", "is accepted", error)]
    if account.token_refused_at is not None:
        await context.store.run(accounts.token_accepted(account.id))
    if status.status != "active":
        return [Finding("token_inactive", "revoked", {"status": status.status})]
    return []


async def _all_but_token(
    context: Context, access: Access, account: Account, timers: Timers, depth: Depth
) -> list[Finding]:
    """What is wrong beside the token. What is not known of script and database raises EdgeUnavailable: it is what the
    account's state is made of. Of the rest it is a finding.
    """
    found: list[Finding] = []
    stands = None
    try:
        about_script, stands = await installation.script(context, access, account)
        found += about_script
    except EdgeRefused as error:
        found.append(findings.refused("script", "is installed", error, "Workers Scripts: Edit"))
    has_database = False
    try:
        about_database = await installation.database(access, account)
        has_database = not about_database
        found += about_database
    except EdgeRefused as error:
        found.append(findings.refused("database", "is there", error, "D1: Edit"))
    if account.edge_bundle is None or account.state == "connected":
        return _not_installed(account, found)
    if stands == "as_uploaded":
        around = partial(installation.around_script, context, access, account, bindings=depth != "usual")
        found += await _part(around, "script", "Workers Scripts: Edit")
    if has_database:
        newer = stands == "newer"
        inside = partial(worker_database.look, context, access, account, timers, newer=newer, count=depth == "asked")
        about_worker = await _part(inside, "database", "D1: Edit")
        await worker_database.note_crons(context, account, about_worker)
        found += about_worker
    found += await _part(partial(hosts.look, context, access, account), "routes", "Workers Routes: Edit")
    if depth != "usual":
        found += await _part(partial(_other_rights, context, access, account), "token", "")
    return _each_once(found)


async def _part(check: Callable[[], Awaitable[list[Finding]]], subject: Subject, right: str) -> list[Finding]:
    """A part of the health check, independent of the others."""
    expected = "can be looked at"
    try:
        return await check()
    except EdgeRefused as error:
        return [findings.refused(subject, expected, error, right)]
    except EdgeUnavailable as error:
        return [findings.unknown(subject, expected, error)]


async def _other_rights(context: Context, access: Access, account: Account) -> list[Finding]:
    """Whether the working token has the rights that no other part of the look uses."""
    today = day_of(context.clock())
    database_id = account.database_id or ""
    uses: tuple[tuple[str, Callable[[], Awaitable[object]]], ...] = (
        ("Zone: Read", partial(hosts.check_zones_are_seen, context, access, account)),
        ("Account Settings: Read", partial(zones.account_name, access)),
        ("Account Analytics: Read", partial(analytics.database_days, access, database_id, today, today)),
    )
    found = []
    for right, use in uses:
        try:
            await use()
        except EdgeRefused as error:
            if error.code == "permission_error":  # of anything else it is not the token's fault
                found.append(findings.refused("token", f"has the right {right}", error, right))
        except EdgeUnavailable as error:
            log.info("rights are not known", extra={"account": account.id, "from": right, "why": error.message})
            break
    return found


def _not_installed(account: Account, found: Sequence[Finding]) -> list[Finding]:
    """Of an account whose worker is not installed, or may be half installed: why, and what is wrong with the token."""
    note = account.error or ErrorNote("resource_drift", "The worker is not installed.")
    why = note.message.removesuffix(".")
    about_token = [one for one in found if one.subject == "token"]
    return [*about_token, Finding("script_not_installed", note.code, {"said": why})]


def _each_once(found: Sequence[Finding]) -> list[Finding]:
    """The findings without repetitions: several parts of the health check may need the same missing right."""
    return list({(one.about, one.code, one.expected): one for one in found}.values())


async def _settle(context: Context, account: Account, found: Sequence[Finding]) -> None:
    """Let the account show the gravest of what was found, whatever it showed before; all well heals it."""
    if not found or account.well_at is not None or account.suspected_at is not None:
        well_at = None if found else context.clock()
        await context.store.run(accounts.looked_at(account.id, account.suspected_at, well_at))
    if account.state not in _WATCHED:
        return
    worst = _gravest(found)
    if worst is None:
        if account.state not in SERVING:
            await context.store.run(states.move(account.id, (account.state,), "ready", None, context.clock()))
        return
    note = await _believed(context, account, worst.note())
    state = STATE_AFTER[note.code]
    if (account.state, account.error) != (state, note):
        log.warning("not well", extra={"account": account.id, "code": note.code})
        await context.store.run(states.move(account.id, (account.state,), state, note, context.clock()))


def _gravest(found: Sequence[Finding]) -> Finding | None:
    """The most serious finding that sets a state and needs a person; None: there is none."""
    grave = [one for one in found if one.code in STATE_AFTER and not one.is_repairable]
    return min(grave, key=lambda one: _GRAVEST_FIRST.index(one.code), default=None)


async def _believed(context: Context, account: Account, note: ErrorNote) -> ErrorNote:
    """The trouble, or `revoked` where the token was refused at several checks for long enough."""
    if note.code != "token_refused":
        return note
    refused_at, checks = await context.store.run(accounts.token_refused(account.id, context.clock()))
    if checks < _REVOKED_AFTER_CHECKS or context.clock() - refused_at < _REVOKED_AFTER_MS:
        return note
    return ErrorNote("revoked", "The edge platform has refused the working token for more than an hour.")


async def _repair(context: Context, account: Account, found: Sequence[Finding]) -> dict[About, Finding]:
    """Repair what can be repaired automatically. The account shows all else that was found.

    Returns the findings whose repair was refused, by what they are about. Raises EdgeUnavailable: the next health check
    tries again.
    """
    refusals: dict[About, Finding] = {}
    try:
        for one in found:
            if one.repair is None:
                continue
            try:
                await one.repair()
            except EdgeRefused as error:
                log.warning("repair refused", extra={"account": account.id, "thing": one.thing, "code": error.code})
                why = error.message.removesuffix(".")
                refusals[one.about] = replace(one, code=error.code, refusal=why, repair=None)
            else:
                log.info("repaired", extra={"account": account.id, "thing": one.thing, "found": one.found})
    finally:
        await _settle(context, account, [refusals.get(one.about, one) for one in found])
    return refusals


async def _follow(context: Context, account: Account, timers: Timers) -> None:
    """Let the duties of routes and configuration do now what the repairs left to them."""
    timers.routes_at = timers.sync_at = 0
    for duty in (routes.make_when_due, configuration.sync_when_due):
        now = accounts.present(await context.store.read(accounts.account_by_id(account.id)))
        await duty(context, now, timers)
