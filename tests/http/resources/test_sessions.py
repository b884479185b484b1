"""Tests of /v1/me/sessions and /v1/me/password: list and end sessions, and change the password."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.config import LimitsConfig
from svc.security.passwords import hash_password
from svc.store import users
from svc.store.tx import sql
from tests.http.browser import Browser, bearer_of
from tests.http.conftest import config_of, open_world
from tests.http.serving.overtaken import RacingStore

if TYPE_CHECKING:
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

EMAIL, PASSWORD, NEW = "ann@example.com", "correct horse", "another horse"
HASH = hash_password(PASSWORD)
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)


async def a_user(world: World, email: str = EMAIL) -> None:
    await world.store.run(users.add_user(email, HASH, world.clock(), confirmed=True))


async def sign_in(world: World, password: str = PASSWORD, browser: Browser | None = None) -> tuple[Browser, Response]:
    browser = browser or Browser(world)
    return browser, await browser.post("/auth/sign-in", {"email": EMAIL, "password": password})


async def change(world: World, page: Response, old: str = PASSWORD, new: str = NEW, **headers: str) -> Response:
    return await world.call("POST", "/v1/me/password", {"old": old, "new": new}, headers={**bearer_of(page), **headers})


async def listed(world: World, page: Response) -> list[dict[str, Any]]:
    response = await world.call("GET", "/v1/me/sessions", headers=bearer_of(page))
    assert response.status == 200
    found: list[dict[str, Any]] = response.body["sessions"]
    return found


async def works(world: World, page: Response) -> bool:
    return (await world.call("GET", "/v1/me", headers=bearer_of(page))).status == 200


def device_of(browser: Browser) -> str | None:
    return browser.cookies.get("__Host-svc_device")


# ----------------------------------------------------------------------------------------------------------- sessions


async def test_sessions_are_listed_with_their_browsers_most_recently_used_first(world):
    await a_user(world)
    firefox, first = await sign_in(world)
    world.clock.advance_s(60)
    _, page = await sign_in(world, browser=Browser(world, agent=CHROME))
    await sign_in(world, browser=Browser(world, agent="curl/8.5.0 " + "x" * 3_000))
    await sign_in(world, browser=Browser(world, agent="<b>" * 200))
    await sign_in(world, browser=Browser(world, agent=""))
    world.clock.advance_s(3_600)
    first = await firefox.post("/auth/refresh")
    found = await listed(world, first)
    assert found[0] == {
        "id": found[0]["id"],
        "browser": "Firefox on Linux",
        "created_at": "2026-11-21T04:00:00.000Z",
        "last_used": "2026-11-21T05:01:00.000Z",
        "current": True,
    }
    others = {each["browser"]: each for each in found[1:]}
    assert set(others) == {"Chrome on Windows", "curl", "b" * 100, "Other"}
    assert not any(each["current"] for each in others.values())
    # The list does not reveal any token.
    assert page.body["access_token"][4:] not in json.dumps(found)


async def test_session_can_be_ended_from_another_but_not_by_another_user(world):
    await a_user(world)
    (lost, lost_page), (_, page) = await sign_in(world), await sign_in(world)
    [lost_id] = [each["id"] for each in await listed(world, page) if not each["current"]]
    stranger = await world.session(await world.user())
    path = f"/v1/me/sessions/{lost_id}"
    assert (await world.call("DELETE", path, {}, headers=stranger)).code == "not_found"
    assert (await world.call("DELETE", path, {}, headers=bearer_of(page))).body == {"ok": True}
    assert (await world.call("DELETE", path, {}, headers=bearer_of(page))).code == "not_found"
    assert not await works(world, lost_page)
    assert (await lost.post("/auth/refresh")).status == 401
    assert await works(world, page)


async def test_signing_out_everywhere_ends_every_session(world):
    await a_user(world)
    (one, one_page), (_, page) = await sign_in(world), await sign_in(world)
    other = await world.session(await world.user())
    assert (await world.call("DELETE", "/v1/me/sessions", {}, headers=bearer_of(page))).body == {"ok": True}
    assert not await works(world, page)
    assert not await works(world, one_page)
    assert (await one.post("/auth/refresh")).status == 401
    assert (await world.call("GET", "/v1/me", headers=other)).status == 200
    assert (await sign_in(world))[1].status == 200


@pytest.mark.parametrize("way", ["sign-out", "everywhere", "this one"])
async def test_signing_out_sends_clear_site_data(world, way):
    await a_user(world)
    (_, other), (browser, page) = await sign_in(world), await sign_in(world)
    ids = {each["current"]: each["id"] for each in await listed(world, page)}
    ended = await world.call("DELETE", f"/v1/me/sessions/{ids[False]}", {}, headers=bearer_of(page))
    assert (ended.status, await works(world, other)) == (200, False)
    assert "Clear-Site-Data" not in ended.headers  # this session continues
    match way:
        case "sign-out":
            response = await browser.post("/auth/sign-out")
        case "everywhere":
            response = await world.call("DELETE", "/v1/me/sessions", {}, headers=bearer_of(page))
        case _:
            response = await world.call("DELETE", f"/v1/me/sessions/{ids[True]}", {}, headers=bearer_of(page))
    assert (response.status, response.headers["Clear-Site-Data"]) == (200, '"cache"')
    assert not await works(world, page)


async def test_sign_in_ends_the_session_whose_cookie_it_replaces(world):
    await a_user(world)
    browser, first = await sign_in(world)
    _, second = await sign_in(world, browser=browser)
    assert not await works(world, first)
    assert len(await listed(world, second)) == 1


@pytest.mark.rule("C3")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/me/sessions", None),
        ("DELETE", "/v1/me/sessions", {}),
        ("DELETE", "/v1/me/sessions/ses_" + "a" * 20, {}),
        ("POST", "/v1/me/password", {"old": PASSWORD, "new": NEW}),
    ],
)
async def test_api_key_is_refused(world, method, path, body):
    key = await world.key(await world.user())
    assert (await world.call(method, path, body, headers=key)).code == "session_required"
    assert (await world.call(method, path, body)).code == "unauthorized"


# ----------------------------------------------------------------------------------------------------------- password


async def test_changed_password_ends_other_sessions_and_sends_a_notice(world):
    await a_user(world)
    (other, other_page), (own, page) = await sign_in(world), await sign_in(world)
    assert (await change(world, page)).body == {"ok": True}
    assert await works(world, page)
    assert (await own.post("/auth/refresh")).status == 200
    assert not await works(world, other_page)
    assert (await other.post("/auth/refresh")).status == 401
    assert (await sign_in(world))[1].status == 401
    assert (await sign_in(world, NEW))[1].status == 200
    # The service now recognizes only the caller's browser as one that this user has used before.
    known, _ = await sign_in(world, NEW, Browser(world, dict(own.cookies)))
    assert device_of(known) == device_of(own)
    stranger, _ = await sign_in(world, NEW, other)
    assert device_of(stranger) != device_of(own)
    [text] = await world.inbox()
    assert "Subject: Your password for svc was changed" in text
    assert "https://svc.example was changed" in text
    assert "token=" not in text
    assert PASSWORD not in text
    assert NEW not in text


async def test_wrong_old_password_is_refused_counted_and_not_stored(store, clock, tmp_path):
    config = config_of(tmp_path).model_copy(update={"limits": LimitsConfig(wrong_passwords_per_hour=2)})
    async with open_world(store, clock, tmp_path, config) as world:
        await a_user(world)
        _, page = await sign_in(world)
        key = {"Idempotency-Key": "one"}
        refused = await change(world, page, old="wrong horse", **key)
        assert (refused.status, refused.code) == (403, "invalid_password")
        assert (await change(world, page, old="wrong horse", **key)).code == "invalid_password"
        assert (await change(world, page, **key)).code == "rate_limited"
        clock.advance_s(3_600)
        _, page = await sign_in(world)
        assert (await change(world, page, **key)).status == 200
        assert len(await world.inbox()) == 1


@pytest.mark.parametrize("new", ["Password1", EMAIL, "ann 1234567", PASSWORD, "seven77", "x" * 201])
async def test_weak_password_changes_nothing(world, new):
    await a_user(world)
    _, page = await sign_in(world)
    response = await change(world, page, new=new)
    assert (response.status, response.code) == (400, "invalid_request")
    assert [issue["path"] for issue in response.body["error"]["details"]["issues"]] == ["new"]
    assert (await sign_in(world))[1].status == 200


async def test_of_two_concurrent_changes_one_succeeds(world):
    await a_user(world)
    pages = [(await sign_in(world))[1] for _ in range(2)]
    outcomes: list[tuple[int, str]] = []

    async def one(n: int) -> None:
        outcomes.append(((await change(world, pages[n], new=f"new horse {n}")).status, f"new horse {n}"))

    async with trio.open_nursery() as nursery:
        for n in range(2):
            nursery.start_soon(one, n)
    (made, password), (refused, _) = sorted(outcomes)
    assert made == 200
    assert refused in (401, 403)  # the request is refused because the session has ended or the password has changed
    assert (await sign_in(world, password))[1].status == 200


async def test_reset_during_a_change_or_sign_in_with_the_old_password_prevails(store, clock, tmp_path):
    """If a password reset happens while the service hashes a password, neither the change nor the new session may take
    effect.
    """
    racing = RacingStore(store)
    async with open_world(racing, clock, tmp_path) as world:
        await a_user(world)
        _, page = await sign_in(world)

        async def reset() -> None:
            await store.run(users.put_reset_token(EMAIL, "t", clock() + 1000))
            assert await store.run(users.reset_password("t", hash_password(NEW), clock()))

        racing.first = reset
        assert (await change(world, page, new="thief's horse")).code == "invalid_password"
        assert await world.inbox() == []
        assert (await sign_in(world, "thief's horse"))[1].status == 401
        _, page = await sign_in(world, NEW)
        racing.first = reset
        assert (await sign_in(world, NEW))[1].status == 401
        assert not await works(world, page)


async def test_repeat_gets_the_first_response_and_the_stored_digest_is_a_slow_hash(world):
    await a_user(world)
    _, page = await sign_in(world)
    first = await change(world, page, **{"Idempotency-Key": "one"})
    again = await change(world, page, **{"Idempotency-Key": "one"})
    assert (first.raw, again.raw, again.headers["Idempotent-Replayed"]) == (b'{"ok":true}', b'{"ok":true}', "true")
    other = await change(world, page, NEW, "a third horse", **{"Idempotency-Key": "one"})
    assert other.code == "idempotency_conflict"
    [kept] = await world.store.read(kept_digests())
    body = json.dumps({"old": PASSWORD, "new": NEW}, sort_keys=True).encode()
    assert kept != hashlib.sha256(body).hexdigest()
    assert len(await world.inbox()) == 1


def kept_digests() -> Tx[list[str]]:
    rows = yield sql("select body_digest from idempotency")
    return [row["body_digest"] for row in rows]


async def test_notices_of_changed_passwords_are_limited_to_five_per_hour(world):
    await a_user(world)
    _, page = await sign_in(world)
    horses = [PASSWORD, *(f"horse number {n}" for n in range(6))]
    for old, new in pairwise(horses):
        assert (await change(world, page, old, new)).status == 200
    assert len(await world.inbox()) == 5
