"""Tests of /auth: sign-up, confirmation, sessions, password reset. No response reveals who is registered."""

from __future__ import annotations

import email
import re
from contextvars import ContextVar
from email import policy
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
import trio

from svc.config import LimitsConfig
from svc.store import notifications, users
from svc.store.tx import Statement
from tests.http.conftest import config_of, open_world

if TYPE_CHECKING:
    from pathlib import Path
    from types import GeneratorType

    from svc.config import Config
    from svc.store.tx import Store, Tx
    from tests.http.conftest import Response, World

T = TypeVar("T")

EMAIL, PASSWORD = "ann@example.com", "correct horse"
TOKEN = re.compile(r"https://svc\.example/(confirm|reset)\?token=(\S+)")


def read_email(text: str) -> tuple[str, str, str]:
    message = email.message_from_string(text, policy=policy.default)
    assert message["From"] == "svc <svc@localhost>"
    plain: Any = message.get_body(("plain",))
    return message["To"], message["Subject"], plain.get_content()


async def token_of(world: World, purpose: str) -> str:
    """Return the token in the newest link for `purpose`. Emails for different purposes may be sent in any order."""
    found = [match for text in await world.inbox() for match in TOKEN.findall(read_email(text)[2])]
    return [str(token) for kind, token in found if kind == purpose][-1]


async def sign_up(world: World, address: str = EMAIL, password: str = PASSWORD) -> Response:
    return await world.call("POST", "/auth/sign-up", {"email": address, "password": password})


async def sign_in(world: World, password: str = PASSWORD, address: str = EMAIL, **more: Any) -> Response:
    return await world.call("POST", "/auth/sign-in", {"email": address, "password": password}, **more)


async def confirm(world: World, token: str) -> Response:
    return await world.call("POST", "/auth/confirm", {"token": token})


async def a_confirmed_user(world: World) -> None:
    await sign_up(world)
    assert (await confirm(world, await token_of(world, "confirm"))).status == 200


def client(address: str) -> dict[str, Any]:
    return {"scope_base": {"client": (address, 1)}}


def device_of(response: Response) -> dict[str, str]:
    """Return the headers that identify the browser that received this response."""
    [cookie] = [text for text in response.headers.getlist("Set-Cookie") if text.startswith("__Host-svc_device=")]
    for part in ("HttpOnly", "SameSite=Strict", "Secure", "Path=/;"):
        assert part in cookie
    return {"Cookie": f"theme=dark; {cookie.partition(';')[0]}; other=1"}


def cookie_of(response: Response) -> dict[str, str]:
    return {"Cookie": response.headers["Set-Cookie"].partition(";")[0]}


def bearer_of(response: Response) -> dict[str, str]:
    return {"Authorization": f"Bearer {response.body['access_token']}"}


@pytest.mark.rule("G7")
async def test_link_of_the_email_confirms_a_sign_up_once(world):
    response = await sign_up(world, "Ann@Example.com")
    assert (response.status, response.body) == (202, {"ok": True})
    (text,) = await world.inbox()
    to, subject, _ = read_email(text)
    assert (to, subject) == (EMAIL, "Confirm your email address for svc")
    signed_in = await sign_in(world)
    assert signed_in.body["user"] == {
        "id": signed_in.body["user"]["id"],
        "email": EMAIL,
        "email_confirmed": False,
        "notify": True,
        "language": None,
        "email_refused_at": None,
    }
    token = await token_of(world, "confirm")
    assert (await world.call("POST", "/auth/confirm", {"token": token})).body == {"ok": True}
    me = await world.call("GET", "/v1/me", headers=bearer_of(signed_in))
    assert me.body["user"]["email_confirmed"] is True
    again = await world.call("POST", "/auth/confirm", {"token": token})
    assert (again.status, again.code) == (400, "invalid_request")


async def test_link_of_an_email_expires(world):
    await sign_up(world)
    token = await token_of(world, "confirm")
    world.clock.advance_s(86_400)
    assert (await world.call("POST", "/auth/confirm", {"token": token})).code == "invalid_request"
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    fresh = await token_of(world, "confirm")
    assert fresh != token
    assert (await world.call("POST", "/auth/confirm", {"token": fresh})).status == 200


