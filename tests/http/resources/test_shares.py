"""Tests of …/shares and /v1/shares: what the owner of a share can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import DAY_MS, day_of, day_text
from svc.ids import new_id
from svc.security.passwords import verify_password
from svc.store.tx import sql
from tests.cases import cases
from tests.clock import START_MS
from tests.http.conftest import SCOPES
from tests.http.serving.test_refusals import is_error
from tests.store.makers import a_link, a_site

if TYPE_CHECKING:
    from svc.model import Account
    from svc.store.tx import Tx
    from tests.http.conftest import World

TODAY = day_of(START_MS)
NOW = "2026-11-21T04:00:00.000Z"
URL = "https://svc.example/s/shs_"


async def paths_of(world: World, account: Account) -> dict[str, str]:
    """Create a site and a link. Return the path of the shares for each kind of target."""
    site, link = await world.store.run(a_site(account.id)), await world.store.run(a_link(account.id))
    return {
        "site_id": f"/v1/sites/{site}/shares",
        "link_id": f"/v1/links/{link}/shares",
        "account_id": f"/v1/accounts/{account.id}/shares",
    }


@pytest.mark.rule("Y13")
async def test_share_of_each_kind_of_target_is_created_listed_changed_and_ended(world):
    _, session, account = await world.ready()
    for field, path in (await paths_of(world, account)).items():
        response = await world.call("POST", path, {"name": "Shop"}, headers=session)
        assert response.status == 201, response.raw
        share = response.body["share"]
        target = path.split("/")[3]
        assert share["url"].startswith(URL)
        assert share == {
            "id": share["id"],
            field: target,
            "name": "Shop",
            "url": share["url"],
            "password": False,
            "lists": False,
            "embed": [],
            "created_at": NOW,
        }
        assert (await world.call("GET", path, headers=session)).body == {"shares": [share]}
        own = f"/v1/shares/{share['id']}"
        changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
            ({"name": "Store", "lists": True}, {"name": "Store", "lists": True}),
            (
                {"until": "2026-12-31", "periods": ["7d", "30d", "7d"]},
                {"until": "2026-12-31", "periods": ["7d", "30d"]},
            ),
            ({"password": "a long password"}, {"password": True}),
            ({"embed": ["https://www.example.com"]}, {"embed": ["https://www.example.com"]}),
            ({"name": None, "lists": None, "embed": None}, {}),
            ({}, {}),
        ]
        for body, changed in changes:
            share |= changed
            response = await world.call("PATCH", own, body, headers=session)
            assert (response.status, response.body) == (200, {"share": share})
        response = await world.call("PATCH", own, {"until": None, "periods": None, "password": None}, headers=session)
        share = {name: value for name, value in share.items() if name not in ("until", "periods")} | {"password": False}
        assert response.body == {"share": share}
        assert (await world.call("DELETE", own, {}, headers=session)).body == {"ok": True}
        assert (await world.call("GET", path, headers=session)).body == {"shares": []}
        for method in ("PATCH", "DELETE"):
            is_error(await world.call(method, own, {}, headers=session), 404, "not_found")


@pytest.mark.rule("Y13")
async def test_repeated_request_gets_the_url_again_but_the_store_does_not_contain_it(world):
    _, session, account = await world.ready()
    path = (await paths_of(world, account))["site_id"]
    headers = {**session, "Idempotency-Key": "one"}
    first = await world.call("POST", path, {"name": "Shop", "password": "a long password"}, headers=headers)
    again = await world.call("POST", path, {"name": "Shop", "password": "a long password"}, headers=headers)
    assert (again.status, again.raw) == (201, first.raw)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len((await world.call("GET", path, headers=session)).body["shares"]) == 1
    secret = first.body["share"]["url"].rpartition("/")[2]
    bodies = await world.store.read(_stored_bodies())
    assert bodies
    assert all(secret.encode() not in body for body in bodies)


def _stored_bodies() -> Tx[list[bytes]]:
    return [bytes(row["body"]) for row in (yield sql("select body from idempotency"))]


@pytest.mark.rule("Y13")
async def test_password_is_stored_with_the_hash_of_sign_in_passwords(world):
    _, session, account = await world.ready()
    path = (await paths_of(world, account))["site_id"]
    share = (await world.call("POST", path, {"name": "Shop", "password": "a long password"}, headers=session)).body
    of_new = await world.store.read(_password_hash(share["share"]["id"]))
    await world.call("PATCH", f"/v1/shares/{share['share']['id']}", {"password": "another password"}, headers=session)
    of_changed = await world.store.read(_password_hash(share["share"]["id"]))
    assert verify_password(of_new, "a long password")
    assert verify_password(of_changed, "another password")
    assert not verify_password(of_changed, "a long password")


def _password_hash(share_id: str) -> Tx[str]:
    [row] = yield sql("select password_hash from shares where id = $1", share_id)
    text: str = row["password_hash"]
    return text


async def test_url_is_null_if_the_key_is_lost(world):
    _, session, account = await world.ready()
    path = (await paths_of(world, account))["site_id"]
    share = (await world.call("POST", path, {"name": "Shop"}, headers=session)).body["share"]
    await world.store.run(_damage(share["id"]))
    assert (await world.call("GET", path, headers=session)).body == {"shares": [{**share, "url": None}]}
    changed = await world.call("PATCH", f"/v1/shares/{share['id']}", {"name": "Store"}, headers=session)
    assert changed.body["share"]["url"] is None


def _damage(share_id: str) -> Tx[None]:
    yield sql("update shares set sealed_secret = $2 where id = $1", share_id, b"damaged" * 9)


@cases(
    ("body", "path"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "x", "password": "short"}, "password"),
        ({"name": "x", "until": "2026-11-20"}, "until"),
        ({"name": "x", "until": "2026-02-30"}, "until"),
        ({"name": "x", "until": "2100-01-01"}, "until"),
        ({"name": "x", "periods": []}, "periods"),
        ({"name": "x", "periods": ["custom"]}, "periods.0"),
        ({"name": "x", "lists": "yes"}, "lists"),
        ({"name": "x", "embed": ["https://a.example"] * 11}, "embed"),
        ({"name": "x", "embed": ["http://a.example"]}, "embed.0"),
        ({"name": "x", "embed": ["https://a.example/"]}, "embed.0"),
        ({"name": "x", "embed": ["https://*.example"]}, "embed.0"),
        ({"name": "x", "embed": ["*"]}, "embed.0"),
        ({"name": "x", "embed": ["https://a.example; script-src *"]}, "embed.0"),
        ({"name": "x", "embed": ["https://a.example 'unsafe-inline'"]}, "embed.0"),
        ({"name": "x", "embed": ["https://a.example\r\nX-A: b"]}, "embed.0"),
        ({"name": "x", "embed": ["https://user@a.example"]}, "embed.0"),
        ({"name": "x", "embed": ["https://a.example:0"]}, "embed.0"),
        ({"name": "x", "embed": ["http://localhost.example"]}, "embed.0"),
        ({"name": "x", "secret": "shs_aaaaaaaaaaaaaaaaaaaa"}, "secret"),
    ],
)
async def test_invalid_share_is_rejected(world, ready, body, path):
    _, session, account = ready
    response = await world.call("POST", f"/v1/accounts/{account.id}/shares", body, headers=session)
    is_error(response, 400, "invalid_request")
    assert response.body["error"]["details"]["issues"][0]["path"] == path


async def test_origins_are_normalized(world, ready):
    _, session, account = ready
    origins = ["https://WWW.Example.com:443", "https://www.example.com", "http://localhost:8000", "http://localhost:80"]
    body = {"name": "x", "embed": origins}
    response = await world.call("POST", f"/v1/accounts/{account.id}/shares", body, headers=session)
    expected = ["https://www.example.com", "http://localhost:8000", "http://localhost"]
    assert response.body["share"]["embed"] == expected


async def test_ended_share_can_be_changed_without_its_last_day(world):
    user, session, account = await world.ready()
    path = (await paths_of(world, account))["site_id"]
    body = {"name": "Shop", "until": day_text(TODAY)}
    share = (await world.call("POST", path, body, headers=session)).body["share"]
    world.clock.now_ms += 2 * DAY_MS
    session = await world.session(user)
    own = f"/v1/shares/{share['id']}"
    assert (await world.call("PATCH", own, {"name": "Store"}, headers=session)).status == 200
    is_error(await world.call("PATCH", own, body, headers=session), 400, "invalid_request")
    later = await world.call("PATCH", own, {"until": day_text(TODAY + 9)}, headers=session)
    assert later.body["share"]["until"] == day_text(TODAY + 9)


async def test_deleted_site_cannot_be_shared_but_its_shares_can_be_listed(world):
    _, session, account = await world.ready()
    path = (await paths_of(world, account))["site_id"]
    share = (await world.call("POST", path, {"name": "Shop"}, headers=session)).body["share"]
    assert (await world.call("DELETE", path.removesuffix("/shares"), {}, headers=session)).status == 200
    is_error(await world.call("POST", path, {"name": "Shop"}, headers=session), 409, "site_not_active")
    assert (await world.call("GET", path, headers=session)).body == {"shares": [share]}
    assert (await world.call("DELETE", f"/v1/shares/{share['id']}", {}, headers=session)).status == 200


async def test_shares_remain_manageable_after_a_disconnect(world):
    _, session, account = await world.ready()
    path = f"/v1/accounts/{account.id}/shares"
    share = (await world.call("POST", path, {"name": "Sites"}, headers=session)).body["share"]
    assert (await world.call("DELETE", f"/v1/accounts/{account.id}", {}, headers=session)).status == 200
    assert (await world.call("GET", path, headers=session)).body == {"shares": [share]}
    is_error(await world.call("POST", path, {"name": "Sites"}, headers=session), 404, "not_found")
    assert (await world.call("DELETE", f"/v1/shares/{share['id']}", {}, headers=session)).status == 200


@pytest.mark.rule("Y13", "C2")
async def test_key_needs_the_scopes_of_the_target(world):
    user, session, account = await world.ready()
    paths = await paths_of(world, account)
    needed = {"site_id": ("sites",), "link_id": ("links",), "account_id": ("sites", "links")}
    for field, path in paths.items():
        share = (await world.call("POST", path, {"name": "x"}, headers=session)).body["share"]
        own = f"/v1/shares/{share['id']}"
        for scopes in (("sites",), ("links", "reports"), ("accounts", "reports"), ("sites", "links"), SCOPES):
            key = await world.key(user, *scopes)
            may_end = set(needed[field]) <= set(scopes)
            for method, at, body in (
                ("POST", path, {"name": "y"}),
                ("PATCH", own, {"lists": True}),
                ("DELETE", own, {}),
            ):
                allowed = may_end and (method == "DELETE" or "reports" in scopes)
                if allowed and method == "DELETE" and scopes != SCOPES:  # the next keys need the share
                    continue
                response = await world.call(method, at, body, headers={**key, "Idempotency-Key": new_id("try")})
                assert (response.status < 300) is allowed, (field, scopes, method, response.raw)
                if not allowed:
                    is_error(response, 403, "scope_required")
        reader = await world.key(user, "reports")
        assert (await world.call("GET", path, headers=reader)).status == 200


async def test_export_contains_the_settings_of_shares_without_their_secret(world):
    # import it here, so that this module does not get the marks of that module
    from tests.http.resources.test_export import export

    _, session, account = await world.ready()
    path = (await paths_of(world, account))["site_id"]
    body = {"name": "Shop", "password": "a long password", "periods": ["7d"]}
    share = (await world.call("POST", path, body, headers=session)).body["share"]
    files = await export(world, session)
    text = files["shares.json"].decode()
    assert share["id"] in text
    assert '"password":true' in text
    assert share["url"].rpartition("/")[2] not in text
