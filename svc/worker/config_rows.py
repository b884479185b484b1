"""Rows of the worker's table `config`: made of an account's configuration, and written by statements. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import DaysKept, Link, LinkHost, Site

# 33 rows of 3 parameters: the platform takes 100 parameters a statement.
_ROWS_A_STATEMENT = 33
# Rows that are written by one call: well inside the 30 s that the platform gives it.
_ROWS_A_CALL = 330

_RAISE_VERSION = (
    "insert into meta (key, value) values ('config_version', cast(?1 as integer))"
    " on conflict (key) do update set value = excluded.value where excluded.value > meta.value"
)

Statement = tuple[str, list[str | None]]


class ConfigRow(NamedTuple):
    """A row of the table. `version`: the account's configuration version. `body`: JSON; None: removed."""

    key: str
    version: int
    body: str | None


def rows_of(
    sites: Sequence[Site], links: Sequence[Link], host: LinkHost | None, kept: DaysKept, after_version: int
) -> list[ConfigRow]:
    """The rows that bring the worker from `after_version` to the state of these, oldest first.

    Of rows with one key the newest stays, of two with one version (a restored store gives all the same) the one that
    is there. Before what took the place of something removed, the removal stays, too: should the platform's firewall
    refuse the new row, a code that was given to another link must not go on to lead to the old one's address.
    """
    newest: dict[str, ConfigRow] = {}
    removals: list[ConfigRow] = []
    for row in sorted(
        _rows(sites, links, host, kept, after_version), key=lambda row: (row.version, row.body is not None)
    ):
        older = newest.get(row.key)
        if older is not None and older.body is None and older.version < row.version and row.body is not None:
            removals.append(older)
        newest[row.key] = row
    return sorted([*removals, *newest.values()], key=lambda row: row.version)


def calls_of(rows: Sequence[ConfigRow]) -> list[Sequence[ConfigRow]]:
    """The rows in their order, in pieces that one call can write."""
    return [rows[first : first + _ROWS_A_CALL] for first in range(0, len(rows), _ROWS_A_CALL)]


def write_statements(rows: Sequence[ConfigRow]) -> list[Statement]:
    """Statements, each with its parameters, that write `rows`.

    They may be run in several batches, in their order, and again: a newer row is never replaced by an older one.
    """
    pieces = [rows[first : first + _ROWS_A_STATEMENT] for first in range(0, len(rows), _ROWS_A_STATEMENT)]
    return [_upsert(piece) for piece in pieces]


def raise_version(version: int) -> Statement:
    """The statement, with its parameters, that tells the worker up to which version its rows are written."""
    return _RAISE_VERSION, [str(version)]


def hex_keys(keys: Sequence[str]) -> str:
    """The keys as a JSON list of what SQLite's `hex` makes of them: the firewall sees no address in it."""
    return json.dumps([key.encode().hex().upper() for key in keys])


def target_of(row: ConfigRow) -> str | None:
    """The id of the site or the link that the row is of; None: of neither, or removed."""
    target = json.loads(row.body or "{}").get("target")
    return target if isinstance(target, str) else None


def _rows(
    sites: Sequence[Site], links: Sequence[Link], host: LinkHost | None, kept: DaysKept, after_version: int
) -> list[ConfigRow]:
    rows: list[ConfigRow] = []
    if host is not None and host.version > after_version:
        rows.append(ConfigRow("host", host.version, _body({"host": host.host})))
    if kept.version > after_version:  # 0, never changed, is after no version
        rows.append(ConfigRow("days_kept", kept.version, _body({"days": kept.days})))
    rows += [
        ConfigRow(f"link:{link.code}", link.version, _body(_link_fields(link) if link.state == "active" else None))
        for link in links
    ]
    for site in sites:
        fields = None if site.state == "deleted" else _site_fields(site)
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


def _site_fields(site: Site) -> dict[str, object]:
    fields: dict[str, object] = {"target": site.id, "excluded_paths": site.excluded_paths, "script": site.script_name}
    if site.respect_gpc:
        fields["respect_gpc"] = True
    return fields


def _link_fields(link: Link) -> dict[str, object]:
    fields: dict[str, object] = {"target": link.id, "url": link.url}
    if link.rules:
        fields["rules"] = [rule.fields() for rule in link.rules]
    return fields


def _body(fields: dict[str, object] | None, **more: object) -> str | None:
    return None if fields is None else json.dumps({**fields, **more}, separators=(",", ":"), ensure_ascii=False)


def _upsert(rows: Sequence[ConfigRow]) -> Statement:
    """One statement for many rows. The API's parameters are text, so the version is cast.

    Keys and bodies hold what customers have typed, and travel in hex: the firewall before the API would refuse an
    address that looks like an attack, and with it all that is sent beside it. A row that is there as it should be is
    left alone: each row that is written costs one of the account's day, and what was cut short is written again.
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