@pytest.mark.rule("G7")
async def test_sign_in_returns_an_access_token_and_a_refresh_cookie(world):
    await sign_up(world)
    response = await sign_in(world)
    assert response.status == 200
    assert set(response.body) == {"access_token", "expires_at", "user"}
    assert response.body["expires_at"] == "2026-11-21T05:00:00.000Z"
    cookie = response.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Secure", "Path=/;", "Max-Age=2592000"):
        assert part in cookie
    assert (await world.call("GET", "/v1/me", headers=bearer_of(response))).body["via"] == "session"
    world.clock.advance_s(3600)
    assert (await world.call("GET", "/v1/me", headers=bearer_of(response))).status == 401


@pytest.mark.parametrize("by", ["cookie", "token"])
async def test_sign_out_ends_both_tokens(world, by):
    await sign_up(world)
    session = await sign_in(world)
    headers = cookie_of(session) if by == "cookie" else bearer_of(session)
    response = await world.call("POST", "/auth/sign-out", headers=headers)
    assert response.headers["Clear-Site-Data"] == '"cache"'
    assert (response.status, response.body) == (200, {"ok": True})
    assert "Max-Age=0" in response.headers["Set-Cookie"]
    assert (await world.call("GET", "/v1/me", headers=bearer_of(session))).status == 401
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(session))).status == 401


@pytest.mark.rule("G7")
async def test_reset_sets_the_password_and_ends_every_session(world):
    await sign_up(world)
    session = await sign_in(world)
    assert (await world.call("POST", "/auth/password-reset", {"email": EMAIL})).status == 202
    token = await token_of(world, "reset")
    body = {"token": token, "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).body == {"ok": True}
    assert (await world.call("GET", "/v1/me", headers=bearer_of(session))).status == 401
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(session))).status == 401
    assert (await sign_in(world)).code == "unauthorized"
    assert (await sign_in(world, "another horse")).status == 200
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).code == "invalid_request"


async def test_reset_sends_one_notice(world):
    await a_confirmed_user(world)
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    before = await world.inbox()
    assert (await world.call("POST", "/auth/password-reset/confirm", {**body, "password": EMAIL})).status == 400
    assert await world.inbox() == before
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 400
    [notice] = [text for text in await world.inbox() if text not in before]
    to, subject, text = read_email(notice)
    assert (to, subject) == (EMAIL, "Your password for svc was changed")
    assert "token=" not in text
    assert "another horse" not in text


@pytest.mark.parametrize("password", ["Password1", "ann@example.com", "ann12345", "zzzzzzzzzzzz", "seven77"])
async def test_weak_password_is_refused(world, password):
    async def refused(path: str, **body: str) -> None:
        response = await world.call("POST", path, {"password": password, **body})
        assert (response.status, response.code) == (400, "invalid_request")
        [issue] = response.body["error"]["details"]["issues"]
        assert issue["path"] == "password"
        assert issue["message"].startswith(("must", "is too easy"))

    await refused("/auth/sign-up", email=EMAIL)
    assert await world.inbox() == []
    # the password violates the rules for new passwords, which sign-in must not reveal
    assert (await sign_in(world, password)).status == 401
    await sign_up(world)
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    token = await token_of(world, "reset")
    await refused("/auth/password-reset/confirm", token=token)
    body = {"token": token, "password": "another horse"}  # the link is still valid after the refused attempts
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200


