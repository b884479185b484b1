"""D1 over the API. Cloudflare docs: d1/, api/resources/d1."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from quart import Blueprint, Response, request

from edge_worker.emulator.api.access import for_account
from edge_worker.emulator.api.wire import ApiError, body_object, envelope, invalid, no_route, page, shuffled
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import Account, Database, iso_micro, new_uuid

routes = Blueprint("databases", __name__)
READ = ("D1 Read", "D1 Write")
WRITE = "D1 Write"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
JURISDICTIONS = ("eu", "fedramp", "us")
HINTS = ("wnam", "enam", "weur", "eeur", "apac", "oc")
MAX_STATEMENT_BYTES = 100_000
MAX_PARAMS = 100


def _listed(database: Database) -> dict[str, Any]:
    return {
        "uuid": database.uuid,
        "name": database.name,
        "version": "production",
        "created_at": iso_micro(database.created_at),
        "jurisdiction": database.jurisdiction,
    }


async def _with_size(account: Account, database: Database) -> dict[str, Any]:
    stats = await platform().runtime.database_stats(database.uuid)
    set_size = account.day(platform().runtime.today()).size
    if set_size is not None and database is next(iter(account.databases.values())):
        stats["file_size"] = set_size
    region = (database.location_hint or "weur").upper()
    more = {"running_in_region": region, "read_replication": {"mode": "disabled"}}
    return {**_listed(database), **stats, **more}


def _database_of(account: Account, key: str) -> Database:
    """Return a database by uuid, or by name as wrangler does. Raises ApiError 404/7404."""
    if key in account.databases:
        return account.databases[key]
    for database in account.databases.values():
        if database.name == key:
            return database
    if not UUID.fullmatch(key) and not NAME.fullmatch(key):
        raise no_route()
    raise ApiError(404, 7404, f"The database {key} could not be found")


@routes.post("/accounts/<account_id>/d1/database")
@for_account(WRITE)
async def create(account: Account) -> Response:
    """Create a database."""
    body = await body_object()
    name, jurisdiction = body.get("name"), body.get("jurisdiction")
    hint = body.get("primary_location_hint")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise invalid("Invalid database name", 7400)
    if jurisdiction not in (None, *JURISDICTIONS) or hint not in (None, *HINTS):
        raise invalid("Invalid location", 7400)
    if any(database.name == name for database in account.databases.values()):
        raise invalid(f"A database with the name '{name}' already exists", 7502)
    if len(account.databases) >= account.limits.databases:
        raise invalid("You have reached the maximum number of D1 databases for your account", 7406)
    database = Database(
        uuid=new_uuid(), name=name, created_at=platform().now(), jurisdiction=jurisdiction, location_hint=hint
    )
    account.databases[database.uuid] = database
    await platform().runtime.update()
    return envelope(await _with_size(account, database))


@routes.get("/accounts/<account_id>/d1/database")
@for_account(*READ)
async def listing(account: Account) -> Response:
    """List the databases whose name contains `name`."""
    search = request.args.get("name", "")
    found = [database for database in account.databases.values() if search in database.name]
    return page(shuffled(found, lambda database: database.uuid), _listed, size=10, most=10_000)


@routes.get("/accounts/<account_id>/d1/database/<key>")
@for_account(*READ)
async def get(account: Account, key: str) -> Response:
    """Return a database with its size, or only the requested `fields`."""
    whole = await _with_size(account, _database_of(account, key))
    fields = request.args.get("fields")
    if fields:
        whole = {name: value for name, value in whole.items() if name in fields.split(",")}
    return envelope(whole)


@routes.delete("/accounts/<account_id>/d1/database/<key>")
@for_account(WRITE)
async def delete(account: Account, key: str) -> Response:
    """Delete a database with its rows."""
    database = _database_of(account, key)
    del account.databases[database.uuid]
    await platform().runtime.update()
    await platform().runtime.destroy_database(database.uuid)
    return envelope(None)


def split(sql: str) -> list[str]:
    """Split SQL into statements at semicolons, except in quotes, comments and triggers."""
    statements, start = [], 0
    for at, sign in enumerate(sql):
        if sign == ";" and sqlite3.complete_statement(sql[start : at + 1]):
            statements.append(sql[start : at + 1].strip())
            start = at + 1
    statements.append(sql[start:].strip())
    return [text for text in statements if _has_statement(text)]


def _has_statement(text: str) -> bool:
    bare = re.sub(r"--[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return bool(bare.strip().strip(";").strip())


def _statement(body: Any) -> list[dict[str, Any]]:
    if not isinstance(body, dict) or not isinstance(body.get("sql"), str):
        raise invalid("sql must be a string", 7400)
    params = body.get("params") or []
    if not isinstance(params, list) or any(isinstance(value, dict | list) for value in params):
        raise invalid("params must be a list of plain values", 7400)
    statements = split(body["sql"])
    if not statements:
        raise invalid("No SQL statements detected.", 7500)
    if params and len(statements) > 1:
        raise invalid("params can only be given with a single statement", 7500)
    if len(params) > MAX_PARAMS:
        raise invalid("too many SQL variables at offset 0: SQLITE_ERROR", 7500)
    if any(len(text.encode()) > MAX_STATEMENT_BYTES for text in statements):
        raise invalid("statement too long: SQLITE_TOOBIG", 7500)
    return [{"sql": text, "params": params} for text in statements]


async def _run(account: Account, key: str, format_: str) -> Response:
    database, body = _database_of(account, key), await body_object()
    batch = body.get("batch")
    items = batch if isinstance(batch, list) and batch else [body]
    statements = [statement for item in items for statement in _statement(item)]
    response = await platform().runtime.query(database.uuid, statements, format_)
    if isinstance(response, dict):
        raise invalid(response["error"], 7500)
    return envelope(response)


@routes.post("/accounts/<account_id>/d1/database/<key>/query")
@for_account(*READ)
async def query(account: Account, key: str) -> Response:
    """Run statements and return rows as objects."""
    return await _run(account, key, "ARRAY_OF_OBJECTS")


@routes.post("/accounts/<account_id>/d1/database/<key>/raw")
@for_account(*READ)
async def raw(account: Account, key: str) -> Response:
    """Run statements and return rows as lists, with column names."""
    return await _run(account, key, "ROWS_AND_COLUMNS")
