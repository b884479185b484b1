"""Emails use the language in the user's profile, otherwise the language of the request, otherwise English."""

from __future__ import annotations

import email
from email import policy
from typing import TYPE_CHECKING

import pytest
import trio

from svc.clock import DAY_MS
from svc.mail.messages import WORDS
from svc.remaining_resource import RemainingResource
from svc.store import disconnects, notifications, outbox, users
from svc.store.tx import sql
from tests.http.auth_steps import EMAIL, PASSWORD, sign_in, token_of
from tests.http.browser import bearer_of

if TYPE_CHECKING:
    from svc.model import JsonObject, Language, User
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

pytestmark = pytest.mark.both_engines

ENGLISH, GERMAN = WORDS["en"], WORDS["de"]


def asking(header: str | None) -> dict[str, str]:
    return {} if header is None else {"Accept-Language": header}


async def sign_up(world: World, header: str | None, address: str = EMAIL) -> Response:
    body = {"email": address, "password": PASSWORD}
    return await world.call("POST", "/auth/sign-up", body, headers=asking(header))


async def sent(world: World) -> list[tuple[str, str]]:
    """Return the language and the subject of each email, oldest first."""
    read = [email.message_from_string(text, policy=policy.default) for text in await world.inbox()]
    return [(one["Content-Language"], one["Subject"]) for one in read]


async def confirmed(world: World, language: Language | None, header: str | None = None) -> dict[str, str]:
    """Create a confirmed user with this language, and return the headers of a session."""
    await sign_up(world, header)
    assert (await world.call("POST", "/auth/confirm", {"token": await token_of(world, "confirm")})).status == 200
    session = bearer_of(await sign_in(world))
    assert (await world.call("PATCH", "/v1/me", {"language": language}, headers=session)).status == 200
    return session


@pytest.mark.parametrize(
    ("header", "stored", "written"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de", "de"),
        ("fr,en;q=0.5", "en", "en"),
        ("fr", None, "en"),
        ("*", None, "en"),
        (None, None, "en"),
        ("de;q=9,\x7f;q=\xe9", None, "en"),
        ("de," * 4_000, "de", "de"),
    ],
)
async def test_sign_up_stores_the_language_of_the_request(world, header, stored, written):
    assert (await sign_up(world, header)).status == 202
    assert await sent(world) == [(written, WORDS[written].confirm.subject.format(service="svc"))]
    session = await sign_in(world)
    assert session.body["user"]["language"] == stored
    shown = await world.call("GET", "/v1/me", headers=bearer_of(session))
    assert shown.body["user"]["language"] == stored
    with_key = await world.call("GET", "/v1/me", headers=await world.key(await found(world)))
    assert with_key.body["user"]["language"] == stored


async def found(world: World) -> User:
    known = await world.store.read(users.find_user(EMAIL))
    assert known is not None
    return known[0]


async def test_several_headers_are_read_as_one(world):
    body = {"email": EMAIL, "password": PASSWORD}
    several = [("Accept-Language", "en;q=0.1"), ("Accept-Language", "de")]
    assert (await world.call("POST", "/auth/sign-up", body, headers=several)).status == 202
    assert (await found(world)).language == "de"


@pytest.mark.parametrize(
    ("profile", "header", "written"),
    [
        ("de", "en", "de"),
        ("en", "de", "en"),
        ("de", None, "de"),
        (None, "de", "de"),
        (None, "en", "en"),
        (None, "fr", "en"),
        (None, None, "en"),
    ],
)
async def test_every_request_has_the_language_of_the_profile_otherwise_its_own(world, profile, header, written):
    session = await confirmed(world, profile)
    words = WORDS[written]
    before = len(await sent(world))
    await sign_up(world, header)
    await world.inbox()
    await world.call("POST", "/auth/password-reset", {"email": EMAIL}, headers=asking(header))
    await world.inbox()
    change = {"old": PASSWORD, "new": "another horse"}
    headers = {**session, **asking(header)}
    assert (await world.call("POST", "/v1/me/password", change, headers=headers)).status == 200
    await world.inbox()
    reset = {"token": await token_of(world, "reset"), "password": "a third horse"}
    response = await world.call("POST", "/auth/password-reset/confirm", reset, headers=asking(header))
    assert response.status == 200
    await world.inbox()
    body = {"password": "a third horse"}
    leaving = {**bearer_of(await sign_in(world, "a third horse")), **asking(header)}
    assert (await world.call("DELETE", "/v1/me", body, headers=leaving)).status == 200
    texts = (words.account_exists, words.reset, words.password_changed, words.password_changed, words.deleted)
    assert (await sent(world))[before:] == [(written, text.subject.format(service="svc")) for text in texts]