async def test_token_works_for_its_purpose_only(world):
    await sign_up(world)
    token = await token_of(world, "confirm")
    body = {"token": token, "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).code == "invalid_request"


async def test_responses_do_not_reveal_whether_an_address_is_registered(world):
    await sign_up(world)
    for path, more in [
        ("/auth/sign-up", {"password": PASSWORD}),
        ("/auth/confirm/resend", {}),
        ("/auth/password-reset", {}),
        ("/auth/sign-in", {"password": "wrong password"}),
    ]:
        known = await world.call("POST", path, {"email": EMAIL, **more})
        unknown = await world.call("POST", path, {"email": "unknown@example.com", **more})
        assert (known.status, known.raw) == (unknown.status, unknown.raw)


async def test_unknown_address_gets_no_email_and_a_user_is_notified_of_a_second_sign_up(world):
    for path in ("/auth/confirm/resend", "/auth/password-reset"):
        await world.call("POST", path, {"email": "unknown@example.com"})
    assert await world.inbox() == []
    await sign_up(world)
    await world.call("POST", "/auth/confirm", {"token": await token_of(world, "confirm")})
    assert (await sign_up(world, password="not the first")).status == 202
    assert read_email((await world.inbox())[-1])[1] == "You already have an account at svc"
    assert (await sign_in(world, "not the first")).code == "unauthorized"
    assert (await sign_in(world)).status == 200
    before = len(await world.inbox())
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    assert len(await world.inbox()) == before


async def test_emails_to_an_address_are_limited_per_hour(world):
    await sign_up(world)
    for _ in range(8):
        await world.inbox()  # send the queued email, which the next one would otherwise replace
        assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
    assert len(await world.inbox()) == 5
    world.clock.advance_s(3600)
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    assert len(await world.inbox()) == 6


def limited(tmp_path: Path, **limits: int) -> Config:
    return config_of(tmp_path).model_copy(update={"limits": LimitsConfig(**{"sign_ins_per_minute": 10_000, **limits})})


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"),
        ("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"),
    ],
)
async def test_attempts_are_limited_by_network(store, clock, tmp_path, first, same, other):
    async with open_world(store, clock, tmp_path, limited(tmp_path, sign_ins_per_minute=3)) as world:
        for address in (first, same, first):
            assert (await sign_in(world, **client(address))).status == 401
        over = await sign_in(world, **client(same))
        assert (over.status, over.code, over.headers["Retry-After"]) == (429, "rate_limited", "60")
        assert (await sign_in(world, **client(other))).status == 401
        clock.advance_s(60)
        assert (await sign_in(world, **client(same))).status == 401


@pytest.mark.parametrize("address", ["198.51.100.{}", "2001:db8:7:{}::1"])
async def test_larger_network_has_a_limit_too(store, clock, tmp_path, address):
    async with open_world(store, clock, tmp_path, limited(tmp_path, sign_ins_per_minute=2)) as world:
        statuses = [
            (await world.call("POST", "/auth/confirm", {}, **client(address.format(n)))).status for n in range(1, 13)
        ]
        assert statuses == [400] * 10 + [429] * 2


@pytest.mark.parametrize(
    "path",
    [
        "sign-up",
        "confirm",
        "confirm/resend",
        "sign-in",
        "password-reset",
        "password-reset/confirm",
    ],
)
async def test_every_attempt_counts_before_its_body_is_read(store, clock, tmp_path, path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, sign_ins_per_minute=2)) as world:
        json = {"Content-Type": "application/json"}
        bodies = [b"{" + b'"a":1,' * 500, b" " * 5_000, b"{}"]
        responses = [await world.call("POST", f"/auth/{path}", data=raw, headers=json) for raw in bodies]
        assert [response.code for response in responses] == ["invalid_request", "payload_too_large", "rate_limited"]


async def test_guesses_from_many_networks_are_limited_per_address(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=5)) as world:
        await a_confirmed_user(world)
        for known in (EMAIL, "unknown@example.com"):
            guesses = [
                await sign_in(world, "wrong password", known.upper() if n % 2 else known, **client(f"203.0.{n}.1"))
                for n in range(8)
            ]
            assert [guess.status for guess in guesses] == [401] * 5 + [429] * 3
            assert guesses[-1].headers["Retry-After"] == "3600"
        assert (await sign_in(world, **client("203.0.99.1"))).status == 429  # even the correct password is rejected
        clock.advance_s(3600)
        assert (await sign_in(world, **client("203.0.99.1"))).status == 200


async def test_concurrent_guesses_are_limited(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=3)) as world:
        statuses = []

        async def guess(n: int) -> None:
            statuses.append((await sign_in(world, "wrong password", **client(f"203.0.{n}.1"))).status)

        async with trio.open_nursery() as nursery:
            for n in range(8):
                nursery.start_soon(guess, n)
        assert sorted(statuses) == [401] * 3 + [429] * 5


async def test_guessing_stranger_does_not_lock_out_the_owner(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=3)) as world:
        await a_confirmed_user(world)
        browser = device_of(await sign_in(world))
        for _ in range(5):
            await sign_in(world, "wrong password", **client("203.0.113.1"))
        assert (await sign_in(world, **client("203.0.113.1"))).status == 429
        for _ in range(10):  # correct passwords do not count toward the limit
            again = await sign_in(world, headers=browser)
            assert again.status == 200
            # the response sets no cookie that identifies the browser, because the browser is known
            assert len(again.headers.getlist("Set-Cookie")) == 1
        # A known browser has a separate limit for failed sign-ins of its user. For other addresses, the usual limit
        # applies.
        other = {"email": "bob@example.com", "password": "wrong password"}
        for _ in range(3):
            assert (await sign_in(world, "wrong password", headers=browser)).status == 401
            assert (await world.call("POST", "/auth/sign-in", other, headers=browser)).status == 401
        assert (await sign_in(world, headers=browser)).status == 429
        assert (await world.call("POST", "/auth/sign-in", other)).status == 429


