"""The steps of a field check, in order. Each step is printed before it starts."""

from __future__ import annotations

import json
import secrets
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import trio
from pydantic import JsonValue, SecretStr

from svc.actors.sync.script import build_upload
from svc.clock import DAY_MS, day_of, system_clock
from svc.edge import analytics, d1, routes, tokens, visits, web_analytics, workers, zones
from svc.edge.access import Bearer, Exchange
from svc.edge.client import open_edge
from svc.edge.responses import DailyLimit, Failed
from svc.errors import EdgeError, EdgeRefused, ServiceError
from svc.field_check.table import QUESTIONS, Row, format_table
from svc.field_check.trace import SETTLING_S, Trace, TraceFile, remove, token_name, with_install
from svc.ids import new_id, new_secret, new_site_path, new_subdomain
from svc.model import Site, WorkerSettings, site_pattern
from svc.worker import config_rows, counts
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Any

    from svc.clock import Clock
    from svc.config import Config
    from svc.edge.access import Access
    from svc.edge.client import Edge
    from svc.edge.tokens import NewToken, Policy
    from svc.worker.bundle import WorkerBundle

T = TypeVar("T")

# An address without a server, so that the test Worker does not push to a real service.
_PUSH_URL = "https://field-check.invalid/edge/push"
_PUSH_SECOND = 17 * 60
# How long refusals of the bootstrap token are tolerated, because a new token takes some time to work. This time is
# shorter than SETTLING_S, so that an invalid token is reported quickly.
_BOOTSTRAP_SETTLING_S = 10.0
_VIEW_STORED_S = 60.0
_POLL_S = 1.0
_CREDENTIAL_TRIES = 3
_REMOVAL_S = 120.0
# The number of rows that one statement writes. The free plan allows 100,000 row writes per day. A statement may take at
# most 30 s, and a statement with this number of rows takes far less time.
_ROWS_A_STATEMENT = 5_000
_MAX_STATEMENTS = 25
_COUNTED = 204  # the status with which the Worker responds to a page view


@dataclass(frozen=True)
class Plan:
    """The options of a field check. `zone`: create routes in this zone, too, and send a page view to its apex or `www`.

    `through`: the URL of an emulator that receives the page view. `uses_up_the_day`: write rows until Cloudflare
    refuses more. `only_removes`: only remove the resources of an earlier run.
    """

    edge_account_id: str
    zone: str | None = None
    through: str = ""
    uses_up_the_day: bool = False
    only_removes: bool = False


@dataclass
class _Findings:
    rows: dict[str, Row] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    incomplete: bool = False

    def record(self, number: str, response: str, detail: str = "") -> None:
        self.rows[number] = Row(QUESTIONS[number], response, detail)

    @property
    def passed(self) -> bool:
        return not self.incomplete and all(row.fits for row in self.rows.values())


async def field_check(config: Config, plan: Plan, bootstrap_token: SecretStr, show: Callable[[str], None]) -> bool:
    """Run a field check. Return True if Cloudflare behaves as expected. `show` is called with each line of output.

    SIGINT and SIGTERM stop the run, but the run still removes its resources. Raises ConfigError, OSError or ValueError.
    """
    bundle = load_bundle()
    file = TraceFile(config.vault.key_file.parent, plan.edge_account_id)
    async with open_edge(config.edge) as edge:
        bootstrap = edge.access(plan.edge_account_id, bootstrap_token.get_secret_value()).settling(
            _BOOTSTRAP_SETTLING_S
        )
        earlier = file.read()
        if earlier is not None:
            show(f"removing resources of an earlier run ({earlier.name})")
            try:
                await remove(edge, bootstrap, file, earlier, system_clock, None)
            except ServiceError as error:
                show(f"the resources could not be removed: {_describe(error)}; the next run will try again")
                return False
        if plan.only_removes:
            show("no resources remain")
            return True
        run = _Run(edge, bootstrap, bootstrap_token, plan, bundle, file, system_clock, show)
        async with trio.open_nursery() as nursery:
            with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                nursery.start_soon(_stop_on_signal, signals, nursery.cancel_scope, show)
                await run.run_all()
                nursery.cancel_scope.cancel()
    for line in format_table(run.found.rows, run.found.skipped):
        show(line)
    return run.found.passed


async def _stop_on_signal(signals: AsyncIterator[int], scope: trio.CancelScope, show: Callable[[str], None]) -> None:
    async for _ in signals:
        show("removing all resources before stopping")
        scope.cancel()


