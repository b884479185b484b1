"""The steps of a field check, in order; each is told before it begins."""

from __future__ import annotations

import json
import secrets
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import trio
from pydantic import JsonValue, SecretStr

from svc.actors.sync.script import upload_of
from svc.clock import DAY_MS, day_of, system_clock
from svc.edge import analytics, d1, routes, tokens, visits, workers, zones
from svc.edge.access import Bearer, Exchange
from svc.edge.answers import DailyLimit, Failed
from svc.edge.client import open_edge
from svc.errors import EdgeError, EdgeRefused, ServiceError
from svc.field_check.table import QUESTIONS, Row, printed
from svc.field_check.trace import SETTLING_S, Trace, TraceFile, remove, token_name, with_install
from svc.ids import new_id, new_secret, new_site_path, new_subdomain
from svc.model import DaysKept, Site, site_pattern
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

# Nothing answers there: the scratch worker is to push to nobody.
_PUSH_URL = "https://field-check.invalid/edge/push"
_PUSH_SECOND = 17 * 60
# Mostly made a moment ago, too; but a wrong one is to be told soon.
_BOOTSTRAP_SETTLING_S = 10.0
_VIEW_STORED_S = 60.0
_LOOK_S = 1.0
_CREDENTIAL_TRIES = 3
_REMOVAL_S = 120.0
# Of the free plan's 100,000 rows a day, in pieces that one statement writes well inside its 30 s.
_ROWS_A_STATEMENT = 5_000
_MOST_STATEMENTS = 25
_TAKEN = 204  # the worker's answer to a view


@dataclass(frozen=True)
class Plan:
    """What to check. `zone`: also a route and a view on its apex, or on `www` when that is proxied.

    `through`: scheme, address and port of an emulated edge for the view. `uses_up_the_day`: writes rows until the
    platform refuses. `only_removes`: only what an earlier run left.
    """

    edge_account_id: str
    zone: str | None = None
    through: str = ""
    uses_up_the_day: bool = False
    only_removes: bool = False


@dataclass
class _Findings:
    rows: dict[str, Row] = field(default_factory=dict)
    not_asked: dict[str, str] = field(default_factory=dict)
    trouble: bool = False

    def note(self, number: str, answer: str, detail: str = "") -> None:
        self.rows[number] = Row(QUESTIONS[number], answer, detail)

    @property
    def all_well(self) -> bool:
        return not self.trouble and all(row.fits for row in self.rows.values())


async def field_check(config: Config, plan: Plan, bootstrap_token: SecretStr, tell: Callable[[str], None]) -> bool:
    """Whether the platform is as the service expects it. `tell` gets each line of what is done and found.

    SIGINT and SIGTERM end the steps; what they made is removed in any case. Raises ConfigError, OSError, ValueError.
    """
    bundle = load_bundle()
    file = TraceFile(config.vault.key_file.parent, plan.edge_account_id)
    async with open_edge(config.edge) as edge:
        bootstrap = edge.access(plan.edge_account_id, bootstrap_token.get_secret_value()).settling(
            _BOOTSTRAP_SETTLING_S
        )
        left = file.read()
        if left is not None:
            tell(f"removing what an earlier run left ({left.name})")
            try:
                await remove(edge, bootstrap, file, left, system_clock, None)
            except ServiceError as error:
                tell(f"it could not be removed: {_words(error)}; the next start tries again")
                return False
        if plan.only_removes:
            tell("nothing is left")
            return True
        run = _Run(edge, bootstrap, bootstrap_token, plan, bundle, file, system_clock, tell)
        async with trio.open_nursery() as nursery:
            with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                nursery.start_soon(_end_at_a_signal, signals, nursery.cancel_scope, tell)
                await run.all()
                nursery.cancel_scope.cancel()
    for line in printed(run.found.rows, run.found.not_asked):
        tell(line)
    return run.found.all_well


