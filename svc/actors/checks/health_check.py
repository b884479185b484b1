"""The health check of an account: compares Cloudflare with the store, and makes the repairs that are safe.

A duty (recurring task) checks an account at the times that `schedule` sets, and immediately after a refused call that
suggests further problems. Users can also request a check and get its findings.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors import operations
from svc.actors.checks import (
    findings,
    hosts,
    installation,
    link_host_visit,
    schedule,
    worker_database,
    working_token,
)
from svc.actors.checks.account_state import STATE_AFTER
from svc.actors.checks.findings import Finding
from svc.actors.sync import configuration, routes
from svc.errors import CannotUnseal, EdgeRefused, EdgeUnavailable, ErrorNote, ServiceError, StoreUnavailable
from svc.model import SERVING
from svc.store import account_health, accounts, states
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

_WATCHED: tuple[AccountState, ...] = (*SERVING, "permission_error", "revoked", "resource_drift")
# The extent of a check. A "thorough" check also covers parts that rarely change. An "asked" check is a thorough check
# that a user requested. It also sends a request to the link host, and counts the configuration rows in the Worker's
# database. To count them, D1 has to read all of them.
Depth = Literal["usual", "thorough", "asked"]
# The time between two thorough checks, as a multiple of `health_every_s`. The checks in between are not thorough,
# because all accounts share one limit on concurrent calls.
_THOROUGH_ONE_IN = 6
_TOKEN_CODES = frozenset(
    {"revoked", "token_refused", "permission_error", "credentials_missing", "credentials_unreadable"}
)
# If there are several findings, the account shows the one whose code comes first in this list, because that problem may
# have caused the others.
_MOST_SEVERE_FIRST = (
    "revoked", "credentials_unreadable", "token_refused", "permission_error", "name_taken", "resource_drift",
)  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """A finding of a requested check.

    `repaired`: True if this check repaired the difference, and a second check confirmed this.
    """

    finding: Finding
    repaired: bool


async def check_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Check the account if a check is due, and repair findings that can be repaired automatically.

    The most severe finding that was not repaired becomes the account's error.

    If there are no findings, the account's state becomes `ready` again. While an operation is changing the account, no
    check runs.
    """
    if account.state not in _WATCHED or account.sealed_token is None:
        return math.inf
    timing, recheck_s = context.config.timing, context.config.timing.recheck_s
    longest_s = schedule.every_s(account, timing, context.clock())
    timers.health_at = min(timers.health_at, trio.current_time() + longest_s)
    due_at = timers.health_at
    if account.suspected_at is not None:
        due_at = min(due_at, timers.last_check_at + recheck_s)
    if trio.current_time() < due_at:
        return due_at
    if _is_changing(await context.store.read(operation_rows.running(account.id))):
        return trio.current_time() + recheck_s
    timers.last_check_at = trio.current_time()
    next_at = math.inf
    wait_s = timing.health_every_s
    try:
        depth = _depth(account, timers)
        count_at = timers.count_at
        try:
            problems = await _find_problems(context, context.access(account), account, timers, depth)
            await _repair(context, account, problems)
        except (EdgeUnavailable, trio.Cancelled):
            timers.count_at = count_at  # if rows were counted, the next check counts them again
            raise
        if depth == "thorough" and not any(problem.is_unknown for problem in problems):
            timers.thorough_at = trio.current_time() + _THOROUGH_ONE_IN * timing.health_every_s
        # Run the duties for routes and configuration now. They complete the repairs.
        if any(problem.is_repairable for problem in problems):
            timers.routes_at = timers.sync_at = 0
            next_at = trio.current_time()
        elif problems:  # routes may have to be created again later
            timers.routes_at = min(timers.routes_at, trio.current_time() + timing.route_retry_s)
            next_at = timers.routes_at
        current = await context.store.read(accounts.account_by_id(account.id))
        wait_s = schedule.wait_s(current or account, timing, context.clock())
    except EdgeUnavailable as error:
        log.info("health unknown", extra={"account": account.id, "why": error.message})
    except (EdgeRefused, CannotUnseal) as error:
        await _record_findings(context, account, [findings.refused("token", "works", error)])
    timers.health_at = trio.current_time() + wait_s
    return min(next_at, timers.health_at)