class _Run:
    def __init__(
        self,
        edge: Edge,
        bootstrap: Access,
        bootstrap_token: SecretStr,
        plan: Plan,
        bundle: WorkerBundle,
        file: TraceFile,
        clock: Clock,
        show: Callable[[str], None],
    ) -> None:
        self.edge, self.bootstrap, self.plan, self.bundle = edge, bootstrap, plan, bundle
        self.bootstrap_token = bootstrap_token
        self.file, self.clock, self.show = file, clock, show
        self.found = _Findings()
        self.trace = Trace(f"svc-field-check-{secrets.token_hex(4)}")
        self.working: Access | None = None
        self.working_token = SecretStr("")
        self.working_expires_at = 0
        self.database_id = ""

    async def run_all(self) -> None:
        """Run all steps. Then remove the resources, even if a step has failed."""
        self.file.write(self.trace)
        self.found.incomplete = True  # the last step sets this to False
        try:
            await self._steps()
        except ServiceError as error:
            self.show(f"stopped: {_describe(error)}")
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(_REMOVAL_S) as deadline:
                await self._remove()
            if deadline.cancelled_caught:
                self._not_removed("timeout")

    async def _steps(self) -> None:
        self.show("verify the bootstrap token and read the account")
        await tokens.verify(self.bootstrap)
        self.show(f"account {await zones.account_name(self.bootstrap)!r}; all resources are named {self.trace.name}")
        await self._ask_groups()
        if not await self._make_working_token():
            return
        await self._ask_age()
        await self._ask_expiry()
        await self._ask_permission()
        await self._ask_foreign_zone()
        await self._ask_subdomain()
        zone_id, host = await self._zone()
        await self._install(zone_id)
        await self._ask_batch()
        await self._ask_analytics()
        await self._ask_web_analytics(host)
        if zone_id is not None:
            await self._count_a_view(zone_id, host)
        if self.plan.uses_up_the_day:
            await self._use_up_the_day()
        else:
            self.found.skipped["0.9"] = "it would use up the account's daily row limit (see --use-up-the-day)"
        self.found.incomplete = self.plan.zone is not None and "job route" not in self.found.rows

    # ------------------------------------------------------------------------------------------------------- connect

    async def _ask_groups(self) -> None:
        self.show("list the permission groups (0.2)")
        path = f"{self.bootstrap.account_path}/tokens/permission_groups"
        outcome = await self._request(self.bootstrap_token, Exchange("GET", path, {"per_page": 1_000}))
        if isinstance(outcome, Failed):
            self.found.record("0.2", _refusal(outcome.error))
            return
        result, paged = outcome
        groups = result if isinstance(result, list) else []
        has_flag = any(isinstance(group, dict) and "is_selectable" in group for group in groups)
        response = f"{'' if has_flag else 'no '}is_selectable, {'paginated' if paged else 'not paginated'}"
        self.found.record("0.2", response, f"{len(groups)} groups in the first response")

    async def _make_working_token(self) -> bool:
        self.show("create a working token with the required permissions (0.1)")
        policies = tokens.policies_for(self.plan.edge_account_id, await tokens.permission_groups(self.bootstrap))
        try:
            made = await self._token("working", policies)
        except EdgeRefused as error:
            self.found.record("0.1", _refusal(error), error.message)
            return False
        same = tokens.permissions_of(policies) == tokens.permissions_of(made.policies)
        self.found.record("0.1", "with all permissions" if same else "with fewer permissions")
        self.found.record("job token", "yes" if same else "no")
        self.working_token = made.value
        self.working_expires_at = made.expires_at
        self.working = self._access(made).settling(SETTLING_S)
        return same

    async def _token(self, purpose: str, policies: list[Policy]) -> NewToken:
        expires_at = self.clock() + DAY_MS
        return await _run_shielded(tokens.create(self.bootstrap, token_name(self.trace, purpose), policies, expires_at))

    def _access(self, token: NewToken) -> Access:
        return self.edge.access(self.plan.edge_account_id, token.value.get_secret_value())

    async def _ask_age(self) -> None:
        self.show("wait until the new token works (0.5)")
        began = trio.current_time()
        exchange = Exchange("GET", f"{self.bootstrap.account_path}/d1/database")
        refusals: list[str] = []
        while True:
            outcome = await self._request_once(self.working_token, exchange)
            waited_s = trio.current_time() - began
            if not isinstance(outcome, Failed):
                break
            refusals.append(_refusal(outcome.error))
            if waited_s > SETTLING_S:
                self.found.record("0.5 age", "not within a minute", refusals[-1])
                raise outcome.error
            await trio.sleep(_POLL_S)
        detail = f"after {waited_s:.1f} s" + (f", before that {', '.join(sorted(set(refusals)))}" if refusals else "")
        self.found.record("0.5 age", "within a minute", detail)

    async def _ask_expiry(self) -> None:
        self.show("read the expiry of the working token (0.12)")
        status = await tokens.verify(self._works())
        if status.expires_at is None:
            self.found.record("0.12", "not reported")
        else:
            self.found.record("0.12", "readable" if status.expires_at == self.working_expires_at else "another time")

    async def _ask_permission(self) -> None:
        self.show("list the databases with a token that lacks the D1 permission (0.5)")
        groups = await tokens.permission_groups(self.bootstrap)
        narrow = [group for group in groups if group.name == "Account Settings Read"]
        account = f"com.cloudflare.api.account.{self.plan.edge_account_id}"
        policy = tokens.Policy("allow", frozenset({group.id for group in narrow[:1]}), frozenset({account}))
        made = await self._token("narrow", [policy])
        # This call succeeds as soon as the token has taken effect.
        await zones.account_name(self._access(made).settling(SETTLING_S))
        outcome = await self._request(made.value, Exchange("GET", f"{self.bootstrap.account_path}/d1/database"))
        if isinstance(outcome, Failed):
            self.found.record("0.5 permission", _refusal(outcome.error), outcome.error.message)
        else:
            self.found.record("0.5 permission", "not refused")

    async def _ask_foreign_zone(self) -> None:
        self.show("list the routes of another account's zone (0.7)")
        exchange = Exchange("GET", f"/zones/{secrets.token_hex(16)}/workers/routes")
        outcome = await self._request(self.working_token, exchange)
        if isinstance(outcome, Failed):
            self.found.record("0.7", _refusal(outcome.error), outcome.error.message)
        else:
            self.found.record("0.7", "not refused")

    async def _ask_subdomain(self) -> None:
        self.show("read the workers.dev subdomain of the account (0.3)")
        exchange = Exchange("GET", f"{self.bootstrap.account_path}/workers/subdomain")
        outcome = await self._request(self.working_token, exchange)
        response = f"none, {_refusal(outcome.error)}" if isinstance(outcome, Failed) else "exists"
        self.found.record("0.3", response)
        if not await workers.has_subdomain(self._works()):
            self.show("register a workers.dev subdomain, which Workers require; it cannot be removed")
            await _run_shielded(workers.register_subdomain(self._works(), new_subdomain()))

    # ------------------------------------------------------------------------------------------------------- install

    async def _zone(self) -> tuple[str | None, str]:
        """Return the id of the zone and a proxied host in the zone, or None and "" if no route will be created."""
        rest = ("0.8", "job route", "job view", "job report")
        if self.plan.zone is None:
            self.found.skipped |= dict.fromkeys(rest, "--zone is not set")
            return None, ""
        self.show(f"zone {self.plan.zone}")
        zone = await zones.zone_of(self._works(), self.plan.zone)
        is_active = zone is not None and zone.is_active
        for host in (self.plan.zone, f"www.{self.plan.zone}") if is_active else ():
            if zone is not None and (await zones.records_of(self._works(), zone.id, host)).proxied:
                return zone.id, host
        why = "the account has no active zone with this name" if not is_active else "neither apex nor www is proxied"
        self.show(f"zone {self.plan.zone}: {why}")
        self.found.skipped |= dict.fromkeys(rest, why)
        return None, ""

    async def _install(self, zone_id: str | None) -> None:
        access, name = self._works(), self.trace.name
        self.trace = with_install(self.trace, zone_id)
        self.file.write(self.trace)
        self.show("create a database with the Worker's tables")
        self.database_id = (await _run_shielded(d1.create(access, name))).id
        await d1.query(access, self.database_id, [(statement, []) for statement in self.bundle.schema_statements])
        self.show("upload the Worker (0.4)")
        await _run_shielded(workers.upload(access, name, self._content()))
        before = await workers.get_script(access, name)
        self.show("set the cron trigger and disable the workers.dev address")
        await workers.set_schedules(access, name, [self.bundle.cron])
        await workers.disable_subdomain(access, name)
        after = await workers.get_script(access, name)
        self.found.record("job worker", "yes" if before is not None and after is not None else "not listed")
        if before is None or before.etag is None:
            self.found.record("0.4", "not reported")
        else:
            self.found.record("0.4", "reported and stable" if before == after else "reported but changes")

    def _content(self) -> workers.Upload:
        return build_upload(
            self.bundle,
            self.database_id,
            push_url=_PUSH_URL,
            push_second=_PUSH_SECOND,
            worker_key=new_secret("svcw_"),
            install=self.trace.name,
            tag=self.trace.name,
        )

    async def _ask_batch(self) -> None:
        self.show("run a batch whose second statement fails (0.6)")
        access = self._works()
        await d1.query(access, self.database_id, [("create table if not exists field_check (n integer)", [])])
        insert, fail = "insert into field_check values (1)", "insert into no_such_table values (1)"
        try:
            await d1.query(access, self.database_id, [(insert, []), (fail, [])])
        except EdgeRefused:
            (remaining,) = await d1.query(access, self.database_id, [("select count(*) as n from field_check", [])])
            self.found.record("0.6", "rolled back" if remaining.rows[0]["n"] == 0 else "kept")
        else:
            self.found.record("0.6", "not refused")

    async def _ask_analytics(self) -> None:
        self.show("read four weeks of usage from the analytics (0.10)")
        access, today = self._works(), day_of(self.clock())
        first, last = today - analytics.DAYS_AVAILABLE, today - 1
        try:
            requests = await analytics.request_days(access, first, last)
            databases = await analytics.database_days(access, self.database_id, first, last)
        except EdgeError as error:
            self.found.record("0.10", _refusal(error), error.message)
            return
        figures = [*requests, *databases.reads, *databases.writes]
        estimates = sum(figure.at_least < figure.at_most for figure in figures)
        used = sum(figure.value > 0 for figure in figures)
        self.found.record("0.10", "reported with intervals", f"{estimates} of {used} figures are estimates")

    async def _ask_web_analytics(self, host: str) -> None:
        self.show("read 26 weeks of page views from Web Analytics (0.11)")
        today = day_of(self.clock())
        first = today - web_analytics.DAYS_AVAILABLE
        try:
            days = await web_analytics.view_days(self._works(), host or "field-check.invalid", first, today - 1)
        except EdgeError as error:
            self.found.record("0.11", _refusal(error), error.message)
            return
        estimates = sum(day.is_estimate for day in days)
        self.found.record("0.11", "readable", f"{len(days)} days with views, {estimates} of them estimates")

    # ------------------------------------------------------------------------------------------------- count, report

    async def _count_a_view(self, zone_id: str, host: str) -> None:
        access = self._works()
        site = self._site(zone_id, host)
        rows = config_rows.rows_of([site], [], None, WorkerSettings(), 0)
        statements = [*config_rows.write_statements(rows), config_rows.raise_version(site.version)]
        await d1.query(access, self.database_id, statements)
        pattern = site_pattern(host, site.path)
        self.show(f"create a route {pattern} (0.8)")
        requested = {pattern: True, site_pattern(host, f"{site.path}-closed"): False}
        for requested_pattern, fail_open in requested.items():
            await _run_shielded(routes.create(access, zone_id, requested_pattern, self.trace.name, fail_open=fail_open))
        listed = await routes.list_routes(access, zone_id)
        reported = {route.pattern: route.fail_open for route in listed if route.pattern in requested}
        self.found.record("job route", "yes" if reported.keys() == requested.keys() else "no")
        self.found.record(
            "0.8", "kept" if reported == requested else "changed" if any(reported.values()) else "not reported"
        )
        self.show(f"send a page view to {host}")
        status: int | None = 0
        ends_at = trio.current_time() + _VIEW_STORED_S  # a new route takes effect after a few seconds
        while status != _COUNTED and trio.current_time() < ends_at:
            status = await visits.send_view(host, site.path, through=self.plan.through)
            await trio.sleep(_POLL_S)
        self.found.record("job view", "yes" if status == _COUNTED else f"status {status}" if status else "no response")
        if status == _COUNTED:
            await self._read_report(site)

    async def _read_report(self, site: Site) -> None:
        self.show("read a report from the database")
        today = day_of(self.clock())
        target_days = counts.TargetDays(site.id, today - 1, today)
        began, views = trio.current_time(), 0
        while views == 0 and trio.current_time() < began + _VIEW_STORED_S:
            results = await d1.query(self._works(), self.database_id, counts.read_statements(target_days))
            rows = counts.Rows(*(result.rows for result in results))
            try:
                live = counts.add_up(rows, target_days, self.bundle.caps, self.clock())
            except (ValueError, KeyError, TypeError) as error:
                self.found.record("job report", f"invalid rows ({type(error).__name__})")
                return
            views = sum(day.views for day in live.days.values())
            await trio.sleep(_POLL_S)
        response = "yes" if views == 1 else f"{views} views instead of 1"
        self.found.record("job report", response, f"after {trio.current_time() - began:.0f} s")

    def _site(self, zone_id: str, host: str) -> Site:
        return Site(
            id=new_id("site"), account_id="", user_id=0, host=host, zone_id=zone_id, state="active",
            path=new_site_path(), script_name="x", snippet="", excluded_paths=(), respect_gpc=False, route_id=None,
            retiring=(), error=None, version=1, created_at=self.clock(),
        )  # fmt: skip

    async def _use_up_the_day(self) -> None:
        self.show("write rows until the daily limit is reached (0.9)")
        # This uses json_each instead of a recursive select, because the firewall of Cloudflare's API blocks `union`.
        insert = "insert into field_check select key from json_each(?1)"
        body = {"batch": [{"sql": insert, "params": [json.dumps([0] * _ROWS_A_STATEMENT)]}]}
        exchange = Exchange("POST", f"{self.bootstrap.account_path}/d1/database/{self.database_id}/query", body=body)
        for _ in range(_MAX_STATEMENTS):
            outcome = await self._request(self.working_token, exchange)
            if isinstance(outcome, Failed):
                known = "recognized" if isinstance(outcome.error, DailyLimit) else "not recognized"
                self.found.record("0.9", f"{_refusal(outcome.error)}, {known} by its message", outcome.error.message)
                return
        self.found.record("0.9", "not refused", f"after {_MAX_STATEMENTS * _ROWS_A_STATEMENT} rows")

    # ------------------------------------------------------------------------------------------------------- removal

    async def _remove(self) -> None:
        self.show("remove all resources")
        try:
            await remove(self.edge, self.bootstrap, self.file, self.trace, self.clock, self.working)
        except ServiceError as error:
            self._not_removed(_describe(error))
        else:
            self.found.record("job removal", "yes")

    def _not_removed(self, why: str) -> None:
        self.found.record("job removal", "incomplete", why)
        self.show(f"some resources could not be removed ({why}); try again with `svc field-check --only-remove`")

    def _works(self) -> Access:
        if self.working is None:
            raise AssertionError("the working token is used before it is created")
        return self.working

    async def _request(self, token: SecretStr, exchange: Exchange) -> tuple[JsonValue, bool] | Failed:
        """Send a request. If the token is refused, retry, because Cloudflare occasionally refuses valid tokens."""
        for _ in range(_CREDENTIAL_TRIES):
            outcome = await self._request_once(token, exchange)
            if not isinstance(outcome, Failed) or outcome.error.remote_status not in (401, 403):
                break
            await trio.sleep(_POLL_S)
        return outcome

    async def _request_once(self, token: SecretStr, exchange: Exchange) -> tuple[JsonValue, bool] | Failed:
        """Send a request once.

        Return the failure, or the result and a flag. The flag is True if the result is one page of a list.
        """
        bearer = Bearer(self.plan.edge_account_id, token, None)
        shape: Any = JsonValue
        outcome = await self.edge.try_once(bearer, shape, exchange)
        if isinstance(outcome, Failed):
            return outcome
        envelope, result = outcome
        info = envelope.result_info
        return result, info is not None and (info.total_pages is not None or info.total_count is not None)


async def _run_shielded(making: Awaitable[T]) -> T:
    """Await `making`, which creates a resource. Ignore cancellation, so that the outcome is known.

    The client's timeout still applies.
    """
    with trio.CancelScope(shield=True):
        made = await making
    return made  # noqa: RET504  # for the type checker, a cancel scope may swallow exceptions


def _refusal(error: ServiceError) -> str:
    if isinstance(error, EdgeError) and error.remote_status:
        return f"refused {error.remote_status}/{error.remote_code}"
    return f"no response ({error.message})"


def _describe(error: ServiceError) -> str:
    where = f" [{_refusal(error)}]" if isinstance(error, EdgeError) and error.remote_status else ""
    return f"{error.message}{where}"
