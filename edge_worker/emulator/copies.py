"""Control interface for copies of an account: a test continues from the state that an earlier test has reached.

A copy contains the account with its tokens, zones, scripts, databases and usage, and the API's log. The copies are kept
in memory and survive a reset, because a later test restores them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quart import Blueprint, Response, current_app

from edge_worker.emulator.api.wire import ApiError
from edge_worker.emulator.control import Body, FailureSettingsCall, account_of, account_shown, as_json, read
from edge_worker.emulator.platform import Platform, Window, platform
from edge_worker.emulator.state import Account, Module, new_uuid

if TYPE_CHECKING:
    from collections.abc import Mapping

routes = Blueprint("copies", __name__, url_prefix="/_control")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# A number of this size that is close to the current time is a time in epoch ms.
TIME = re.compile(r"(?<![\w.])1\d{12}(?![\w.])")
_LONGEST_MS = 400 * 86_400_000
_TABLES = (
    "select name, sql, type from sqlite_master where sql is not null and name not like '\\_cf\\_%' escape '\\'"
    " and name not like 'sqlite\\_%' escape '\\'"
)
# The modules of uploaded versions are large, so copies share them.
_MODULES = {"scripts": {"__all__": {"versions": {"__all__": {"modules"}}}}}


@dataclass(frozen=True)
class Copy:
    """A copy of an account.

    `text`: JSON with the account (without modules), the API's log, the uploads and the calls of each token. `modules`:
    by version id. `databases`: by id, the statements that create the tables and rows, as JSON.
    """

    account_id: str
    taken_at: int
    text: str
    modules: Mapping[str, list[Module]]
    databases: Mapping[str, str]


def _copies() -> list[Copy]:
    copies: list[Copy] = current_app.extensions.setdefault("copies", [])
    return copies


@routes.get("/accounts/<account_id>/environment")
async def environment(account_id: str) -> Response:
    """Return the account and everything else that determines how the platform handles its calls, without secrets."""
    here, account = platform(), account_of(account_id)
    shown = {
        "account": account_shown(here, account),
        "accounts": len(here.world.accounts),
        "settings": {name: getattr(here, name) for name in FailureSettingsCall.model_fields},
        "faults": [fault.model_dump() for fault in here.faults.waiting],
        "requests": len(here.requests),
        "offset_s": here.world.offset_s,
        "place": here.runtime.place,
    }
    return as_json({"now": here.now(), "environment": shown})


@routes.post("/accounts/<account_id>/copies")
async def copy(account_id: str) -> Response:
    """Copy the account, and return the number of the copy."""
    here, account = platform(), account_of(account_id)
    await here.runtime.collect()
    databases = {uuid: json.dumps(await _statements_of(here, uuid)) for uuid in account.databases}
    await _set_meters(here, account)  # reading the databases is not part of the account's usage
    text = {
        "account": account.model_dump(mode="json", exclude=_MODULES),
        "requests": here.requests,
        "uploads": here.uploads,
        "calls": {token_id: window.calls for token_id, window in here.windows.items()},
    }
    modules = {version.id: version.modules for script in account.scripts.values() for version in script.versions}
    _copies().append(Copy(account_id, here.now(), json.dumps(text), modules, databases))
    return as_json({"number": len(_copies()) - 1}, 201)


class RestoreCall(Body):
    """The copy to restore. `ids`: ids and zone names of the copy, and their replacements in this account.

    `texts`: values of the scripts' text bindings that differ, by name.
    """

    number: int
    ids: dict[str, str]
    texts: dict[str, str]


@routes.post("/accounts/<account_id>/restore")
async def restore(account_id: str) -> Response:
    """Replace an account with a copy of an account that had the same resources.

    Databases, versions and deployments get new ids. The response has all replaced ids. Times are moved forward by the
    age of the copy. Tokens that the account already has keep their values.
    """
    call, here, current = await read(RestoreCall), platform(), account_of(account_id)
    wanted = _copies()[call.number]
    new = {uuid: new_uuid() for uuid in set(_UUID.findall(wanted.text)) if uuid not in call.ids}
    ids = {**call.ids, **new}
    text = json.loads(translated(wanted.text, ids, wanted.taken_at, here.now()))
    modules = {ids.get(version_id, version_id): each for version_id, each in wanted.modules.items()}
    for script in text["account"]["scripts"].values():
        for version in script["versions"]:
            version["modules"] = modules[version["id"]]
            for binding in version["bindings"]:
                if binding["type"] == "plain_text":
                    binding["text"] = call.texts.get(binding["name"], binding["text"])
    account = Account.model_validate(text["account"])
    for token_id, token in current.tokens.items():
        if token_id in account.tokens:
            account.tokens[token_id].value = token.value
    here.world.accounts[account_id] = account
    here.requests += text["requests"]
    here.uploads += [(upload[0], upload[1], upload[2]) for upload in text["uploads"]]
    here.windows.update({token_id: Window(here.real_now(), calls) for token_id, calls in text["calls"].items()})
    await here.runtime.update()
    for uuid, statements in wanted.databases.items():
        moved = json.loads(translated(statements, ids, wanted.taken_at, here.now()))
        result = await here.runtime.query(ids[uuid], moved, "NONE")
        if isinstance(result, dict):
            raise ApiError(500, 0, result["error"])
    await _set_meters(here, account)
    await here.runtime.run_scripts()
    return as_json({"ids": ids})


async def _statements_of(here: Platform, database: str) -> list[dict[str, Any]]:
    """Return the statements that create the database's tables, then its rows, then its indexes and triggers."""
    made = (await _rows(here, database, _TABLES))["rows"]
    statements = [sql for _, sql, kind in made if kind == "table"]
    inserts: list[str] = []
    for name in [name for name, _, kind in made if kind == "table"]:
        columns = await _rows(here, database, f"select name from pragma_table_info('{name}')")  # noqa: S608
        # A number that is passed as a parameter becomes a REAL in a column without a type.
        literals = ", ".join(f'quote("{column}")' for [column] in columns["rows"])
        found = await _rows(here, database, f'select {literals} from "{name}"')  # noqa: S608 (names from the catalog)
        inserts += [f'insert into "{name}" values ({", ".join(row)})' for row in found["rows"]]  # noqa: S608
    others = [sql for _, sql, kind in made if kind != "table"]
    return _plain([*statements, *inserts, *others])


def _plain(statements: list[str]) -> list[dict[str, Any]]:
    return [{"sql": sql, "params": []} for sql in statements]


async def _rows(here: Platform, database: str, sql: str) -> Any:
    [result] = await here.runtime.query(database, _plain([sql]), "ROWS_AND_COLUMNS")
    return result["results"]


async def _set_meters(here: Platform, account: Account) -> None:
    for day, usage in account.usage.items():
        await here.runtime.set_meter(account, day, usage)


def translated(text: str, ids: Mapping[str, str], taken_at: int, now: int) -> str:
    """Replace the ids in JSON text, and move its times forward by the time from `taken_at` to `now` (epoch ms)."""
    if ids:
        any_id = re.compile("|".join(map(re.escape, ids)))
        text = any_id.sub(lambda match: ids[match[0]], text)

    def moved(match: re.Match[str]) -> str:
        at = int(match[0])
        return str(at + now - taken_at) if abs(at - taken_at) < _LONGEST_MS else match[0]

    return TIME.sub(moved, text)