async def _end_at_a_signal(signals: AsyncIterator[int], scope: trio.CancelScope, tell: Callable[[str], None]) -> None:
    async for _ in signals:
        tell("stopping: what was made is removed first")
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
        tell: Callable[[str], None],
    ) -> None:
        self.edge, self.bootstrap, self.plan, self.bundle = edge, bootstrap, plan, bundle
        self.bootstrap_token = bootstrap_token
        self.file, self.clock, self.tell = file, clock, tell
        self.found = _Findings()
        self.trace = Trace(f"svc-field-check-{secrets.token_hex(4)}")
        self.working: Access | None = None
        self.working_token = SecretStr("")
        self.database_id = ""

    async def all(self) -> None:
        """Every step, then the removal, whatever ended the steps."""
        self.file.write(self.trace)
        self.found.trouble = True  # unless the steps come to their end
        try:
            await self._steps()
        except ServiceError as error:
            self.tell(f"it ends here: {_words(error)}")
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(_REMOVAL_S) as deadline:
                await self._remove()
            if deadline.cancelled_caught:
                self._not_removed("it took too long")

    async def _steps(self) -> None:
        self.tell("the bootstrap token and the account")
        await tokens.verify(self.bootstrap)
        self.tell(f"account {await zones.account_name(self.bootstrap)!r}, everything is named {self.trace.name}")
        await self._ask_groups()
        if not await self._make_working_token():
            return
        await self._ask_age()
        await self._ask_right()
        await self._ask_foreign_zone()
        await self._ask_subdomain()
        zone_id, host = await self._zone()
        await self._install(zone_id)
        await self._ask_batch()
        await self._ask_analytics()
        if zone_id is not None:
            await self._count_a_view(zone_id, host)
        if self.plan.uses_up_the_day:
            await self._use_up_the_day()
        else:
            self.found.not_asked["0.9"] = "it would use up the account's rows of today (--use-up-the-day)"
        self.found.trouble = self.plan.zone is not None and "job route" not in self.found.rows

    # ------------------------------------------------------------------------------------------------------- connect

    async def _ask_groups(self) -> None:
        self.tell("the list of permission groups (0.2)")
        path = f"{self.bootstrap.account_path}/tokens/permission_groups"
        asked = await self._asked(self.bootstrap_token, Exchange("GET", path, {"per_page": 1_000}))
        if isinstance(asked, Failed):
            self.found.note("0.2", _refused(asked.error))
            return
        result, paged = asked
        groups = result if isinstance(result, list) else []
        tells = any(isinstance(group, dict) and "is_selectable" in group for group in groups)
        how = f"{'' if tells else 'no '}is_selectable, {'in pages' if paged else 'all at once'}"
        self.found.note("0.2", how, f"{len(groups)} groups in the first answer")

    async def _make_working_token(self) -> bool:
        self.tell("a working token with the rights that the service needs (0.1)")
        policies = tokens.policies_for(self.plan.edge_account_id, await tokens.permission_groups(self.bootstrap))
        try:
            made = await self._token("working", policies)
        except EdgeRefused as error:
            self.found.note("0.1", _refused(error), error.message)
            return False
        same = tokens.rights_of(policies) == tokens.rights_of(made.policies)
        self.found.note("0.1", "with all rights" if same else "with fewer rights")
        self.found.note("job token", "yes" if same else "no")
        self.working_token = made.value
        self.working = self._access(made).settling(SETTLING_S)
        return same

    async def _token(self, purpose: str, policies: list[Policy]) -> NewToken:
        expires_at = self.clock() + DAY_MS
        return await _whole(tokens.create(self.bootstrap, token_name(self.trace, purpose), policies, expires_at))

    def _access(self, token: NewToken) -> Access:
        return self.edge.access(self.plan.edge_account_id, token.value.get_secret_value())

    async def _ask_age(self) -> None:
        self.tell("until the new token works (0.5)")
        began = trio.current_time()
        exchange = Exchange("GET", f"{self.bootstrap.account_path}/d1/database")
        refusals: list[str] = []
        while True:
            asked = await self._asked_once(self.working_token, exchange)
            waited_s = trio.current_time() - began
            if not isinstance(asked, Failed):
                break
            refusals.append(_refused(asked.error))
            if waited_s > SETTLING_S:
                self.found.note("0.5 age", "not within a minute", refusals[-1])
                raise asked.error
            await trio.sleep(_LOOK_S)
        detail = f"after {waited_s:.1f} s" + (f", until then {', '.join(sorted(set(refusals)))}" if refusals else "")
        self.found.note("0.5 age", "it works within a minute", detail)

    async def _ask_right(self) -> None:
        self.tell("a token without D1 asks for the databases (0.5)")
        groups = await tokens.permission_groups(self.bootstrap)
        narrow = [group for group in groups if group.name == "Account Settings Read"]
        account = f"com.cloudflare.api.account.{self.plan.edge_account_id}"
        policy = tokens.Policy("allow", frozenset({group.id for group in narrow[:1]}), frozenset({account}))
        made = await self._token("narrow", [policy])
        await zones.account_name(self._access(made).settling(SETTLING_S))  # from here on it is no longer too new
        asked = await self._asked(made.value, Exchange("GET", f"{self.bootstrap.account_path}/d1/database"))
        if isinstance(asked, Failed):
            self.found.note("0.5 right", _refused(asked.error), asked.error.message)
        else:
            self.found.note("0.5 right", "not refused")

    async def _ask_foreign_zone(self) -> None:
        self.tell("the routes of a zone that is not the account's (0.7)")
        exchange = Exchange("GET", f"/zones/{secrets.token_hex(16)}/workers/routes")
        asked = await self._asked(self.working_token, exchange)
        if isinstance(asked, Failed):
            self.found.note("0.7", _refused(asked.error), asked.error.message)
        else:
            self.found.note("0.7", "not refused")

    async def _ask_subdomain(self) -> None:
        self.tell("the account's workers.dev subdomain (0.3)")
        exchange = Exchange("GET", f"{self.bootstrap.account_path}/workers/subdomain")
        asked = await self._asked(self.working_token, exchange)
        answer = f"none, {_refused(asked.error)}" if isinstance(asked, Failed) else "there is one"
        self.found.note("0.3", answer)
        if not await workers.has_subdomain(self._works()):
            self.tell("a name on workers.dev, without which no worker can be put; it stays")
            await _whole(workers.register_subdomain(self._works(), new_subdomain()))

    # ------------------------------------------------------------------------------------------------------- install

    async def _zone(self) -> tuple[str | None, str]:
        """The zone's id and a host of it that is proxied; None where no route is to be made."""
        rest = ("0.8", "job route", "job view", "job report")
        if self.plan.zone is None:
            self.found.not_asked |= dict.fromkeys(rest, "no --zone was given")
            return None, ""
        self.tell(f"zone {self.plan.zone}")
        zone = await zones.zone_of(self._works(), self.plan.zone)
        is_active = zone is not None and zone.is_active
        for host in (self.plan.zone, f"www.{self.plan.zone}") if is_active else ():
            if zone is not None and (await zones.records_of(self._works(), zone.id, host)).proxied:
                return zone.id, host
        why = "the account has no such active zone" if not is_active else "neither it nor its www is proxied"
        self.tell(f"zone {self.plan.zone}: {why}")
        self.found.not_asked |= dict.fromkeys(rest, why)
        return None, ""

    async def _install(self, zone_id: str | None) -> None:
        access, name = self._works(), self.trace.name
        self.trace = with_install(self.trace, zone_id)
        self.file.write(self.trace)
        self.tell("a database with the worker's tables")
        self.database_id = (await _whole(d1.create(access, name))).id
        await d1.query(access, self.database_id, [(statement, []) for statement in self.bundle.schema_statements])
        self.tell("the worker (0.4)")
        await _whole(workers.upload(access, name, self._content()))
        before = await workers.get_script(access, name)
        self.tell("its cron, and no address at workers.dev")
        await workers.set_schedules(access, name, [self.bundle.cron])
        await workers.disable_subdomain(access, name)
        after = await workers.get_script(access, name)
        self.found.note("job worker", "yes" if before is not None and after is not None else "it is not listed")
        if before is None or before.etag is None:
            self.found.note("0.4", "not told")
        else:
            self.found.note("0.4", "told, and stays" if before == after else "told, and changes")

    def _content(self) -> workers.Upload:
        return upload_of(
            self.bundle,
            self.database_id,
            push_url=_PUSH_URL,
            push_second=_PUSH_SECOND,
            worker_key=new_secret("svcw_"),
            install=self.trace.name,
            tag=self.trace.name,
        )

    async def _ask_batch(self) -> None:
        self.tell("a batch of which the second statement fails (0.6)")
        access = self._works()
        await d1.query(access, self.database_id, [("create table if not exists field_check (n integer)", [])])
        insert, fail = "insert into field_check values (1)", "insert into no_such_table values (1)"
        try:
            await d1.query(access, self.database_id, [(insert, []), (fail, [])])
        except EdgeRefused:
            (left,) = await d1.query(access, self.database_id, [("select count(*) as n from field_check", [])])
            self.found.note("0.6", "undone" if left.rows[0]["n"] == 0 else "kept")
        else:
            self.found.note("0.6", "not refused")

    async def _ask_analytics(self) -> None:
        self.tell("what the account used in four weeks, from its analytics (0.10)")
        access, today = self._works(), day_of(self.clock())
        first, last = today - analytics.DAYS_TOLD, today - 1
        try:
            requests = await analytics.request_days(access, first, last)
            databases = await analytics.database_days(access, self.database_id, first, last)
        except EdgeError as error:
            self.found.note("0.10", _refused(error), error.message)
            return
        figures = [*requests, *databases.reads, *databases.writes]
        estimates = sum(one.at_least < one.at_most for one in figures)
        used = sum(one.value > 0 for one in figures)
        self.found.note("0.10", "told, with intervals", f"{estimates} of {used} figures are estimates")

    # ------------------------------------------------------------------------------------------------- count, report

    async def _count_a_view(self, zone_id: str, host: str) -> None:
        access = self._works()
        site = self._site(zone_id, host)
        rows = config_rows.rows_of([site], [], None, DaysKept(), 0)
        statements = [*config_rows.write_statements(rows), config_rows.raise_version(site.version)]
        await d1.query(access, self.database_id, statements)
        pattern = site_pattern(host, site.path)
        self.tell(f"a route {pattern} (0.8)")
        asked = {pattern: True, site_pattern(host, f"{site.path}-closed"): False}
        for one, fail_open in asked.items():
            await _whole(routes.create(access, zone_id, one, self.trace.name, fail_open=fail_open))
        listed = await routes.list_routes(access, zone_id)
        told = {route.pattern: route.fail_open for route in listed if route.pattern in asked}
        self.found.note("job route", "yes" if told.keys() == asked.keys() else "no")
        self.found.note("0.8", "kept" if told == asked else "changed" if any(told.values()) else "not told")
        self.tell(f"a view of {host}")
        status: int | None = 0
        ends_at = trio.current_time() + _VIEW_STORED_S  # a new route takes some seconds
        while status != _TAKEN and trio.current_time() < ends_at:
            status = await visits.send_view(host, site.path, through=self.plan.through)
            await trio.sleep(_LOOK_S)
        self.found.note("job view", "yes" if status == _TAKEN else f"status {status}" if status else "no answer")
        if status == _TAKEN:
            await self._read_report(site)

    async def _read_report(self, site: Site) -> None:
        self.tell("a report read from the database")
        today = day_of(self.clock())
        asked = counts.TargetDays(site.id, today - 1, today)
        began, views = trio.current_time(), 0
        while views == 0 and trio.current_time() < began + _VIEW_STORED_S:
            found = await d1.query(self._works(), self.database_id, counts.read_statements(asked))
            rows = counts.Rows(*(one.rows for one in found))
            try:
                live = counts.add_up(rows, asked, self.bundle.caps, self.clock())
            except (ValueError, KeyError, TypeError) as error:
                self.found.note("job report", f"its rows cannot be read ({type(error).__name__})")
                return
            views = sum(day.views for day in live.days.values())
            await trio.sleep(_LOOK_S)
        answer = "yes" if views == 1 else f"{views} views of one"
        self.found.note("job report", answer, f"after {trio.current_time() - began:.0f} s")

    def _site(self, zone_id: str, host: str) -> Site:
        return Site(
            id=new_id("site"), account_id="", user_id=0, host=host, zone_id=zone_id, state="active",
            path=new_site_path(), script_name="x", snippet="", excluded_paths=(), respect_gpc=False, route_id=None,
            retiring=(), error=None, version=1, created_at=self.clock(),
        )  # fmt: skip

    async def _use_up_the_day(self) -> None:
        self.tell("rows until the day's are used up (0.9)")
        # No recursive select: the firewall before the platform's API takes a `union` for an attack.
        insert = "insert into field_check select key from json_each(?1)"
        body = {"batch": [{"sql": insert, "params": [json.dumps([0] * _ROWS_A_STATEMENT)]}]}
        exchange = Exchange("POST", f"{self.bootstrap.account_path}/d1/database/{self.database_id}/query", body=body)
        for _ in range(_MOST_STATEMENTS):
            asked = await self._asked(self.working_token, exchange)
            if isinstance(asked, Failed):
                known = "known" if isinstance(asked.error, DailyLimit) else "not known"
                self.found.note("0.9", f"{_refused(asked.error)}, {known} by its text", asked.error.message)
                return
        self.found.note("0.9", "not refused", f"after {_MOST_STATEMENTS * _ROWS_A_STATEMENT} rows")

    # ------------------------------------------------------------------------------------------------------- removal

    async def _remove(self) -> None:
        self.tell("removing everything")
        try:
            await remove(self.edge, self.bootstrap, self.file, self.trace, self.clock, self.working)
        except ServiceError as error:
            self._not_removed(_words(error))
        else:
            self.found.note("job removal", "yes")

    def _not_removed(self, why: str) -> None:
        self.found.note("job removal", "not all", why)
        self.tell(f"not everything could be removed ({why}): run `svc field-check --only-remove` with a token again")

    def _works(self) -> Access:
        if self.working is None:
            raise AssertionError("the working token is used before it is made")
        return self.working

    async def _asked(self, token: SecretStr, exchange: Exchange) -> tuple[JsonValue, bool] | Failed:
        """The same once a refused credential is refused each time: good and new ones are now and then."""
        for _ in range(_CREDENTIAL_TRIES):
            asked = await self._asked_once(token, exchange)
            if not isinstance(asked, Failed) or asked.error.remote_status not in (401, 403):
                break
            await trio.sleep(_LOOK_S)
        return asked

    async def _asked_once(self, token: SecretStr, exchange: Exchange) -> tuple[JsonValue, bool] | Failed:
        """The result of a single try, and whether it tells of more pages; or what was refused."""
        bearer = Bearer(self.plan.edge_account_id, token, None)
        shape: Any = JsonValue
        outcome = await self.edge.try_once(bearer, shape, exchange)
        if isinstance(outcome, Failed):
            return outcome
        envelope, result = outcome
        info = envelope.result_info
        return result, info is not None and (info.total_pages is not None or info.total_count is not None)


async def _whole(making: Awaitable[T]) -> T:
    """Make something without being cut short, so that its outcome is known; the client's own time limit holds."""
    with trio.CancelScope(shield=True):
        made = await making
    return made  # noqa: RET504  # a scope may swallow, as far as the types know


def _refused(error: ServiceError) -> str:
    if isinstance(error, EdgeError) and error.remote_status:
        return f"refused {error.remote_status}/{error.remote_code}"
    return f"no answer ({error.message})"


def _words(error: ServiceError) -> str:
    where = f" [{_refused(error)}]" if isinstance(error, EdgeError) and error.remote_status else ""
    return f"{error.message}{where}"
