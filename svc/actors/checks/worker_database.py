"""Checks of the Worker's database: its tables, its configuration, and the time of the Worker's last cron run.

The user may have emptied the database, or restored it to an earlier state. In that case, the check creates the missing
tables, and a sync writes the configuration. Counts that the Worker had not pushed yet are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from svc.actors.checks import findings, installation
from svc.actors.checks.findings import Finding
from svc.actors.sync import recovery, schema, worker_config
from svc.actors.sync.script import is_unknown
from svc.clock import DAY_MS, HOUR_MS, iso
from svc.edge import d1
from svc.errors import EdgeRefused
from svc.store import account_health, links, sites, syncs
from svc.store.versions import bump_version
from svc.worker import config_rows
from svc.worker.config_rows import ConfigRow
from svc.worker.meta import STATEMENT, UNREADABLE, WorkerMeta

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.model import Account
    from svc.store.syncs import Synced

# The time after which a missing push means that the cron trigger has stopped. A Worker pushes once an hour, even if it
# has no counts to send, and stores the time of its next push.
STOPPED_MS = 2 * HOUR_MS
# The number of row reads per day that the service may use to count the rows of a configuration. Each count reads all
# rows, and the free plan allows five million row reads per day. However large the configuration is, its rows are
# counted at least `_LEAST_COUNTS_A_DAY` times a day.
_ROWS_COUNTED_A_DAY = 50_000
_LEAST_COUNTS_A_DAY = 1

_META_KEYS = ("schema", "config_version", "state")
_COUNT = (
    "select count(*) as n, coalesce(sum(version), 0) as versions from config"
    " where body is not null and hex(key) not in (select value from json_each(?1))"
)


@dataclass(frozen=True)
class _State:
    """The contents of a Worker's database.

    `is_complete`: True if the table `meta` has all keys in `_META_KEYS`. `meta`: the parsed values of that table, or
    None if they cannot be parsed.
    """

    tables: set[str]
    is_complete: bool = False
    schema: int = 0
    meta: WorkerMeta | None = None
    count: tuple[int, int] | None = None  # number of configuration rows, sum of their versions; None if not counted


async def check_database(
    context: Context, access: Access, account: Account, timers: Timers, *, newer: bool, count: bool
) -> list[Finding]:
    """Check the account's database and the time of the Worker's last cron run.

    `newer`: True if the store has no record of the running script's upload. `count`: count the configuration's rows
    even if a count is not due. Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails
    temporarily.
    """
    if account.database_id is None:
        return []
    expected = None
    if count or trio.current_time() >= timers.count_at:
        expected = await context.store.read(syncs.synced_rows(account.id))
    state = await _read_state(access, account.database_id, expected)
    if expected is not None:
        counts_a_day = max(_LEAST_COUNTS_A_DAY, _ROWS_COUNTED_A_DAY / (expected.rows + 1))
        timers.count_at = trio.current_time() + DAY_MS / 1000 / counts_a_day
    missing = schema.tables(context.bundle, account.edge_schema or 0) - state.tables
    if missing or not state.is_complete or state.schema < (account.edge_schema or 0):
        return [_tables_finding(context, access, account, missing)]
    if state.meta is None:
        raise EdgeRefused("resource_drift", UNREADABLE)
    problems = []
    if not newer and await _is_later_upload(context, account, state.meta):
        problems.append(installation.unknown_upload(context, account))
    elif not newer:
        problems += _configuration(context, access, account, state, expected)
    return problems + _reports(context, account, state.meta)


async def _read_state(access: Access, database_id: str, expected: Synced | None) -> _State:
    """Read the database in one call.

    If a table is missing, D1 refuses the whole call. In that case, a second call reads only the names of the tables.
    """
    statements: list[tuple[str, Sequence[d1.Parameter]]] = [(schema.TABLES, []), (STATEMENT, [])]
    if expected is not None:
        statements.append((_COUNT, [config_rows.hex_keys(expected.refused)]))
    try:
        tables, meta, *count = await d1.query(access, database_id, statements)
    except EdgeRefused as error:
        if error.code != "cloudflare_error":
            raise
        [tables] = await d1.query(access, database_id, [(schema.TABLES, [])])
        state = _State({str(row["name"]) for row in tables.rows})
        if {"meta", "config"} <= state.tables:
            raise
        return state
    values = {str(row["key"]): row["value"] for row in meta.rows}
    return _State(
        {str(row["name"]) for row in tables.rows},
        all(key in values for key in _META_KEYS),
        _parse_int(values.get("schema")),
        _parse_meta(meta.rows),
        (int(count[0].rows[0]["n"]), int(count[0].rows[0]["versions"])) if count else None,
    )


def _parse_meta(rows: Sequence[Mapping[str, Any]]) -> WorkerMeta | None:
    try:
        return WorkerMeta.from_rows(rows)
    except (ValueError, KeyError):
        return None


def _parse_int(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0


def _tables_finding(context: Context, access: Access, account: Account, missing: set[str]) -> Finding:
    facts = {"schema": str(context.bundle.schema), "tables": ", ".join(sorted(missing or {"meta"}))}
    repair = partial(_make_tables, context, access, account)
    return Finding("tables_deleted", "resource_drift", facts, repair, variant="" if missing else "rows")


async def _make_tables(context: Context, access: Access, account: Account) -> None:
    """Create the missing tables and rows. The statements can be repeated, and do not change existing data."""
    if account.database_id is None:
        return
    await schema.migrate(access, account.database_id, context.bundle)
    meta = await recovery.read_meta(access, account.database_id)
    # If the table `config` is empty, write the whole configuration. Otherwise, write only the rows that are newer than
    # the configuration version in the table `meta`.
    [result] = await d1.query(access, account.database_id, [("select exists (select 1 from config) as filled", [])])
    version = meta.config_version if result.rows[0]["filled"] else 0
    await context.store.run(syncs.sync_again_after(account.id, version))


async def _is_later_upload(context: Context, account: Account, meta: WorkerMeta) -> bool:
    """Return True if the store has no record of the running Worker's upload.

    This happens if the store has lost commits. The store then also lacks the key of that upload, so the service rejects
    the Worker's pushes. Comparing the code is not enough, because two uploads can have the same code.
    """
    # A push before the last recorded install does not show which upload is running now.
    pushed_later = account.installed_at is not None and meta.next_push_at - HOUR_MS > account.installed_at
    return pushed_later and meta.tried != account.install_id and await is_unknown(context, meta.tried)


def _configuration(
    context: Context, access: Access, account: Account, state: _State, expected: Synced | None
) -> list[Finding]:
    if state.meta is None:
        return []
    version = state.meta.config_version
    if recovery.is_behind(account, state.meta):
        # the new version makes a sync due, which repairs the difference
        repair = findings.repair_by(context, partial(bump_version, account.id))
        return [Finding("configuration_newer", "resource_drift", repair=repair)]
    if version < account.synced_version:
        repair = findings.repair_by(context, partial(syncs.sync_again_after, account.id, version))
        facts = {"version": str(version), "given": str(account.synced_version)}
        return [Finding("configuration_older", "resource_drift", facts, repair)]
    if expected is None or state.count is None or state.count == (expected.rows, expected.versions):
        return []
    facts = {"rows": str(state.count[0]), "given": str(expected.rows)}
    return [Finding("configuration_differs", "resource_drift", facts, partial(_refill, context, access, account))]


async def _refill(context: Context, access: Access, account: Account) -> None:
    """Write the missing configuration rows, and remove rows that should not exist.

    Then increment the configuration's version. This is necessary because isolates (running instances of the Worker)
    remember unknown codes until the version changes.
    """
    if account.database_id is None:
        return
    all_sites = [each for each in await context.store.read(sites.changed_sites(account.id, 0)) if not each.config_error]
    all_links = [each for each in await context.store.read(links.changed_links(account.id, 0)) if not each.config_error]
    refused = await context.store.read(syncs.synced_rows(account.id))
    if refused is None:
        return  # a sync is still due; if rows are missing afterwards, the next health check finds them
    rows = await trio.to_thread.run_sync(
        config_rows.rows_of, all_sites, all_links, account.link_host, account.settings, 0
    )
    wanted = {row.key: row for row in rows if row.body is not None}
    existing = await worker_config.versions(access, account.database_id)
    wrong = [row for key, row in wanted.items() if existing.get(key) != row.version]
    unknown = existing.keys() - wanted.keys() - set(refused.refused)
    wrong += [ConfigRow(key, max(existing[key], account.synced_version), None) for key in sorted(unknown)]
    await worker_config.write(access, account.database_id, wrong)
    await context.store.run(bump_version(account.id))


def _reports(context: Context, account: Account, meta: WorkerMeta) -> list[Finding]:
    heard_at = max(account.heard_at or 0, meta.next_push_at)
    now = context.clock()
    if heard_at and now - heard_at > STOPPED_MS:
        return [Finding("reports_stopped", "worker_silent", {"since": iso(heard_at)})]
    silent_ms = int(context.config.timing.silent_after_s * 1000)
    if account.heard_at is not None and now - account.heard_at >= silent_ms:
        return [Finding("reports_lost", "worker_silent", {"since": iso(account.heard_at)})]
    return []


async def record_crons(context: Context, account: Account, problems: Sequence[Finding]) -> None:
    """Set or clear the account's warning about a stopped cron trigger, depending on the findings."""
    stopped = any(problem.kind == "reports_stopped" for problem in problems)
    if stopped and "crons_stopped" not in account.warnings:
        await context.store.run(account_health.warn(account.id, "crons_stopped"))
    elif not stopped and "crons_stopped" in account.warnings:
        await context.store.run(account_health.remove_warning(account.id, "crons_stopped"))
