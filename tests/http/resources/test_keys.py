"""Tests of credentials: sessions and keys, scopes, restrictions, and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from werkzeug.datastructures import Headers

from svc.actors.requests.links import new_code
from svc.clock import day_of, day_text
from svc.config import Config, HttpConfig, LimitsConfig, MailConfig
from svc.security.api_key import is_api_key, new_api_key
from svc.store import open_store
from svc.store.tx import sql
from tests.databases import sqlite_config
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT, SCOPES, open_world
from tests.http.resources.test_totals import SMALL_BYTES, a_long_series, half_read, the_rest
from tests.http.serving.test_sockets import served

if TYPE_CHECKING:
    from svc.store.tx import Row, Tx


@pytest.mark.rule("C1")
async def test_expired_session_is_unauthorized(world):
    session = await world.session(await world.user())
    assert (await world.call("GET", "/v1/me", headers=session)).status == 200
    world.clock.advance_s(48 * 3600)
    assert (await world.call("GET", "/v1/me", headers=session)).status == 401


@pytest.mark.rule("C4")
async def test_accounts_outside_the_limit_of_a_key_do_not_exist_for_it(world):
    user = await world.user()
    mine = await world.account(user, EDGE_ACCOUNT, link_host="go.example.com")
    hidden = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="hi.example.com")
    session = await world.session(user)
    ids: dict[str, dict[str, str]] = {"sites": {}, "links": {}}
    for account in (mine, hidden):
        site = await world.call(
            "POST", "/v1/sites", {"account_id": account.id, "host": "a.example.com"}, headers=session
        )
        ids["sites"][account.id] = site.body["site"]["id"]
        link = await world.call(
            "POST", "/v1/links", {"account_id": account.id, "url": "https://example.org"}, headers=session
        )
        ids["links"][account.id] = link.body["link"]["id"]
    key = await world.key(user, allow_accounts=(EDGE_ACCOUNT,))
    for noun in ("accounts", "sites", "links"):
        listed = (await world.call("GET", f"/v1/{noun}", headers=key)).body[noun]
        expected = mine.id if noun == "accounts" else ids[noun][mine.id]
        assert [one["id"] for one in listed] == [expected]
    for noun in ("sites", "links"):
        assert (await world.call("GET", f"/v1/{noun}?account_id={hidden.id}", headers=key)).body[noun] == []
    for path in (
        f"/v1/accounts/{hidden.id}",
        f"/v1/accounts/{hidden.id}/zones",
        f"/v1/sites/{ids['sites'][hidden.id]}",
        f"/v1/sites/{ids['sites'][hidden.id]}/report",
        f"/v1/links/{ids['links'][hidden.id]}",
        f"/v1/links/{ids['links'][hidden.id]}/qr.svg",
        f"/v1/links/{ids['links'][hidden.id]}/report",
    ):
        assert (await world.call("GET", path, headers=key)).code == "not_found", path
        assert (await world.call("GET", path, headers=session)).status == 200, path
    for n, (method, path, body) in enumerate(
        [
            ("POST", f"/v1/accounts/{hidden.id}/install", {}),
            ("PUT", f"/v1/accounts/{hidden.id}/link-host", {"host": "x.example.com"}),
            ("POST", "/v1/sites", {"account_id": hidden.id, "host": "b.example.com"}),
            ("POST", "/v1/links", {"account_id": hidden.id, "url": "https://example.org"}),
            ("POST", "/v1/accounts", {"edge_account_id": OTHER_EDGE_ACCOUNT, "bootstrap_token": "t"}),
        ]
    ):
        response = await world.call(method, path, body, headers={**key, "Idempotency-Key": f"{n}"})
        assert (response.status, response.code) == (404, "not_found"), path


@pytest.mark.rule("C4")
async def test_key_limited_to_no_accounts_sees_none(world):
    user = await world.user()
    await world.account(user)
    key = await world.key(user, allow_accounts=())
    for noun in ("accounts", "sites", "links"):
        assert (await world.call("GET", f"/v1/{noun}", headers=key)).body == {noun: []}


@pytest.mark.rule("C5")
async def test_key_is_accepted_from_its_addresses_only_whatever_the_headers(world):
    key = await world.key(await world.user(), allow_ips=("198.51.100.0/24", "2001:db8::1"))

    async def status(peer: str, *forwarded: str, **others: str) -> int:
        headers = Headers([*key.items(), *(("X-Forwarded-For", line) for line in forwarded), *others.items()])
        response = await world.call("GET", "/v1/me", headers=headers, scope_base={"client": (peer, 4711)})
        return int(response.status)

    assert await status("198.51.100.7") == 200
    assert await status("2001:db8::1") == 200
    assert await status("203.0.113.1") == 401
    assert await status("203.0.113.1", "198.51.100.7") == 401
    assert await status("10.0.0.1", "198.51.100.7") == 200
    assert await status("10.0.0.1", "198.51.100.7, 203.0.113.1") == 401
    assert await status("10.0.0.1", "198.51.100.7", "203.0.113.1") == 401
    assert await status("10.0.0.1", "203.0.113.1", "198.51.100.7") == 200
    assert await status("10.0.0.1", "203.0.113.1, 198.51.100.7", "10.0.0.2") == 200
    assert await status("10.0.0.1", "198.51.100.7", "") == 401
    assert await status("10.0.0.1") == 401
    assert await status("/run/svc.sock", "198.51.100.7") == 401
    for header in ("Forwarded", "X-Real-IP", "X_Forwarded_For", "CF-Connecting-IP"):
        sent = "for=198.51.100.7" if header == "Forwarded" else "198.51.100.7"
        for peer in ("203.0.113.1", "10.0.0.1"):
            assert await status(peer, **{header: sent}) == 401


@pytest.mark.rule("C6")
async def test_value_of_a_key_is_shown_once_and_stored_only_as_a_hash(world):
    user = await world.user()
    session = await world.session(user)
    body = {"scopes": ["links", "reports", "links"], "allow_ips": ["192.0.2.1"], "allow_accounts": [EDGE_ACCOUNT]}
    issued = await world.call("POST", "/v1/keys", body, headers=session)
    assert issued.status == 201
    value = issued.body["key"]
    assert is_api_key(value)
    shown = {name: field for name, field in issued.body.items() if name != "key"}
    assert shown == {
        "id": shown["id"],
        "name": None,
        "prefix": value[:12],
        "scopes": ["links", "reports"],
        "allow_accounts": [EDGE_ACCOUNT],
        "allow_ips": ["192.0.2.1"],
        "created_at": "2026-11-21T04:00:00.000Z",
        "last_used": None,
    }
    listed = await world.call("GET", "/v1/keys", headers=session)
    assert listed.body == {"keys": [shown]}
    assert value.encode() not in listed.raw
    stored = await world.store.read(_whole_row(shown["id"]))
    assert value not in repr(stored)


def _whole_row(key_id: str) -> Tx[list[Row]]:
    return (yield sql("select * from keys where id = $1", key_id))


@pytest.mark.rule("C6")
@pytest.mark.rule("G3")
async def test_repeat_of_an_issue_gets_key_already_issued(world):
    session = {**await world.session(await world.user()), "Idempotency-Key": "one"}
    first = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session)
    again = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session)
    assert (first.status, again.status, again.code) == (201, 409, "key_already_issued")
    assert first.body["key"].encode() not in again.raw
    other = await world.call("POST", "/v1/keys", {"scopes": ["sites"]}, headers=session)
    assert other.code == "idempotency_conflict"
    assert len((await world.call("GET", "/v1/keys", headers=session)).body["keys"]) == 1


@pytest.mark.rule("C1")
async def test_malformed_key_is_refused_without_a_query(clock, tmp_path, expected_errors):
    """The test drops the table of keys, so any query would fail."""
    expected_errors.allow("no such table: keys")
    async with open_store(sqlite_config(tmp_path)) as store, open_world(store, clock, tmp_path) as world:
        await world.store.run(_drop_keys())
        value = new_api_key()
        wrong = [value[:-1] + ("0" if value[-1] != "0" else "1"), value[:-1], value + "0", "svc_", f"svc_{'0' * 36}"]
        for credential in wrong:
            response = await world.call("GET", "/v1/me", headers={"Authorization": f"Bearer {credential}"})
            assert (response.status, response.code) == (401, "unauthorized")
        assert (await world.call("GET", "/v1/me", headers={"Authorization": f"Bearer {value}"})).status == 500


def _drop_keys() -> Tx[None]:
    yield sql("drop table keys")


async def test_key_has_a_name_that_can_be_changed(world):
    user = await world.user(plan="api")
    session, stranger = await world.session(user), await world.session(await world.user())
    body = {"scopes": ["links"], "name": "nächtlicher Bericht 🌙"}
    issued = (await world.call("POST", "/v1/keys", body, headers=session)).body
    assert issued["name"] == body["name"]
    path = f"/v1/keys/{issued['id']}"
    for wrong in ("", " ", "x" * 101, "a\nb", None, 7):
        for method, refused in (("POST", {"scopes": ["links"], "name": wrong}), ("PATCH", {"name": wrong})):
            if method == "PATCH" or wrong is not None:
                place = path if method == "PATCH" else "/v1/keys"
                response = await world.call(method, place, refused, headers=session)
                assert response.code == "invalid_request", (method, wrong)
                assert response.body["error"]["details"]["issues"][0]["path"] == "name"
    assert (await world.call("PATCH", path, {"name": "x" * 100}, headers=stranger)).code == "not_found"
    shown = {name: field for name, field in issued.items() if name != "key"}
    renamed = await world.call("PATCH", path, {"name": "x" * 100}, headers=session)
    assert (renamed.status, renamed.body) == (200, {**shown, "name": "x" * 100})
    assert (await world.call("GET", "/v1/keys", headers=session)).body == {"keys": [renamed.body]}
    key = {"Authorization": f"Bearer {issued['key']}"}
    assert (await world.call("GET", "/v1/links", headers=key)).status == 200


@pytest.mark.rule("C7")
@pytest.mark.parametrize(("plan", "limit"), [("free", 1), ("api", 5)])
async def test_number_of_keys_depends_on_the_plan(world, plan, limit):
    session = await world.session(await world.user(plan=plan))
    responses = [await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session) for _ in range(limit + 1)]
    assert [response.status for response in responses] == [201] * limit + [403]
    assert responses[-1].code == "limit_reached"


@pytest.mark.rule("C8")
async def test_revoked_key_is_unauthorized_immediately(world):
    user = await world.user()
    session = await world.session(user)
    issued = (await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session)).body
    key = {"Authorization": f"Bearer {issued['key']}"}
    assert (await world.call("GET", "/v1/links", headers=key)).status == 200
    stranger = await world.session(await world.user())
    assert (await world.call("DELETE", f"/v1/keys/{issued['id']}", headers=stranger)).code == "not_found"
    revoked = await world.call("DELETE", f"/v1/keys/{issued['id']}", headers=session)
    assert (revoked.status, revoked.body) == (200, {"ok": True})
    assert (await world.call("GET", "/v1/links", headers=key)).code == "unauthorized"
    assert (await world.call("DELETE", f"/v1/keys/{issued['id']}", headers=session)).code == "not_found"


@pytest.mark.rule("C8")
@pytest.mark.parametrize("path", ["/v1/export", "totals"])
async def test_streams_of_a_revoked_key_are_aborted(clock, tmp_path, path):
    async with open_store(sqlite_config(tmp_path)) as store, open_world(store, clock, tmp_path) as world:
        session, totals = await a_long_series(world)
        issued = await world.call("POST", "/v1/keys", {"scopes": list(SCOPES)}, headers=session)
        key = {"Authorization": f"Bearer {issued.body['key']}"}
        read = totals if path == "totals" else path
        async with (
            served(world, buffer_bytes=SMALL_BYTES) as port,
            half_read(port, session, read, "HTTP/1.1") as by_session,
            half_read(port, key, read, "HTTP/1.1") as by_key,
        ):
            await world.call("DELETE", f"/v1/keys/{issued.body['id']}", headers=session)
            with pytest.raises(trio.BrokenResourceError):
                await the_rest(by_key)
            got = b""
            with trio.fail_after(20):
                while not got.endswith(b"\r\n0\r\n\r\n"):
                    got += await by_session.receive_some()


@pytest.mark.rule("C8")
async def test_write_accepted_before_the_revocation_completes(world):
    user = await world.user()
    session = await world.session(user)
    issued = (await world.call("POST", "/v1/keys", {"scopes": ["accounts"]}, headers=session)).body
    key = {"Authorization": f"Bearer {issued['key']}", "Idempotency-Key": "one"}
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "t"}
    arrived, release = trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        await release.wait()

    world.supervisor.before = hold
    responses = []

    async def connect() -> None:
        responses.append(await world.call("POST", "/v1/accounts", body, headers=key))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(connect)
        await arrived.wait()
        await world.call("DELETE", f"/v1/keys/{issued['id']}", headers=session)
        release.set()
    assert [response.status for response in responses] == [202]
    assert (await world.call("POST", "/v1/accounts", body, headers=key)).code == "unauthorized"


@pytest.mark.rule("C9")
async def test_last_used_is_the_day_of_the_last_use(world):
    user = await world.user()
    session = await world.session(user)
    key = await world.key(user)
    for _ in range(2):
        await world.call("GET", "/v1/me", headers=key)
        listed = (await world.call("GET", "/v1/keys", headers=session)).body["keys"]
        assert listed[0]["last_used"] == day_text(day_of(world.clock()))
        world.clock.advance_s(86_400)


async def test_sign_in_sessions_of_a_user_share_a_rate_limit(store, clock, tmp_path):
    config = Config(
        http=HttpConfig(base_url="https://svc.example"),
        mail=MailConfig(folder=tmp_path / "mail"),
        limits=LimitsConfig(requests_per_minute=2),
    )
    async with open_world(store, clock, tmp_path, config) as world:
        user, other = await world.user(), await world.user()
        first, second = await world.session(user), await world.session(user)
        for _ in range(5):
            assert (await world.call("GET", "/v1/me", headers=first)).status == 200
            assert (await world.call("PATCH", "/v1/me", {"notify": False}, headers=second)).status == 200
        clock.advance_s(20)
        for session in (first, second):
            over = await world.call("GET", "/v1/me", headers=session)
            assert (over.status, over.code, over.headers["Retry-After"]) == (429, "rate_limited", "40")
        assert (await world.call("GET", "/v1/me", headers=await world.session(other))).status == 200
        assert (await world.call("GET", "/v1/me", headers=await world.key(user))).status == 200
        assert (await world.call("POST", "/auth/sign-out", {}, headers=first)).status == 200
        clock.advance_s(40)
        assert (await world.call("GET", "/v1/me", headers=second)).status == 200


@pytest.mark.rule("C10")
async def test_requests_of_a_key_are_limited_per_minute(world):
    user = await world.user()
    key, other, session = await world.key(user), await world.key(user), await world.session(user)
    for n in range(120):
        response = await world.call("GET", "/v1/me", headers=key)
        assert response.status == 200
        assert response.headers["RateLimit-Policy"] == '"key";q=120;w=60'
        assert response.headers["RateLimit"] == f'"key";r={119 - n};t=60'
    world.clock.advance_s(20)
    over = await world.call("GET", "/v1/me", headers=key)
    assert (over.status, over.code, over.headers["Retry-After"]) == (429, "rate_limited", "40")
    assert over.headers["RateLimit"] == '"key";r=0;t=40'
    assert (await world.call("GET", "/v1/me", headers=other)).status == 200
    assert (await world.call("GET", "/v1/me", headers=session)).status == 200
    world.clock.advance_s(40)
    assert (await world.call("GET", "/v1/me", headers=key)).status == 200


@pytest.mark.rule("C11")
async def test_me_shows_user_limits_and_usage(world):
    user = await world.user(confirmed=False)
    session = await world.session(user)
    response = await world.call("GET", "/v1/me", headers=session)
    assert response.body == {
        "user": {
            "id": user.id,
            "email": "user1@example.com",
            "email_confirmed": False,
            "email_refused_at": None,
            "notify": True,
            "language": None,
        },
        "plan": "free",
        "limits": {
            "accounts": 2,
            "sites": 3,
            "links": 4,
            "keys": 1,
            "requests_per_minute": 120,
            "report_reads_per_minute": 30,
        },
        "use": {"accounts": 0, "sites": 0, "links": 0, "keys": 0},
        "via": "session",
    }
    account = await world.account(user, link_host="go.example.com")
    await world.call("POST", "/v1/sites", {"account_id": account.id, "host": "example.com"}, headers=session)
    for code in (new_code(), new_code()):
        body = {"account_id": account.id, "url": "https://example.org", "code": code}
        await world.call("POST", "/v1/links", body, headers=session)
    by_key = (await world.call("GET", "/v1/me", headers=await world.key(user))).body
    assert by_key["via"] == "key"
    assert by_key["use"] == {"accounts": 1, "sites": 1, "links": 2, "keys": 1}


@pytest.mark.rule("C11")
async def test_plan_api_allows_five_keys(world):
    session = await world.session(await world.user(plan="api"))
    body = (await world.call("GET", "/v1/me", headers=session)).body
    assert (body["plan"], body["limits"]["keys"]) == ("api", 5)
