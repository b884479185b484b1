"""Tests of browser sessions in the store: lookup by token, refresh, end and limit."""

from __future__ import annotations

from dataclasses import replace

import trio

from svc.clock import HOUR_MS
from svc.store import sessions
from svc.store.sessions import MAX_SESSIONS, Issued
from tests.clock import START_MS
from tests.store.makers import a_user, new_session

UNTIL = START_MS + HOUR_MS


def newer(name: str, at: int = START_MS) -> Issued:
    return Issued(f"a-{name}", UNTIL, f"r-{name}", UNTIL, f"salt-{name}", at)


async def test_session_is_found_by_its_tokens_until_they_expire(store):
    user_id = await store.run(a_user())
    made = new_session(user_id, until=UNTIL)
    await store.run(sessions.add_session(made))
    found = await store.read(sessions.session_of_access("a-s", UNTIL - 1))
    assert found is not None
    assert (found[0].id, found[1]) == (user_id, made.id)
    session, user = await store.read(sessions.session_of_family("f-s", UNTIL - 1))
    assert (session, user) == (made, found[0])
    for tx in (
        sessions.session_of_access("a-s", UNTIL),
        sessions.session_of_access("r-s", START_MS),
        sessions.session_of_family("f-s", UNTIL),
        sessions.session_of_family("r-s", START_MS),
    ):
        assert await store.read(tx) is None


async def test_only_one_of_concurrent_refreshes_succeeds(store):
    made = new_session(await store.run(a_user()), until=UNTIL)
    await store.run(sessions.add_session(made))
    outcomes = []

    async def one(number):
        issued = newer(str(number))
        outcomes.append((await store.run(sessions.rotate_session(made.id, "r-s", issued, START_MS + 5)), issued))

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(one, number)
    [issued] = [issued for done, issued in outcomes if done]
    session, _ = await store.read(sessions.session_of_family("f-s", START_MS))
    assert session == replace(made, issued=issued, previous="r-s")
    assert await store.read(sessions.session_of_access("a-s", START_MS + 4)) is not None
    assert await store.read(sessions.session_of_access("a-s", START_MS + 5)) is None
    assert await store.read(sessions.session_of_access(issued.access_digest, START_MS)) is not None


async def test_old_access_token_expires_at_its_own_time(store):
    made = new_session(await store.run(a_user()), until=START_MS + 2)
    await store.run(sessions.add_session(made))
    await store.run(sessions.rotate_session(made.id, "r-s", newer("n"), START_MS + 5))
    assert await store.read(sessions.session_of_access("a-s", START_MS + 1)) is not None
    assert await store.read(sessions.session_of_access("a-s", START_MS + 2)) is None


async def test_sessions_of_a_user_end_singly_or_together(store):
    user_id, other_id = await store.run(a_user()), await store.run(a_user())
    made = [new_session(user_id, name, until=UNTIL, at=START_MS + n) for n, name in enumerate("abcde")]
    strangers = new_session(other_id, "x", until=UNTIL)
    for session in (*made, strangers):
        await store.run(sessions.add_session(session))

    async def left():
        return [session.id for session in await store.read(sessions.list_sessions(user_id, START_MS))]

    assert await left() == [session.id for session in reversed(made)]
    assert not await store.run(sessions.end_own_session(user_id, strangers.id))
    assert await store.run(sessions.end_own_session(user_id, made[0].id))
    assert not await store.run(sessions.end_own_session(user_id, made[0].id))
    await store.run(sessions.rotate_session(made[2].id, "r-c", newer("c2", START_MS + 2), START_MS + 5))
    # the access token before the last refresh can also end the session
    await store.run(sessions.end_session("f-b", "a-c"))
    assert await left() == [made[4].id, made[3].id]
    assert await store.read(sessions.is_there("f-d", ""))
    assert await store.read(sessions.is_there("", "a-e"))
    assert not await store.read(sessions.is_there("f-b", ""))
    await store.run(sessions.end_sessions(user_id, but=made[3].id))
    assert await left() == [made[3].id]
    await store.run(sessions.end_sessions(user_id))
    assert await left() == []
    assert await store.read(sessions.list_sessions(other_id, START_MS)) == [strangers]


async def test_least_recently_used_session_is_displaced(store):
    user_id = await store.run(a_user())
    made = [new_session(user_id, str(n), until=UNTIL, at=START_MS + n) for n in range(MAX_SESSIONS)]
    for session in made:
        await store.run(sessions.add_session(session))
    await store.run(sessions.rotate_session(made[0].id, "r-0", newer("used", START_MS + HOUR_MS), START_MS))
    # The newest session is kept, even if the clock was set back.
    await store.run(sessions.add_session(new_session(user_id, "last", until=UNTIL, at=START_MS - 1)))
    found = await store.read(sessions.list_sessions(user_id, START_MS))
    assert len(found) == MAX_SESSIONS
    assert [session.family for session in found if session.family in ("f-0", "f-1", "f-2", "f-last")] == [
        "f-0",
        "f-2",
        "f-last",
    ]
