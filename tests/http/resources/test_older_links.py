"""The current API with links that earlier versions stored without texts, tags, options or a deletion time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import DAY_MS, day_of
from svc.store import accounts, open_store, users
from svc.store.engines.migrate import migrations
from svc.store.engines.postgres.opening import open_postgres
from svc.store.engines.sqlite.opening import open_sqlite
from svc.store.tx import many, sql
from tests.clock import START_MS
from tests.databases import postgres_config, sqlite_config
from tests.http.conftest import EDGE_ACCOUNT, open_world
from tests.http.resources.test_export import export, rows_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from svc.config import StoreConfig
    from svc.store.tx import Parameter, Store, Tx
    from tests.clock import FrozenClock
    from tests.http.conftest import World

pytestmark = pytest.mark.both_engines

JSON = dict[str, Any]
# The last schema without the texts of links, and the last schema without the options of links.
WITHOUT_TEXTS, WITHOUT_OPTIONS = 21, 25
TODAY = day_of(START_MS)
RULES = '[{"url":"https://example.com/de","countries":["DE"],"devices":["mobile"]}]'
NEW_FIELDS: JSON = {
    "title": None,
    "note": None,
    "tags": [],
    "forward_query": False,
    "starts_at": None,
    "ends_at": None,
    "after_url": None,
    "split": None,
}
# The body of a change that removes the options. It changes nothing in a link without options.
NO_OPTIONS = {"forward_query": False, "starts_at": "", "ends_at": "", "after_url": "", "split": []}
CODES = ("plain", "rules", "texts")
ACCOUNT = f"acc_{'a' * 20}"


def id_of(code: str) -> str:
    """Return the id of the link with this code."""
    return f"lnk_{code:a<20}"


@pytest.fixture
def store_config(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreConfig]:
    """Yield the configuration of a store that does not exist yet."""
    if request.param == "sqlite":
        yield sqlite_config(tmp_path)
    else:
        with postgres_config(request.getfixturevalue("postgres_url")) as config:
            yield config.model_copy(update={"copies": str(tmp_path / "copies")})


@pytest.fixture
async def store(store_config: StoreConfig) -> AsyncIterator[Store]:
    """A store with links that two earlier versions stored, migrated to the current schema."""
    async with _open_earlier(store_config, WITHOUT_TEXTS) as before:
        await before.run(_rows_without_texts())
    async with _open_earlier(store_config, WITHOUT_OPTIONS) as before:
        await before.run(_rows_without_options())
    async with open_store(store_config, serving=True) as opened:
        yield opened


def _open_earlier(config: StoreConfig, number: int) -> AbstractAsyncContextManager[Store]:
    """Open the store in the same way as the earlier version with the schema `number`."""
    known = [step for step in migrations(config.engine) if step.number <= number]
    if config.engine == "sqlite":
        return open_sqlite(config.path, serving=True, known=known)
    return open_postgres(config.url.get_secret_value(), 2, serving=True, copies=Path(config.copies), known=known)


def _rows_without_texts() -> Tx[None]:
    yield sql(
        "insert into users (id, email, password_hash, email_confirmed, plan, created_at)"
        " values (1, 'old@example.com', '', 1, 'free', 1)"
    )
    yield sql(
        "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version, created_at)"
        " values ($1, 1, $2, 'Shop', 'ready', 3, 3, 1)",
        ACCOUNT,
        EDGE_ACCOUNT,
    )
    yield sql(
        "insert into link_hosts (account_id, host, zone_id, state, version)"
        " values ($1, 'go.example.com', 'z1', 'active', 1)",
        ACCOUNT,
    )
    yield _links(
        "",
        (id_of("plain"), "plain", "https://example.com/plain", "[]", "active", 2, 1),
        (id_of("rules"), "rules", "https://example.com/rules", RULES, "active", 3, 2),
        (id_of("gone"), "gone", "https://example.com/gone", "[]", "deleted", 3, 3),
    )
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, $3, 1, 2, $4, 1)",
        [(id_of("plain"), TODAY - n, 10 + n, (TODAY - n + 1) * DAY_MS) for n in (1, 2, 40)],
    )


def _rows_without_options() -> Tx[None]:
    texts = ("Spring", "spring", "A note", " sale spring ")
    link = (id_of("texts"), "texts", "https://example.com/texts", "[]", "active", 3, 4)
    yield _links(", title, title_folded, note, tags", (*link, *texts))


def _links(more: str, *rows: Sequence[Parameter]) -> Any:
    places = ", ".join(f"${n}" for n in range(1, len(rows[0]) + 2))
    columns = f"id, code, url, rules, state, version, created_at{more}"
    values = [(ACCOUNT, *row) for row in rows]
    return many(f"insert into links (account_id, {columns}, user_id) values ({places}, 1)", values)


@pytest.fixture
async def world(store: Store, clock: FrozenClock, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(store, clock, tmp_path) as opened:
        yield opened


async def signed_in(world: World) -> dict[str, str]:
    user = await world.store.read(users.get_user(1))
    assert user is not None
    return await world.session(user)


async def codes_of(world: World, session: dict[str, str], query: str) -> list[str]:
    listed = await world.call("GET", f"/v1/links?{query}", headers=session)
    assert listed.status == 200, listed.raw
    return [link["code"] for link in listed.body["links"]]


@pytest.mark.rule("X17", "L3")
async def test_links_of_earlier_versions_are_read_listed_reported_and_exported(world: World) -> None:
    session = await signed_in(world)
    texts = {"title": "Spring", "note": "A note", "tags": ["sale", "spring"]}
    for code in CODES:
        link = (await world.call("GET", f"/v1/links/{id_of(code)}", headers=session)).body["link"]
        expected: JSON = NEW_FIELDS | (texts if code == "texts" else {})
        assert {name: link[name] for name in NEW_FIELDS} == expected
        assert (link["config"], link["state"]) == ("synced", "active")
        assert link["rules"] == (json.loads(RULES) if code == "rules" else [])
        click = {"user_agent": "Mozilla/5.0 (iPhone) Mobile Safari", "country": "DE", "query": "a=1"}
        explained = (await world.call("POST", f"/v1/links/{id_of(code)}/explain", click, headers=session)).body
        assert explained["url"] == f"https://example.com/{'de' if code == 'rules' else code}"
        assert (explained["rule"], explained.get("variant")) == (0 if code == "rules" else None, None)
        assert (await world.call("GET", f"/v1/links/{id_of(code)}/qr.svg", headers=session)).status == 200
    deleted = (await world.call("GET", f"/v1/links/{id_of('gone')}", headers=session)).body["link"]
    assert (deleted["state"], "restorable_until" in deleted) == ("deleted", False)

    for query, codes in (
        *((f"order={order}", list(CODES)) for order in ("oldest", "code")),
        ("order=newest", list(CODES[::-1])),
        ("order=clicks", list(CODES)),
        ("tag=sale", ["texts"]),
        ("tag=plain", []),
        ("q=SPRING", ["texts"]),
        ("q=plain", ["plain"]),
        ("q=gone", []),
        ("state=deleted", ["gone"]),
    ):
        assert await codes_of(world, session, query) == codes, query
    tags = (await world.call("GET", "/v1/tags", headers=session)).body["tags"]
    assert tags == [{"tag": tag, "links": 1, "clicks_7d": 0} for tag in ("sale", "spring")]
    report = (await world.call("GET", f"/v1/links/{id_of('plain')}/report?period=all", headers=session)).body["report"]
    assert report["totals"] == {"views": 73, "bots": 3, "visitors": 6} | {
        name: value for name, value in report["totals"].items() if name not in ("views", "bots", "visitors")
    }

    files = await export(world, session)
    exported = {link["code"]: link for link in json.loads(files["links.json"])}
    assert list(exported) == [*CODES[:2], "gone", "texts"]
    for code, link in exported.items():
        assert {name: link[name] for name in NEW_FIELDS} == NEW_FIELDS | (texts if code == "texts" else {})
    rows = {row["code"]: row for row in rows_of(files["links.csv"])}
    assert [rows["plain"][name] for name in ("title", "tags", "starts_at", "split")] == ["", "[]", "", ""]
    assert (rows["texts"]["title"], json.loads(rows["texts"]["tags"])) == ("Spring", texts["tags"])


@pytest.mark.rule("X17", "L3")
async def test_links_of_earlier_versions_are_changed_and_deleted(world: World) -> None:
    """A request that changes nothing, or only texts of links, must not write the Worker's configuration again."""
    session = await signed_in(world)

    async def version() -> int:
        return accounts.present(await world.store.read(accounts.account_by_id(ACCOUNT))).config_version

    before = await version()
    same = await world.call("PATCH", f"/v1/links/{id_of('plain')}", {**NO_OPTIONS, "title": ""}, headers=session)
    assert (same.status, same.body["link"]["config"]) == (200, "synced")
    bulk = {"filter": {}, "add_tags": ["old"], "set": NO_OPTIONS}
    changed = (await world.call("PATCH", "/v1/links/bulk", bulk, headers=session)).body
    assert [(each["code"], each["changed"]) for each in changed["results"]] == [(code, True) for code in CODES]
    assert await version() == before
    assert await codes_of(world, session, "tag=old") == list(CODES)

    day = (await world.call("GET", "/v1/tags/old/report?period=all", headers=session)).body["report"]
    assert (day["links"], day["totals"]["views"]) == (3, 73)
    options = {
        "split": [{"url": "https://example.com/a", "share": 40}, {"url": "https://example.com/b", "share": 60}],
        "starts_at": "2099-01-01T00:00:00Z",
        "after_url": "https://example.com/soon",
        "forward_query": True,
        "title": "New",
    }
    link = (await world.call("PATCH", f"/v1/links/{id_of('rules')}", options, headers=session)).body["link"]
    assert {name: link[name] for name in options} == options | {"starts_at": "2099-01-01T00:00:00.000Z"}
    assert (link["rules"], link["tags"], await version()) == (json.loads(RULES), ["old"], before + 1)
    link = (await world.call("PATCH", f"/v1/links/{id_of('rules')}", NO_OPTIONS, headers=session)).body["link"]
    assert {name: link[name] for name in NEW_FIELDS} == NEW_FIELDS | {"title": "New", "tags": ["old"]}

    # The time of the deletion is not known, so the link cannot be restored.
    refused = await world.call("POST", f"/v1/links/{id_of('gone')}/restore", headers=session)
    assert (refused.status, refused.code) == (404, "not_found")
    for code in CODES[:2]:
        assert (await world.call("DELETE", f"/v1/links/{id_of(code)}", headers=session)).status == 200
        restored = (await world.call("POST", f"/v1/links/{id_of(code)}/restore", headers=session)).body["link"]
        assert (restored["state"], restored["tags"]) == ("active", ["old"])
    assert await codes_of(world, session, "order=oldest") == list(CODES)