async def repeat_install_when_due(context: Context, account: Account, timers: Timers) -> float:
    """If an install failed because Cloudflare refused the working token, repeat the install when the token is accepted.

    If several checks over more than an hour show that Cloudflare refuses the token (`_confirm_refusal`), the account's
    error becomes `revoked`. The user then has to replace the token.
    """
    if account.state != "connected" or account.error is None or account.error.code != "token_refused":
        return math.inf
    if trio.current_time() < timers.repeat_at:
        return timers.repeat_at
    timers.repeat_at = trio.current_time() + schedule.while_refused_s(context.config.timing)
    try:
        problems = await working_token.check(context, context.access(account), account)
        if not problems:
            await operations.begin(context, "install", account.id, lambda effect: effect)
            return trio.current_time()
    except trio.Cancelled:  # a request interrupted the check
        timers.repeat_at = trio.current_time()
        raise
    except StoreUnavailable:
        raise
    except ServiceError as error:
        log.info("install not repeated", extra={"account": account.id, "code": error.code})
        return timers.repeat_at
    note = await working_token.confirm_refusal(context, account, problems[0].to_note())
    if note.code != "token_refused":
        await context.store.run(states.move(account.id, (account.state,), account.state, note, context.clock()))
    return timers.repeat_at


def count_repaired(checked: Sequence[Checked]) -> int:
    """Return the number of findings that the check repaired."""
    return sum(finding.repaired for finding in checked)


def check_result(checked: Sequence[Checked], *, is_own: bool) -> Tx[Sequence[Checked]]:
    """Return a transaction that returns the findings.

    `is_own`: True if the check was started for this request and not for another one. The request's event is recorded
    only if `is_own` is True and the check repaired something.
    """
    if not is_own or not count_repaired(checked):
        yield UNCHANGED
    return checked


async def check_now(context: Context, account: Account, timers: Timers) -> list[Checked]:
    """Check and repair the account in any state. After repairs, check the account again. Return the findings.

    The most severe finding becomes the account's error, as in an automatic check. Raises EdgeUnavailable if the first
    check cannot be completed.
    """
    problems = await _local_findings(context, account)
    if problems:
        return [Checked(each, repaired=False) for each in problems]
    before: list[Finding] | None = None
    try:
        with trio.fail_after(context.config.edge.connect_s):
            access = context.access(account).awaited()
            before = await _find_problems(context, access, account, timers, "asked")
            refusals = await _repair(context, account, before)
            if not any(each.is_repairable for each in before):
                return [Checked(each, repaired=False) for each in before]
            await _run_following_duties(context, account, timers)
            account = accounts.present(await context.store.read(accounts.account_by_id(account.id)))
            after = await _find_problems(context, access, account, timers, "asked")
            await _record_findings(context, account, [refusals.get(each.about, each) for each in after])
    except (EdgeUnavailable, trio.TooSlowError) as error:
        if before is not None:
            return [Checked(each, repaired=False) for each in before]
        if isinstance(error, EdgeUnavailable):
            raise
        raise EdgeUnavailable("Cloudflare took too long.") from None
    except (EdgeRefused, CannotUnseal) as error:
        refused = [findings.refused("token", "works", error)]
        await _record_findings(context, account, refused)
        return [Checked(each, repaired=False) for each in refused]
    remaining = {each.about for each in after}
    repaired = [Checked(each, repaired=True) for each in before if each.is_repairable and each.about not in remaining]
    return repaired + [Checked(refusals.get(each.about, each), repaired=False) for each in after]


def _depth(account: Account, timers: Timers) -> Depth:
    """Return the depth of the account's next scheduled check.

    Some errors can be found or cleared only by a thorough check. If the account may have such an error, the next check
    is thorough.
    """
    doubtful = account.state not in SERVING or account.suspected_at is not None
    return "thorough" if doubtful or trio.current_time() >= timers.thorough_at else "usual"