async def test_locked_out_owner_can_reset_the_password(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=2)) as world:
        await a_confirmed_user(world)
        thief = device_of(await sign_in(world))
        for _ in range(3):
            await sign_in(world, "wrong password")
        assert (await sign_in(world)).status == 429
        await world.call("POST", "/auth/password-reset", {"email": EMAIL})
        body = {"token": await token_of(world, "reset"), "password": "another horse"}
        reset = await world.call("POST", "/auth/password-reset/confirm", body)
        assert (await sign_in(world, "another horse", headers=device_of(reset))).status == 200
        # Browsers that were known before the reset are no longer known.
        assert (await sign_in(world, "another horse", headers=thief)).status == 429


# ---------------------------------------------------------------------------- several sign-ups with one address


async def test_earlier_sign_up_of_a_stranger_gets_no_access_to_the_confirmed_address(world):
    await sign_up(world, password="strangers horse")
    strangers_token = await token_of(world, "confirm")
    stranger = await sign_in(world, "strangers horse")
    issued = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=bearer_of(stranger))
    await sign_up(world)
    session = await sign_in(world)
    own = await token_of(world, "confirm")
    assert own != strangers_token
    assert (await confirm(world, own)).status == 200
    # The owner's password and session remain valid. The stranger's password, session and key are no longer valid.
    assert (await sign_in(world)).body["user"]["email_confirmed"] is True
    assert (await world.call("GET", "/v1/me", headers=bearer_of(session))).body["user"]["email_confirmed"] is True
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(stranger))).status == 401
    key = {"Authorization": f"Bearer {issued.body['key']}"}
    assert (await world.call("GET", "/v1/me", headers=key)).status == 401
    assert (await confirm(world, strangers_token)).code == "invalid_request"


async def test_later_sign_up_of_a_stranger_does_not_void_the_owners_link(world):
    await sign_up(world)
    own = await token_of(world, "confirm")
    await sign_up(world, password="strangers horse")
    stranger = await sign_in(world, "strangers horse")
    assert stranger.status == 200
    assert (await confirm(world, own)).status == 200
    assert (await sign_in(world)).status == 200
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401


async def test_keys_issued_before_the_confirmation_are_revoked_and_later_ones_are_not(world):
    await sign_up(world)
    session = bearer_of(await sign_in(world))
    token = await token_of(world, "confirm")
    early = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session)
    assert (await confirm(world, token)).status == 200
    assert (await world.call("GET", "/v1/keys", headers=session)).body == {"keys": []}
    assert (await world.call("GET", "/v1/me", headers={"Authorization": f"Bearer {early.body['key']}"})).status == 401
    late = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session)
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await world.call("GET", "/v1/me", headers={"Authorization": f"Bearer {late.body['key']}"})).status == 200


async def test_resend_after_several_sign_ups_lets_the_owner_choose_the_password(world):
    await sign_up(world)
    await sign_up(world, password="strangers horse")
    stranger = await sign_in(world, "strangers horse")
    assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await sign_in(world, "another horse")).body["user"]["email_confirmed"] is True
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401


async def test_reset_of_an_unconfirmed_address_confirms_it(world):
    await sign_up(world, password="strangers horse")
    stranger = await sign_in(world, "strangers horse")
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401
    assert (await sign_in(world, "another horse")).body["user"]["email_confirmed"] is True


async def test_stranger_who_uses_up_the_email_limit_gets_no_access(world):
    """The stranger's sign-ups use up the limit of emails. The owner's own sign-up therefore sends no email, and the
    owner opens a link from one of the stranger's sign-ups.
    """
    for _ in range(5):
        assert (await sign_up(world, password="strangers horse")).status == 202
    stranger = await sign_in(world, "strangers horse")
    strangers_link = await token_of(world, "confirm")
    assert (await sign_up(world)).status == 202
    assert len(await world.inbox()) == 5
    assert (await confirm(world, strangers_link)).status == 200
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401
    assert (await sign_in(world)).status == 401
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await sign_in(world, "another horse")).body["user"]["email_confirmed"] is True


