"""Keeping the worker's configuration equal to the service's: sites, links, link host.

Every change raises the account's version. A sync writes what is newer than the worker's database has, oldest first,
and raises the version there last; so one that is cut short or done twice leaves the same rows.
"""

from __future__ import annotations

import json
import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.actors import health
from svc.clock import DAY_MS
from svc.edge import d1
from svc.edge.answers import DailyLimit
from svc.errors import EdgeRefused, EdgeUnavailable
from svc.model import SERVING
from svc.store import accounts, links, sites

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account, Link, LinkHost, Site

log = logging.getLogger(__name__)

_LONGEST_WAIT_S = 600.0
_AFTER_MIDNIGHT_S = 60.0
# 33 rows of 3 parameters: the platform takes 100 parameters a statement.
_ROWS_A_STATEMENT = 33
# 330 rows a call: well inside the 30 s that the platform gives one call.
_STATEMENTS_A_CALL = 10

_RAISE_VERSION = (
    "insert into meta (key, value) values ('config_version', cast(?1 as integer))"
    " on conflict (key) do update set value = excluded.value where excluded.value > meta.value"
)

# A row of the worker's table config: key, version, body (JSON; None: removed).
Row = tuple[str, int, str | None]


async def sync_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Write what the worker's database does not have yet; after a failure again, with a growing wait."""
    if account.state not in SERVING or account.database_id is None:
        return math.inf
    if account.synced_version >= account.config_version:
        return math.inf
    if trio.current_time() < timers.sync_at:
        return timers.sync_at
    try:
        await _sync(context, account, account.database_id)
    except DailyLimit as error:
        # Nothing is taken before midnight UTC; a minute for the platform to notice.
        wait_s = (DAY_MS - context.clock() % DAY_MS) / 1000 + _AFTER_MIDNIGHT_S
        log.info("sync waits for midnight", extra={"account": account.id, "why": error.message})
        timers.sync_at = trio.current_time() + wait_s
        return timers.sync_at
    except (EdgeRefused, EdgeUnavailable) as error:
        if isinstance(error, EdgeRefused):
            await health.note_refusal(context, account, error)
        wait_s = min(_LONGEST_WAIT_S, context.config.timing.sync_retry_s * 2**timers.sync_failures)
        log.info("sync waits", extra={"account": account.id, "why": error.message, "wait_s": wait_s})
        timers.sync_failures += 1
        timers.sync_at = trio.current_time() + wait_s
        return timers.sync_at
    timers.sync_failures = 0
    timers.sync_at = 0
    return math.inf


async def _sync(context: Context, account: Account, database_id: str) -> None:
    version = account.config_version
    changed_links = await context.store.read(links.changed_links(account.id, account.synced_version))
    changed_sites = await context.store.read(sites.changed_sites(account.id, account.synced_version))
    rows = rows_of(changed_sites, changed_links, account.link_host, account.synced_version)
    statements = [_upsert(rows[at : at + _ROWS_A_STATEMENT]) for at in range(0, len(rows), _ROWS_A_STATEMENT)]
    statements.append(
        (
            _RAISE_VERSION,
            [str(version)],
        )
    )
    at = context.access(account)
    for first in range(0, len(statements), _STATEMENTS_A_CALL):
        await d1.query(at, database_id, statements[first : first + _STATEMENTS_A_CALL])
    await context.store.run(accounts.set_synced(account.id, version))


def rows_of(sites: Sequence[Site], links: Sequence[Link], host: LinkHost | None, after_version: int) -> list[Row]:
    """The rows that bring the worker from `after_version` to the state of these; the newest of a key wins. Pure."""
    newest: dict[str, Row] = {}
    for row in sorted(_rows(sites, links, host, after_version), key=lambda row: row[1]):
        newest[row[0]] = row
    return sorted(newest.values(), key=lambda row: row[1])


def _rows(sites: Sequence[Site], links: Sequence[Link], host: LinkHost | None, after_version: int) -> list[Row]:
    rows: list[Row] = []
    if host is not None and host.version > after_version:
        rows.append(("host", host.version, _json({"host": host.host})))
    rows += [(f"link:{link.code}", link.version, _link(link) if link.state == "active" else None) for link in links]
    for site in sites:
        rows.append((f"path:{site.host}{site.path}", site.version, _site(site) if site.state != "deleted" else None))
        for old in site.retiring:
            body = _json({**_site_fields(site), "until": old.until}) if site.state != "deleted" else None
            rows.append((f"path:{site.host}{old.path}", site.version, body))
    return rows


def _site_fields(site: Site) -> dict[str, object]:
    return {"target": site.id, "excluded_paths": list(site.excluded_paths), "script": site.script_name}


def _site(site: Site) -> str:
    return _json(_site_fields(site))


def _link(link: Link) -> str:
    fields: dict[str, object] = {"target": link.id, "url": link.url}
    if link.rules:
        fields["rules"] = [
            {
                **({"countries": list(rule.countries)} if rule.countries is not None else {}),
                **({"devices": list(rule.devices)} if rule.devices is not None else {}),
                "url": rule.url,
            }
            for rule in link.rules
        ]
    return _json(fields)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _upsert(rows: Sequence[Row]) -> tuple[str, list[str | int | None]]:
    """One statement for many rows. The API's parameters are text, so the version is cast."""
    values = ", ".join(f"(?{at}, cast(?{at + 1} as integer), ?{at + 2})" for at in range(1, 3 * len(rows), 3))
    parameters: list[str | int | None] = [field for key, version, body in rows for field in (key, str(version), body)]
    text = (
        f"insert into config (key, version, body) values {values} on conflict (key) do update"  # noqa: S608  # placeholders
        " set version = excluded.version, body = excluded.body where excluded.version >= config.version"
    )
    return text, parameters