async def state_with_new_token(context: Context, account: Account) -> tuple[AccountState, ErrorNote | None]:
    """Check the token, the script and the database after a renewal.

    Returns the account's new state and error.

    `account` must already contain the new token. If Cloudflare does not respond in time, the state and the error do not
    change. An account stays `connected` if its Worker was never installed or the install failed.
    """
    if account.state == "connected" or account.installed_at is None:
        is_about_token = account.error is not None and account.error.code in _TOKEN_CODES
        return "connected", None if is_about_token else account.error
    with trio.move_on_after(context.config.edge.settling_in_connect_s):
        try:
            access = context.access(account)
            problems = await working_token.check(context, access, account)
            if not problems:
                problems = (await installation.script(context, access, account))[0]
                problems += await installation.database(access, account)
        except EdgeUnavailable as error:
            log.info("health unknown", extra={"account": account.id, "why": error.message})
            return account.state, account.error
        except (EdgeRefused, CannotUnseal) as error:
            problems = [findings.refused("token", "works", error)]
        worst = _most_severe(problems)
        if worst is None:
            return (account.state, account.error) if account.state in SERVING else ("ready", None)
        if worst.code != "token_refused":
            return STATE_AFTER[worst.code], worst.to_note()
    return account.state, account.error


def _is_changing(operation: Operation | None) -> bool:
    """Return True if the operation is changing resources at Cloudflare.

    In its last step, the self-check, an operation only waits for the Worker's first push.
    """
    return operation is not None and operation.step != operation_rows.SELFCHECK


async def _local_findings(context: Context, account: Account) -> list[Finding]:
    """Return the problems that are known from the store alone. If there are any, the check does not call Cloudflare."""
    running = await context.store.read(operation_rows.running(account.id))
    if running is not None and _is_changing(running):
        facts = {"operation": running.kind, "step": running.step}
        return [Finding("operation_running", "operation_in_progress", facts)]
    if account.sealed_token is not None:
        return []
    if account.state == "bootstrap_lost":
        return [Finding("connect_cut_short", "bootstrap_lost")]
    if account.state == "pending":
        return [Finding("connect_waits", "account_not_ready")]
    return [Finding("token_missing", "credentials_missing")]


async def _find_problems(
    context: Context, access: Access, account: Account, timers: Timers, depth: Depth
) -> list[Finding]:
    """Run all checks and return their findings. Raises EdgeUnavailable or EdgeRefused."""
    problems = await working_token.check(context, access, account)
    if not problems:
        problems = await _all_but_token(context, access, account, timers, depth)
    return problems


async def _all_but_token(
    context: Context, access: Access, account: Account, timers: Timers, depth: Depth
) -> list[Finding]:
    """Check everything except the token.

    Raises EdgeUnavailable if the script or the database cannot be checked, because the account's state depends on them.
    If the check of another part fails, the failure becomes a finding.
    """
    problems: list[Finding] = []
    status = None
    try:
        about_script, status = await installation.script(context, access, account)
        problems += about_script
    except EdgeRefused as error:
        problems.append(findings.refused("script", "is installed", error, "Workers Scripts: Edit"))
    has_database = False
    try:
        about_database = await installation.database(access, account)
        has_database = not about_database
        problems += about_database
    except EdgeRefused as error:
        problems.append(findings.refused("database", "exists", error, "D1: Edit"))
    if account.edge_bundle is None or account.state == "connected":
        return _not_installed(account, problems)
    if status == "as_uploaded":
        around = partial(installation.script_settings, context, access, account, bindings=depth != "usual")
        problems += await _check_part(around, "script", "Workers Scripts: Edit")
    if has_database:
        newer = status == "newer"
        inside = partial(
            worker_database.check_database, context, access, account, timers, newer=newer, count=depth == "asked"
        )
        about_worker = await _check_part(inside, "database", "D1: Edit")
        await worker_database.record_crons(context, account, about_worker)
        problems += about_worker
    check_hosts = partial(hosts.check_hosts, context, access, account)
    problems += await _check_part(check_hosts, "routes", "Workers Routes: Edit")
    if depth != "usual":
        problems += await _check_part(partial(working_token.check_permissions, context, access, account), "token", "")
    if depth == "asked":
        problems += await link_host_visit.visit_now(context, account.id)
    return _without_duplicates(problems)