async def test_requests_that_send_nothing_do_not_use_up_reset_emails(world):
    await a_confirmed_user(world)
    before = len(await world.inbox())
    for _ in range(8):
        assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    assert len(await world.inbox()) == before + 1
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200


# ------------------------------------------------------------------------------------ equal work for any address


# True in tasks that run for a request; new tasks inherit the request's context
IN_REQUEST = ContextVar("IN_REQUEST", default=False)
EMAIL_WORK = ("compose", "_mark_sent")  # the outbox's transactions that send an email; its other transactions only poll


class RecordingStore:
    """A real store that also records the SQL statements of requests and of email senders."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.condition = store.condition
        self.changes = store.changes
        self.by_request: list[str] = []
        self.by_email: list[str] = []

    async def run(self, tx: Tx[T]) -> T:
        return await self._store.run(self._recorded(tx))

    async def read(self, tx: Tx[T]) -> T:
        return await self._store.read(self._recorded(tx))

    async def peek(self, tx: Tx[T]) -> T:
        return await self._store.peek(self._recorded(tx))

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        await self._store.check(tx, writes=writes)

    async def size_bytes(self) -> int:
        return await self._store.size_bytes()

    def _recorded(self, tx: Tx[T]) -> Tx[T]:
        if IN_REQUEST.get():
            return _recording(tx, self.by_request)
        name = cast("GeneratorType[Any, Any, Any]", tx).__name__
        return _recording(tx, self.by_email) if name in EMAIL_WORK else tx


def _recording(tx: Tx[T], seen: list[str]) -> Tx[T]:
    step = next(tx)
    while True:
        if isinstance(step, Statement):
            seen.append(step.text)
        rows = yield step
        try:
            step = tx.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result


@pytest.mark.parametrize("language", [None, "de"])
@pytest.mark.parametrize(
    ("path", "more"), [("password-reset", {}), ("confirm/resend", {}), ("sign-up", {"password": PASSWORD})]
)
async def test_store_does_the_same_work_for_known_and_unknown_addresses(store, clock, tmp_path, path, more, language):
    """The known user may have chosen a language. The requests are in a different language."""
    recording = RecordingStore(store)
    async with open_world(recording, clock, tmp_path) as world:
        await a_confirmed_user(world)
        found = await store.read(users.find_user(EMAIL))
        await store.run(notifications.set_language(found[0].id, language))
        work_by_address = []
        for address in (EMAIL, "unknown@example.com"):
            recording.by_request.clear()
            recording.by_email.clear()
            in_request = IN_REQUEST.set(True)
            asked = {"Accept-Language": "en"}
            response = await world.call("POST", f"/auth/{path}", {"email": address, **more}, headers=asked)
            IN_REQUEST.reset(in_request)
            assert response.status == 202
            await world.outbox.settled()
            work_by_address.append((list(recording.by_request), list(recording.by_email)))
        assert work_by_address[0] == work_by_address[1]
        by_request, by_email = work_by_address[0]
        assert any(text.startswith("insert into outbox") for text in by_request)
        assert any(text.startswith("insert into mail_tokens") for text in by_email)
        assert any(text.startswith("delete from outbox") for text in by_email)


async def test_token_without_a_user_is_invalid(world):
    await world.store.run(users.put_mail_token(users.UNKNOWN_USER, "confirm", "c", world.clock() + 1000))
    await world.store.run(users.put_mail_token(users.UNKNOWN_USER, "reset", "r", world.clock() + 1000))
    assert await world.store.run(users.confirm_user("c", world.clock())) is None
    assert await world.store.run(users.reset_password("r", "hash", world.clock())) is None


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "a@b@c",
        "ann @example.com",
        "ann@example.com\r\nBcc: x@example.com",
        "=?utf-8?q?a=0d=0ab?=@x",
        "=?utf-8?q?a=0d=0ab?=@example.com",
        "ä@example.com",
    ],
)
async def test_invalid_address_is_refused(world, address):
    assert (await sign_up(world, address)).code == "invalid_request"
    assert await world.inbox() == []


async def test_passwords_are_not_in_responses_or_emails(world):
    refused = await sign_up(world, password="short")
    assert refused.code == "invalid_request"
    assert b"short" not in refused.raw.replace(b"shortly", b"")
    await sign_up(world)
    found = await world.store.read(users.find_user(EMAIL))
    assert found is not None
    assert found[1].startswith("$argon2id$")
    assert all(PASSWORD not in text for text in await world.inbox())