async def test_links_of_unconfirmed_sign_ups_have_the_language_of_the_request(world):
    """A stranger may have signed up with the address, so the language of the sign-up is not used."""
    await sign_up(world, "de")
    await sent(world)
    for path in ("/auth/confirm/resend", "/auth/password-reset"):
        await world.call("POST", path, {"email": EMAIL}, headers=asking("en"))
        await sent(world)
        await world.call("POST", path, {"email": EMAIL}, headers=asking("fr"))
        await sent(world)
    assert [language for language, _ in await sent(world)] == ["de", "en", "de", "en", "de"]
    await sign_up(world, "en")
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL}, headers=asking("de"))
    assert (await sent(world))[-1] == ("de", GERMAN.choose_password.subject.format(service="svc"))


async def test_confirmation_without_a_valid_password_has_the_language_of_the_request(world):
    for _ in range(6):  # exceed the limit of failed sign-ins, so that no password is accepted
        await sign_up(world, "fr")
        await world.inbox()
    token = await token_of(world, "confirm")
    assert (await world.call("POST", "/auth/confirm", {"token": token}, headers=asking("de"))).status == 200
    assert (await sent(world))[-1] == ("de", GERMAN.choose_password.subject.format(service="svc"))


@pytest.mark.parametrize(("language", "words"), [("de", GERMAN), ("en", ENGLISH), (None, ENGLISH)])
async def test_notice_without_a_request_has_the_language_of_the_profile(world, language, words):
    user, _, account = await world.ready()
    await world.store.run(notifications.set_language(user.id, language))
    notice: JsonObject = {
        "trouble": "over",
        "limit": {"metric": "writes", "used": 100_000, "limit": 100_000, "day": 20_777},
    }
    told = notifications.enqueue(account.id, {}, [notice], well=False, due_at=None, now=world.clock())
    await world.store.run(told)
    [(written, subject)] = await sent(world)
    assert written == words.language
    assert subject.endswith(words.problems["over"])


async def test_waiting_email_is_written_in_the_language_at_the_time_of_sending(world):
    session = await confirmed(world, "en")
    before = len(await sent(world))
    world.mail_folder.rename(world.mail_folder.with_suffix(".away"))
    world.mail_folder.write_text("in the way")
    await world.call("POST", "/auth/password-reset", {"email": EMAIL}, headers=asking("en"))
    await world.outbox.settled()
    assert (await world.call("PATCH", "/v1/me", {"language": "de"}, headers=session)).status == 200
    world.mail_folder.unlink()
    world.mail_folder.with_suffix(".away").rename(world.mail_folder)
    world.clock.advance_s(3_600)
    assert (await sent(world))[before:] == [("de", GERMAN.reset.subject.format(service="svc"))]


@pytest.mark.parametrize("language", ["en", "de"])
async def test_last_email_lists_remaining_resources_in_the_language_of_the_user(world, language):
    await confirmed(world, language)
    user = await found(world)
    account = await world.account(user)
    left = [
        RemainingResource("route", "refused", {"route": "a.example/x*", "host": "a.example", "said": "10000"}),
        RemainingResource("bootstrap_token", "alive_until", {"until": "2026-11-22T04:00:00.000Z"}),
    ]
    await world.store.run(disconnected(account.id, left))
    session = bearer_of(await sign_in(world))
    response = await world.call("DELETE", "/v1/me", {"password": PASSWORD}, headers=session)
    # the list has only resources of accounts that the deletion of the user has disconnected
    assert response.body["left"] == []
    await world.inbox()
    await world.store.run(
        outbox.post(
            "user_deleted", EMAIL, world.clock(), world.clock() + DAY_MS,
            facts={"leftovers": [one.of("Shop (03)") for one in left], "revoke_tokens": ["Shop (03): svc-op"]},
            language=language,
        )
    )  # fmt: skip
    text = " ".join((await world.inbox())[-1].partition("<html")[0].split())
    words = WORDS[language]
    for one in left:
        assert one.of("Shop (03)").sentence(words.remaining, words.fact) in text
    assert ("22. November 2026, 04:00 Uhr (UTC)" in text) == (language == "de")
    assert ("November 22, 2026, 04:00 UTC" in text) == (language == "en")