async def _check_part(
    check: Callable[[], Awaitable[list[Finding]]], subject: Subject, permission: str
) -> list[Finding]:
    """Run one part of the check and return its findings.

    If a call fails, the failure is returned as a finding, so that the other parts are still checked.
    """
    expected = "can be checked"
    try:
        return await check()
    except EdgeRefused as error:
        return [findings.refused(subject, expected, error, permission)]
    except EdgeUnavailable as error:
        return [findings.unknown(subject, expected, error)]


def _not_installed(account: Account, problems: Sequence[Finding]) -> list[Finding]:
    """Return the findings for an account with an incomplete install: why the install failed, and token problems."""
    note = account.error or ErrorNote("resource_drift", "The Worker is not installed.")
    why = note.message.removesuffix(".")
    about_token = [problem for problem in problems if problem.subject == "token"]
    return [*about_token, Finding("script_not_installed", note.code, {"said": why})]


def _without_duplicates(problems: Sequence[Finding]) -> list[Finding]:
    """Return the findings without duplicates.

    Duplicates occur if several parts of the check require the same missing permission.
    """
    return list({(problem.about, problem.code, problem.expected): problem for problem in problems}.values())


async def _record_findings(context: Context, account: Account, problems: Sequence[Finding]) -> None:
    """Show the most severe finding on the account in place of any earlier error.

    If no finding requires action by the user, the state becomes `ready` again. If a part could not be checked, the
    state and the error stay, because that part may have caused them.
    """
    if not problems or account.well_at is not None or account.suspected_at is not None:
        well_at = None if problems else context.clock()
        await context.store.run(account_health.record_health_check(account.id, account.suspected_at, well_at))
    if account.state not in _WATCHED:
        return
    worst = _most_severe(problems)
    if worst is None:
        if account.state not in SERVING and not any(problem.is_unknown for problem in problems):
            await context.store.run(states.move(account.id, (account.state,), "ready", None, context.clock()))
        return
    note = await working_token.confirm_refusal(context, account, worst.to_note())
    state = STATE_AFTER[note.code]
    if (account.state, account.error) != (state, note):
        log.warning("account unhealthy", extra={"account": account.id, "code": note.code})
        await context.store.run(states.move(account.id, (account.state,), state, note, context.clock()))


def _most_severe(problems: Sequence[Finding]) -> Finding | None:
    """Return the most severe finding that changes the account's state and requires action by the user, or None."""
    severe = [problem for problem in problems if problem.code in STATE_AFTER and not problem.is_repairable]
    return min(severe, key=lambda problem: _MOST_SEVERE_FIRST.index(problem.code), default=None)


async def _repair(context: Context, account: Account, problems: Sequence[Finding]) -> dict[About, Finding]:
    """Run the automatic repairs of the findings, then record all findings with `_record_findings`.

    Returns the findings whose repairs Cloudflare refused, by `Finding.about`. Raises EdgeUnavailable if a repair failed
    temporarily. The next health check then tries again.
    """
    refusals: dict[About, Finding] = {}
    try:
        for problem in problems:
            if problem.repair is None:
                continue
            try:
                await problem.repair()
            except EdgeRefused as error:
                log.warning("repair refused", extra={"account": account.id, "thing": problem.thing, "code": error.code})
                why = error.message.removesuffix(".")
                refusals[problem.about] = replace(problem, code=error.code, refusal=why, repair=None)
            else:
                log.info("repaired", extra={"account": account.id, "thing": problem.thing, "found": problem.found})
    finally:
        await _record_findings(context, account, [refusals.get(problem.about, problem) for problem in problems])
    return refusals


async def _run_following_duties(context: Context, account: Account, timers: Timers) -> None:
    """Run the duties for routes and configuration, which complete the repairs."""
    timers.routes_at = timers.sync_at = 0
    for duty in (routes.make_when_due, configuration.sync_when_due):
        now = accounts.present(await context.store.read(accounts.account_by_id(account.id)))
        await duty(context, now, timers)
