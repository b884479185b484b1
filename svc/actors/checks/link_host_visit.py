"""Checks the response that visitors to the link host receive.

The service requests a random code from the link host, as a visitor would, and checks the response.

No link has this code, so the Worker does not count the request. The Worker must respond with its page for unknown
codes, which has a known Content-Security-Policy, or with a redirect to `not_found_url`.

The service sends one request to a new link host as soon as it is live. If there is a problem, the service repeats the
request with increasing pauses. It shows the problem only when changes at Cloudflare have had enough time to take
effect.
"""

from __future__ import annotations

import logging
import math
import secrets
from typing import TYPE_CHECKING

import trio

from svc.actors.backoff import backoff_s
from svc.actors.checks.findings import Finding
from svc.edge.visits import Answer
from svc.model import SERVING
from svc.store import accounts, link_hosts

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.visits import NoAnswer
    from svc.model import Account, LinkHost

log = logging.getLogger(__name__)

_FIRST_PAUSE_S = 10.0
# The number of failed requests after which a problem is shown. With pauses of 10, 20 and 40 seconds, this takes 70
# seconds.
_SHOWN_AFTER_VISITS = 4
# The number of random bytes in the requested code. 24 bytes are 32 characters, the length of the longest code. The
# probability that a user has chosen the same code is negligible.
_CODE_BYTES = 24
_NOT_FOUND, _FOUND = 404, 302
_REDIRECTS = range(300, 400)
_LOCATION_CHARS = 200


async def visit_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Request a random code from the link host if a request is due. Show a problem after several failed requests."""
    del timers
    host = account.link_host
    if host is None or host.visit_at is None or not _can_be_judged(context, account, host):
        return math.inf
    due_at = max(host.visit_at, host.live_at or 0)
    now = context.clock()
    if now < due_at:
        return trio.current_time() + (due_at - now) / 1000
    problem = await _visit(context, host)
    if problem is not None and problem.kind == "link_host_unchecked":
        log.info("link host not checked", extra={"account": account.id, "why": problem.facts["said"]})
        pause_s = context.config.timing.route_retry_s
        visit_at = context.clock() + int(pause_s * 1000)
        await context.store.run(
            link_hosts.record_visit(account.id, host, host.failed_visits, visit_at, host.visit_error)
        )
        return trio.current_time() + pause_s
    return await _record(context, account, host, problem, host.failed_visits + 1)


async def visit_now(context: Context, account_id: str) -> list[Finding]:
    """Request a random code from the account's link host, for a health check that a user requested.

    Return the problem, if any.

    The problem is shown immediately. If the link host is not live yet, or has another error, the function sends no
    request.
    """
    account = await context.store.read(accounts.account_by_id(account_id))
    host = None if account is None else account.link_host
    if account is None or host is None or not _can_be_judged(context, account, host):
        return []
    if context.clock() < (host.live_at or 0):
        return []
    problem = await _visit(context, host)
    if problem is None or problem.kind != "link_host_unchecked":
        await _record(context, account, host, problem, max(host.failed_visits + 1, _SHOWN_AFTER_VISITS))
    return [] if problem is None else [problem]


def _can_be_judged(context: Context, account: Account, host: LinkHost) -> bool:
    """Return True if the Worker's response to an unknown code can be predicted.

    Return False for a Worker of another version, which may respond differently. Also return False if the host has
    another error, because that error is the likely cause of a problem. The caller checks whether the host is live.
    """
    is_synced = host.version <= account.synced_version and host.config_error is None and host.live_at is not None
    has_route = host.state == "active" and host.error is None
    return account.state in SERVING and account.edge_bundle == context.bundle.sha256 and is_synced and has_route


async def _record(
    context: Context, account: Account, host: LinkHost, problem: Finding | None, failed_visits: int
) -> float:
    """Store the result of a request. Return the time of the next request (monotonic seconds).

    If the link host has changed since the request, the result is discarded. The change itself wakes the account's
    actor.
    """
    if problem is None:
        if host.visit_at is not None or host.visit_error is not None:
            await context.store.run(link_hosts.record_visit(account.id, host, 0, None, None))
        return math.inf
    pause_s = backoff_s(failed_visits, _FIRST_PAUSE_S, context.config.timing.health_well_every_s)
    note = problem.to_note() if failed_visits >= _SHOWN_AFTER_VISITS else None
    visit_at = context.clock() + int(pause_s * 1000)
    if await context.store.run(link_hosts.record_visit(account.id, host, failed_visits, visit_at, note)):
        log.info("link host problem", extra={"account": account.id, "kind": problem.kind, "visits": failed_visits})
    return trio.current_time() + pause_s


async def _visit(context: Context, host: LinkHost) -> Finding | None:
    """Request a random code from the host. Return the problem, or None if the response comes from the Worker."""
    code = secrets.token_urlsafe(_CODE_BYTES)
    answer = await context.visitor.get(host.host, f"/{code}")
    if isinstance(answer, Answer):
        return _problem_of(answer, host, code, context.bundle.not_found_policy)
    return _problem_without_answer(answer, host.host)


def _problem_of(answer: Answer, host: LinkHost, code: str, policy: str) -> Finding | None:
    facts = {"host": host.host}
    if _is_workers(answer, host, policy):
        return None
    if answer.is_challenge:
        return Finding("link_host_challenged", "link_host_challenged", facts)
    if not answer.through_cloudflare:
        return Finding("link_host_bypassed", "dns_not_proxied", facts)
    if answer.status in _REDIRECTS and answer.location:
        # Replace the code, so that the same problem always has the same text.
        location = answer.location.replace(code, "…")[:_LOCATION_CHARS]
        return Finding("link_host_redirected", "link_host_redirected", {**facts, "location": location})
    return Finding("link_host_other_answer", "link_host_other_answer", {**facts, "status": str(answer.status)})


def _is_workers(answer: Answer, host: LinkHost, policy: str) -> bool:
    if host.not_found_url is not None:
        return answer.status == _FOUND and answer.location == host.not_found_url
    return answer.status == _NOT_FOUND and answer.policy == policy


def _problem_without_answer(answer: NoAnswer, host: str) -> Finding:
    facts = {"host": host}
    match answer.reason:
        case "not_resolved":
            return Finding("link_host_not_resolved", "link_host_not_resolved", facts)
        case "not_public":
            return Finding("link_host_private", "dns_not_proxied", {**facts, "address": answer.said})
        case "certificate":
            return Finding("link_host_certificate", "link_host_certificate", {**facts, "said": answer.said})
        case "not_connected":
            return Finding("link_host_not_connected", "link_host_unreachable", facts)
        case "not_http":
            return Finding("link_host_not_http", "link_host_unreachable", facts)
        case "unchecked":
            return Finding("link_host_unchecked", "link_host_unreachable", {**facts, "said": answer.said})