def disconnected(account_id: str, left: list[RemainingResource]) -> Tx[None]:
    operation = yield from disconnects.begin_disconnect(account_id, "op_" + "a" * 20, 1)
    yield from disconnects.end_disconnect(operation, None, left, 1)


@pytest.mark.rule("C11")
async def test_language_can_be_changed_and_unset(world):
    session = await world.session(await world.user())
    for language in ("de", "en", None, "de"):
        response = await world.call("PATCH", "/v1/me", {"language": language}, headers=session)
        assert (response.status, response.body["user"]["language"]) == (200, language)
        assert response.body["user"]["notify"] is True
        assert (await world.call("GET", "/v1/me", headers=session)).body == response.body
    both = await world.call("PATCH", "/v1/me", {"notify": False, "language": None}, headers=session)
    assert (both.body["user"]["notify"], both.body["user"]["language"]) == (False, None)
    again = await world.call("PATCH", "/v1/me", {"notify": False}, headers=session)
    assert again.body == both.body


@pytest.mark.parametrize(
    "body",
    [
        {"language": "fr"},
        {"language": "DE"},
        {"language": "de-DE"},
        {"language": ""},
        {"language": "d\x00e"},
        {"language": True},
        {"language": 1},
        {"language": ["de"]},
        {"language": {"de": 1}},
        {"language": "de", "plan": "api"},
        {"language": "de", "notify": None},
        {"notify": False, "language": "x" * 3_000},
    ],
)
async def test_invalid_language_changes_nothing(world, body):
    session = await world.session(await world.user())
    before = (await world.call("GET", "/v1/me", headers=session)).body
    assert (await world.call("PATCH", "/v1/me", body, headers=session)).code == "invalid_request"
    assert (await world.call("GET", "/v1/me", headers=session)).body == before
    assert (await world.call("GET", "/v1/events", headers=session)).body["events"] == []


@pytest.mark.rule("C3")
async def test_api_key_cannot_change_the_language(world):
    user = await world.user()
    response = await world.call("PATCH", "/v1/me", {"language": "de"}, headers=await world.key(user))
    assert response.code == "session_required"


@pytest.mark.rule("X12")
async def test_each_change_is_one_event_and_an_equal_value_is_none(world):
    session = await world.session(await world.user())
    bodies = [
        {"language": "de"},
        {"language": "de"},
        {"notify": False, "language": "de"},
        {"language": None},
        {"language": None},
    ]
    for body in bodies:
        assert (await world.call("PATCH", "/v1/me", body, headers=session)).status == 200
    events = (await world.call("GET", "/v1/events", headers=session)).body["events"]
    assert [event["action"] for event in events] == ["user.change"] * 3


async def test_concurrent_changes_leave_one_of_the_languages_and_their_events(world):
    session = await world.session(await world.user())
    responses = []

    async def change(language: str) -> None:
        responses.append(await world.call("PATCH", "/v1/me", {"language": language}, headers=session))

    async with trio.open_nursery() as nursery:
        for n in range(10):
            nursery.start_soon(change, ("de", "en")[n % 2])
    assert {response.status for response in responses} == {200}
    shown = (await world.call("GET", "/v1/me", headers=session)).body["user"]["language"]
    assert shown in ("de", "en")


async def test_other_users_keep_their_language(world):
    mine, other = await world.session(await world.user()), await world.session(await world.user())
    assert (await world.call("PATCH", "/v1/me", {"language": "de"}, headers=mine)).status == 200
    assert (await world.call("GET", "/v1/me", headers=other)).body["user"]["language"] is None


async def test_email_queued_before_the_upgrade_is_sent_in_the_language_of_the_profile(world):
    await confirmed(world, "de")
    before = len(await sent(world))
    user = await found(world)
    await world.store.run(queued_by_an_earlier_version(user.id, world.clock()))
    assert sorted((await sent(world))[before:]) == [
        ("de", GERMAN.password_changed.subject.format(service="svc")),
        ("en", ENGLISH.deleted.subject.format(service="svc")),
    ]


def queued_by_an_earlier_version(user_id: int, now: int) -> Tx[None]:
    yield from outbox.post("password_changed", EMAIL, now, now + DAY_MS, user_id=user_id)
    facts: JsonObject = {"left": ["Worker svc-edge: it was changed outside the service."], "revoke_tokens": []}
    yield from outbox.post("user_deleted", "gone@example.com", now, now + DAY_MS, facts=facts)
    yield sql("update outbox set language = null")
