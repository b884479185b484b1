"""What the worker's own database tells: whether it is whole, whether its configuration is ours, whether the crons run.

A database that was emptied or brought back to an earlier state outside the service is filled again: its tables by the
schema's statements, its configuration by a sync. What was counted in it and not pushed is lost.
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
from svc.store import accounts, links, sites, syncs
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

# A worker pushes once an hour, whether it has counted anything or not, and notes when it will be the next time.
STOPPED_MS = 2 * HOUR_MS
# Counting the configuration reads all of its rows, of the five million that a free account may read a day: this many.
_ROWS_COUNTED_A_DAY = 50_000
_LEAST_COUNTS_A_DAY = 1

_META_KEYS = ("schema", "config_version", "state")
_COUNT = (
    "select count(*) as n, coalesce(sum(version), 0) as versions from config"
    " where body is not null and hex(key) not in (select value from json_each(?1))"
)


@dataclass(frozen=True)
class _Told:
    """What the database told: its tables, whether `meta` is whole, and what it says. None: that could not be read."""

    tables: set[str]
    whole: bool = False
    schema: int = 0
    meta: WorkerMeta | None = None
    count: tuple[int, int] | None = None  # rows of the configuration, and the sum of their versions


async def look(
    context: Context, access: Access, account: Account, timers: Timers, *, newer: bool, count: bool
) -> list[Finding]:
    """What is wrong in the account's database, and with the worker's reports.

    `newer`: the script is known to be newer than the record. `count`: the rows of the configuration are counted, though
    it is not their time. Raises EdgeRefused, EdgeUnavailable.
    """
    if account.database_id is None:
        return []
    expected = None
    if count or trio.current_time() >= timers.count_at:
        expected = await context.store.read(syncs.synced_rows(account.id))
    told = await _ask(access, account.database_id, expected)
    if expected is not None:
        counts_a_day = max(_LEAST_COUNTS_A_DAY, _ROWS_COUNTED_A_DAY / (expected.rows + 1))
        timers.count_at = trio.current_time() + DAY_MS / 1000 / counts_a_day
    missing = schema.tables(context.bundle, account.edge_schema or 0) - told.tables
    if missing or not told.whole or told.schema < (account.edge_schema or 0):
        return [_emptied(context, access, account, missing)]
    if told.meta is None:
        raise EdgeRefused("resource_drift", UNREADABLE)
    found = []
    if not newer and await _was_uploaded_later(context, account, told.meta):
        found.append(installation.newer(context, account))
    elif not newer:
        found += _configuration(context, access, account, told, expected)
    return found + _reports(context, account, told.meta)


async def _ask(access: Access, database_id: str, expected: Synced | None) -> _Told:
    """One call, and another one when a table is not there, for which the platform refuses all of the first."""
    statements: list[tuple[str, Sequence[d1.Parameter]]] = [(schema.TABLES, []), (STATEMENT, [])]
    if expected is not None:
        statements.append((_COUNT, [config_rows.hex_keys(expected.refused)]))
    try:
        tables, meta, *count = await d1.query(access, database_id, statements)
    except EdgeRefused as error:
        if error.code != "cloudflare_error":
            raise
        [tables] = await d1.query(access, database_id, [(schema.TABLES, [])])
        told = _Told({str(row["name"]) for row in tables.rows})
        if {"meta", "config"} <= told.tables:
            raise
        return told
    values = {str(row["key"]): row["value"] for row in meta.rows}
    return _Told(
        {str(row["name"]) for row in tables.rows},
        all(key in values for key in _META_KEYS),
        _whole_number(values.get("schema")),
        _meta_of(meta.rows),
        (int(count[0].rows[0]["n"]), int(count[0].rows[0]["versions"])) if count else None,
    )


def _meta_of(rows: Sequence[Mapping[str, Any]]) -> WorkerMeta | None:
    try:
        return WorkerMeta.of(rows)
    except (ValueError, KeyError):
        return None


def _whole_number(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0


def _emptied(context: Context, access: Access, account: Account, missing: set[str]) -> Finding:
    facts = {"schema": str(context.bundle.schema), "tables": ", ".join(sorted(missing or {"meta"}))}
    repair = partial(_make_tables, context, access, account)
    return Finding("tables_deleted", "resource_drift", facts, repair, variant="" if missing else "rows")


async def _make_tables(context: Context, access: Access, account: Account) -> None:
    """Make what is missing; each statement can be repeated, and leaves what is there as it is."""
    if account.database_id is None:
        return
    await schema.migrate(access, account.database_id, context.bundle)
    meta = await recovery.read_meta(access, account.database_id)
    # All of it where the table is new. Where it only was brought back: what is newer than its version.
    [found] = await d1.query(access, account.database_id, [("select exists (select 1 from config) as filled", [])])
    version = meta.config_version if found.rows[0]["filled"] else 0
    await context.store.run(syncs.write_anew(account.id, version))


async def _was_uploaded_later(context: Context, account: Account, meta: WorkerMeta) -> bool:
    """Whether a worker runs that this store does not know of, though its code may be the same.

    Its key is not known either, so none of its pushes is taken.
    """
    # What pushed before our own upload is no sign of anything.
    later = account.installed_at is not None and meta.next_push_at - HOUR_MS > account.installed_at
    return later and meta.tried != account.install_id and await is_unknown(context, meta.tried)


def _configuration(
    context: Context, access: Access, account: Account, told: _Told, expected: Synced | None
) -> list[Finding]:
    if told.meta is None:
        return []
    version = told.meta.config_version
    if recovery.is_behind(account, told.meta):
        repair = findings.by(context, partial(bump_version, account.id))  # which wakes the sync
        return [Finding("configuration_newer", "resource_drift", repair=repair)]
    if version < account.synced_version:
        repair = findings.by(context, partial(syncs.write_anew, account.id, version))
        facts = {"version": str(version), "given": str(account.synced_version)}
        return [Finding("configuration_older", "resource_drift", facts, repair)]
    if expected is None or told.count is None or told.count == (expected.rows, expected.versions):
        return []
    facts = {"rows": str(told.count[0]), "given": str(expected.rows)}
    return [Finding("configuration_differs", "resource_drift", facts, partial(_refill, context, access, account))]


async def _refill(context: Context, access: Access, account: Account) -> None:
    """Write the rows of the configuration that are lost, and remove those that nobody knows.

    Then the version is raised: isolates keep, as of a version, which codes are no links.
    """
    if account.database_id is None:
        return
    all_sites = [one for one in await context.store.read(sites.changed_sites(account.id, 0)) if not one.config_error]
    all_links = [one for one in await context.store.read(links.changed_links(account.id, 0)) if not one.config_error]
    refused = await context.store.read(syncs.synced_rows(account.id))
    if refused is None:
        return  # a sync is still to come; the next health check sees what is lost then
    rows = await trio.to_thread.run_sync(
        config_rows.rows_of, all_sites, all_links, account.link_host, account.days_kept, 0
    )
    wanted = {row.key: row for row in rows if row.body is not None}
    there = await worker_config.versions(access, account.database_id)
    wrong = [row for key, row in wanted.items() if there.get(key) != row.version]
    unknown = there.keys() - wanted.keys() - set(refused.refused)
    wrong += [ConfigRow(key, max(there[key], account.synced_version), None) for key in sorted(unknown)]
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


async def note_crons(context: Context, account: Account, found: Sequence[Finding]) -> None:
    """Let the account warn of crons that have stopped, until they run."""
    stopped = any(one.kind == "reports_stopped" for one in found)
    if stopped and "crons_stopped" not in account.warnings:
        await context.store.run(accounts.warn(account.id, "crons_stopped"))
    elif not stopped and "crons_stopped" in account.warnings:
        await context.store.run(accounts.unwarn(account.id, "crons_stopped"))
