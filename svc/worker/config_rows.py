"""Rows of the Worker's `config` table, and the statements that write them. No I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Link, LinkHost, Rule, Site, WorkerSettings

# The maximum number of rows in one statement. Each row has 3 parameters, and D1 allows 100 parameters per statement.
_ROWS_A_STATEMENT = 33
# The number of rows written in one call. A call with this many rows takes far less time than D1's limit of 30 s.
_ROWS_A_CALL = 330

_RAISE_VERSION = (
    "insert into meta (key, value) values ('config_version', cast(?1 as integer))"
    " on conflict (key) do update set value = excluded.value where excluded.value > meta.value"
)

_HOST_KEY = "host"
# Identifies the link host's row, which has no target. No site or link has this id.
LINK_HOST = "link_host"

Statement = tuple[str, list[str | None]]


class ConfigRow(NamedTuple):
    """A row of the `config` table.

    `version`: the account's configuration version. `body`: JSON, or None to remove the key.
    """

    key: str
    version: int
    body: str | None


def rows_of(
    sites: Sequence[Site], links: Sequence[Link], host: LinkHost | None, settings: WorkerSettings, after_version: int
) -> list[ConfigRow]:
    """Return the rows that update the Worker from `after_version` to the given configuration, oldest first.

    The result has only the newest row of each key. If two rows have the same version, which is possible after a
    restore, the row with a body counts as newer. If a key was removed and then used again, the result also contains the
    removal. Otherwise, if Cloudflare's firewall rejected the new row, the code would still redirect to the destination
    of the deleted link.
    """
    newest: dict[str, ConfigRow] = {}
    removals: list[ConfigRow] = []
    for row in sorted(
        _rows(sites, links, host, settings, after_version), key=lambda row: (row.version, row.body is not None)
    ):
        older = newest.get(row.key)
        if older is not None and older.body is None and older.version < row.version and row.body is not None:
            removals.append(older)
        newest[row.key] = row
    return sorted([*removals, *newest.values()], key=lambda row: row.version)


def calls_of(rows: Sequence[ConfigRow]) -> list[Sequence[ConfigRow]]:
    """Split the rows, in order, into batches that are small enough for one call."""
    return [rows[first : first + _ROWS_A_CALL] for first in range(0, len(rows), _ROWS_A_CALL)]


def write_statements(rows: Sequence[ConfigRow]) -> list[Statement]:
    """Return parameterized statements that write `rows`.

    The statements must run in this order, but can be split into batches. They can be repeated, because an older row
    never replaces a newer row.
    """
    chunks = [rows[first : first + _ROWS_A_STATEMENT] for first in range(0, len(rows), _ROWS_A_STATEMENT)]
    return [_upsert(chunk) for chunk in chunks]


def raise_version(version: int) -> Statement:
    """Return a statement, with its parameters, that records that all rows up to `version` have been written."""
    return _RAISE_VERSION, [str(version)]


def hex_keys(keys: Sequence[str]) -> str:
    """Return the keys as a JSON list in the encoding of SQLite's `hex`.

    Without the encoding, Cloudflare's firewall could mistake URLs for attacks and reject the call.
    """
    return json.dumps([key.encode().hex().upper() for key in keys])


def target_of(row: ConfigRow) -> str | None:
    """Return the id of the row's site or link, or `LINK_HOST` for the link host.

    Return None for removals and other rows.
    """
    if row.key == _HOST_KEY:
        return LINK_HOST
    target = json.loads(row.body or "{}").get("target")
    return target if isinstance(target, str) else None


def _rows(
    sites: Sequence[Site], links: Sequence[Link], host: LinkHost | None, settings: WorkerSettings, after_version: int
) -> list[ConfigRow]:
    rows: list[ConfigRow] = []
    if host is not None and host.version > after_version:
        rows.append(ConfigRow(_HOST_KEY, host.version, _body({"host": host.host, **host.fallbacks()})))
    if settings.version > after_version:  # never true for version 0 (never changed)
        rows.append(ConfigRow("days_kept", settings.version, _body(_settings_fields(settings))))
    rows += [
        ConfigRow(f"link:{link.code}", link.version, _body(_link_fields(link) if _is_served(link) else None))
        for link in links
    ]
    for site in sites:
        fields = _site_fields(site) if _is_served(site) else None
        rows.append(ConfigRow(f"path:{site.host}{site.path}", site.version, _body(fields)))
        rows += [
            ConfigRow(f"path:{site.host}{old.path}", site.version, _body(fields, until=old.until))
            for old in site.retiring
        ]
        rows += [
            ConfigRow(f"path:{site.host}{ended.path}", ended.version, None)
            for ended in site.ended_paths
            if ended.version > after_version
        ]
    return rows


def _is_served(target: Site | Link) -> bool:
    """Return True if the Worker counts the site or link.

    The Worker treats all other sites and links as if they had never existed.
    """
    return target.state != "deleted" and target.disabled is None


def _site_fields(site: Site) -> dict[str, object]:
    fields: dict[str, object] = {"target": site.id, "excluded_paths": site.excluded_paths, "script": site.script_name}
    settings: dict[str, object] = {
        "respect_gpc": site.respect_gpc,
        "excluded_networks": site.excluded_networks,
        "excluded_countries": site.excluded_countries,
        "excluded_asns": site.excluded_asns,
        "visitor_opt_out": site.visitor_opt_out,
    }
    # Omit the defaults, so that a row is as small as possible and does not change if a setting is added.
    return {**fields, **{name: value for name, value in settings.items() if value}}


def _settings_fields(settings: WorkerSettings) -> dict[str, object]:
    # A Worker that does not know a field uses its default.
    months = {} if settings.months == "forever" else {"months": settings.months}
    plan = {} if settings.plan == "free" else {"plan": settings.plan}
    return {"days": settings.days, **months, **plan}


def _link_fields(link: Link) -> dict[str, object]:
    fields: dict[str, object] = {"target": link.id, "url": link.url}
    if link.rules:
        fields["rules"] = [_rule_fields(rule) for rule in link.rules]
    if link.split:
        fields["split"] = [vars(variant) for variant in link.split]
    if link.forward_query:
        fields["forward_query"] = True
    if link.starts_at is not None or link.ends_at is not None:
        period = {"starts_at": link.starts_at, "ends_at": link.ends_at, "after_url": link.after_url}
        fields |= {name: value for name, value in period.items() if value is not None}
    return fields


def _rule_fields(rule: Rule) -> dict[str, object]:
    """Return the rule as the Worker reads it.

    An older Worker ignores conditions that it does not know, and would therefore apply the rule to too many clicks. To
    prevent this, such a rule has all its conditions in the `when` field. Its list of countries is empty, so an older
    Worker never applies the rule.
    """
    fields = rule.fields()
    if not rule.needs_format_2:
        return fields
    conditions = {name: value for name, value in fields.items() if name != "url"}
    return {"url": rule.url, "countries": [], "when": conditions}


def _body(fields: dict[str, object] | None, **more: object) -> str | None:
    return None if fields is None else json.dumps({**fields, **more}, separators=(",", ":"), ensure_ascii=False)


def _upsert(rows: Sequence[ConfigRow]) -> Statement:
    """Return one upsert statement for many rows. The version is cast, because D1's API passes parameters as text.

    Keys and bodies contain user input, so they are sent in hex. Otherwise, the firewall of Cloudflare's API would
    reject the whole call because of one URL that resembles an attack. Interrupted writes are repeated. The statement
    skips rows that are already correct, because each written row counts toward the account's daily limit.
    """
    values = ", ".join(
        f"(cast(unhex(?{n}) as text), cast(?{n + 1} as integer), cast(unhex(?{n + 2}) as text))"
        for n in range(1, 3 * len(rows), 3)
    )
    parameters = [field for row in rows for field in (_hex(row.key), str(row.version), _hex(row.body))]
    text = (
        f"insert into config (key, version, body) values {values} on conflict (key) do update"  # noqa: S608  # placeholders
        " set version = excluded.version, body = excluded.body where excluded.version > config.version"
        " or (excluded.version = config.version and excluded.body is not config.body)"
    )
    return text, parameters


def _hex(text: str | None) -> str | None:
    return None if text is None else text.encode().hex()
