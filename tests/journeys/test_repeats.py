"""Each kind of write twenty times at once under one Idempotency-Key: one effect, and one answer for all.

The twenty come with several credentials of one user. Some of their clients hang up and ask again; in the second walk
the service is killed in the middle, at another moment for each write, and the requests that got no answer go on against
the next process. `make test` takes some moments, others each time; `make test-all` many of them.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.emulator.client import Emulator, proxied_zone
from edge_worker.emulator.process import POLITE, open_emulator
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.api.contract import ENDPOINTS
from svc.ids import digest, new_id, new_secret
from svc.model import Key, Scope
from svc.security.api_key import new_api_key
from svc.security.passwords import hash_password
from svc.store import keys, open_store, sessions, users
from tests.journeys.bare_client import Answer, NoAnswer, request
from tests.journeys.conftest import ZONE, free_port, settings_of
from tests.journeys.mortal import open_life
from tests.journeys.writes import KINDS, LAST, ONLY_UNDISTURBED, PASSWORD, Kind, Place
from tests.store.makers import new_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from svc.config import StoreConfig
    from tests.journeys.mortal import Life

pytestmark = pytest.mark.timeout(1_200)

_AT_ONCE = 20
# So often all of them are walked through with kills; the later in a write, the longer the walk.
_WALKS = 10 if EVERYTHING else 1
# Of the writes in a walk of `make test`; a start of the service costs as much as a hundred requests.
_CUT_SHORT = 0.3
_FOR_EVER = 2**62
_SCOPES: tuple[Scope, ...] = ("accounts", "sites", "links", "reports")
# How soon the clients of some requests hang up, in seconds; they ask again.
_HANG_UP_S = (0.001, 0.01, 0.05, 0.2)
# Refusals that pass by themselves: the same request is meant to be sent again.
_AGAIN = (429, 503)


@dataclass
class Asked:
    """One write that is asked for twenty times: under which key, with which credentials, and what came."""

    kind: Kind
    method: str
    path: str
    body: Any
    key: str
    before: Counter[str]
    credentials: list[dict[str, str]]
    answers: list[Answer | None] = field(default_factory=lambda: [None] * _AT_ONCE)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A platform that runs no worker: what is counted here is what is asked of it."""
    async with open_emulator(no_runtime=True, **POLITE) as running:
        yield running


@dataclass
class Caller:
    """A user's credentials, and how they are used."""

    sessions: list[dict[str, str]]
    keys: list[dict[str, str]]
    limited: dict[str, str]  # a key that sees one account

    def of(self, kind: Kind) -> list[dict[str, str]]:
        """Those that may make this write, in turn."""
        both = self.sessions if kind.endpoint.access == "session" else [*self.sessions, *self.keys]
        both = self.sessions[:1] if kind.by_one else both
        return [both[n % len(both)] for n in range(_AT_ONCE)]


@asynccontextmanager
async def prepared(emulator: Emulator, store_config: StoreConfig) -> AsyncIterator[tuple[Place, Caller]]:
    """An account at the platform, and a user with some credentials."""
    customer = await emulator.create_account([proxied_zone(ZONE)])
    await emulator.call("DELETE", "/requests")
    async with open_store(store_config) as store:
        place = Place(emulator, customer, store)
        yield place, await _caller(place)


async def _caller(place: Place) -> Caller:
    """Two sessions and three keys; a third session is `session_id` of the place."""
    store = place.store
    user = await store.run(users.add_user("a@example.com", hash_password(PASSWORD), 1, confirmed=True))
    assert user is not None
    await store.run(users.set_plan("a@example.com", "api"))
    tokens = [new_secret("svs_") for _ in range(2)]
    for n, token in enumerate(tokens):
        session = new_session(user.id, str(n), access=digest(token), until=_FOR_EVER, at=1)
        await store.run(sessions.add_session(session))
    elsewhere = new_session(user.id, "elsewhere", until=_FOR_EVER, at=1)
    await store.run(sessions.add_session(elsewhere))
    place.ids["session_id"] = elsewhere.id
    values = [new_api_key() for _ in range(3)]
    for n, value in enumerate(values):
        only = (place.customer.account_id,) if n == 2 else None
        key = Key(new_id("key"), user.id, None, value[:12], _SCOPES, only, None, 1, None)
        await store.run(keys.add_key(key, digest(value), 5))
    by_session = [{"Authorization": f"Bearer {token}"} for token in tokens]
    by_key = [{"Authorization": f"Bearer {value}"} for value in values]
    return Caller(by_session, by_key[:2], by_key[2])


def settings(emulator: Emulator, store_config: StoreConfig) -> dict[str, str]:
    return settings_of(
        emulator,
        store_config,
        SVC_HTTP_BIND=free_port(),
        SVC_LIMITS_REQUESTS_PER_MINUTE="1000000",
        SVC_TIMING_SYNC_RETRY_S="0.2",
        SVC_TIMING_ROUTE_RETRY_S="0.2",
    )


async def ask(place: Place, caller: Caller, kind: Kind) -> Asked:
    """What is to be asked for, and what there is before."""
    method, path, body = await kind.request(place)
    return Asked(kind, method, path, body, new_secret(), await place.counts(), caller.of(kind))


async def send(life: Life, asked: Asked, *, impatient: int = 0) -> None:
    """Send all requests that have no answer, at once; the first `impatient` clients hang up at first.

    Those of a service that dies meanwhile are left without an answer.
    """

    async def once(n: int) -> Answer | None:
        headers = {**asked.credentials[n], "Idempotency-Key": asked.key}
        answer = await request(life.url, asked.method, asked.path, headers, asked.body)
        return None if answer.status in _AGAIN or answer.code == "operation_in_progress" else answer

    async def one(n: int) -> None:
        with suppress(NoAnswer):
            if n < impatient:
                with trio.move_on_after(_HANG_UP_S[n % len(_HANG_UP_S)]):
                    await once(n)
            asked.answers[n] = await eventually(lambda: once(n), every_s=0.05)

    async with trio.open_nursery() as nursery:
        for n, answer in enumerate(asked.answers):
            if answer is None:
                nursery.start_soon(one, n)


async def check(life: Life, place: Place, asked: Asked, *, undisturbed: bool) -> None:
    """All got the one answer, whose effect is there once."""
    answers = [answer for answer in asked.answers if answer is not None]
    assert len(answers) == _AT_ONCE
    seen = Counter((answer.status, answer.body) for answer in answers)
    if asked.kind.made == ("key_id", "id"):  # the key's value is shown to one, or to nobody
        codes = Counter(answer.code for answer in answers)
        assert codes["key_already_issued"] in (_AT_ONCE - 1, _AT_ONCE), seen
        assert codes[None] + codes["key_already_issued"] == _AT_ONCE, seen
    else:
        assert [status for status, _ in seen] == [asked.kind.endpoint.status], (asked.kind.name, seen)
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) <= 1
    await _remember(life, place, asked, answers[0])
    expected = Counter(asked.before)
    for name, n in ({"answers kept": 1} | asked.kind.effect).items():
        expected[name] += n
    found: Counter[str] = Counter()

    async def look() -> bool | None:
        nonlocal found
        found = await place.counts()
        return True if _told(found, undisturbed) == _told(expected, undisturbed) else None

    with trio.move_on_after(20) as waiting:
        await eventually(look, every_s=0.1)
    changed = {
        name: (asked.before[name], found[name], expected[name]) for name in found if found[name] != expected[name]
    }
    assert not waiting.cancelled_caught, f"{asked.kind.name}: (before, found, expected) {changed}"


def _told(counts: Counter[str], undisturbed: bool) -> dict[str, int]:
    return {name: n for name, n in counts.items() if undisturbed or name not in ONLY_UNDISTURBED}


async def _remember(life: Life, place: Place, asked: Asked, answer: Answer) -> None:
    if asked.kind.made is None:
        return
    name, noun = asked.kind.made
    if name == "key_id":  # the value may be lost, the key is in the list
        listed = await request(life.url, "GET", "/v1/keys", asked.credentials[0])
        place.ids[name] = listed.json["keys"][-1]["id"]
        return
    place.ids[name] = answer.json[noun]["id"]


async def settle(life: Life, place: Place, caller: Caller) -> None:
    """Wait until nothing is under way in the account."""

    async def look() -> bool | None:
        answer = await request(life.url, "GET", f"/v1/accounts/{place.ids['account_id']}", caller.sessions[0])
        if answer.status == 404:
            return True
        account = answer.json["account"]
        operation = account["operation"]
        waits = operation["state"] == "running" and operation["step"] != "selfcheck"
        return None if waits or account["state"] == "installing" else True

    if "account_id" in place.ids:
        await eventually(look, every_s=0.1)


def test_no_kind_of_write_is_forgotten() -> None:
    """A new endpoint that changes something needs its place in `writes.KINDS`, or in `LAST`."""
    changing = [endpoint for endpoint in ENDPOINTS if endpoint.changes]
    assert sorted(kind.name for kind in (*KINDS, *LAST)) == sorted(
        f"{endpoint.method} {endpoint.path}" for endpoint in changing
    )


@pytest.mark.both_engines
@pytest.mark.rule("G1", "G3", "C6")
async def test_each_write_is_made_once_of_twenty_at_once(
    emulator: Emulator, store_config: StoreConfig, tmp_path: Path
) -> None:
    async with (
        prepared(emulator, store_config) as (place, caller),
        open_life(tmp_path / "svc", settings(emulator, store_config)) as life,
    ):
        for kind in KINDS:
            asked = await ask(place, caller, kind)
            await send(life, asked, impatient=6)
            await settle(life, place, caller)
            await check(life, place, asked, undisturbed=True)
            await _is_not_given_to_who_sees_less(life, caller, asked)
            await settle(life, place, caller)


async def _is_not_given_to_who_sees_less(life: Life, caller: Caller, asked: Asked) -> None:
    if asked.kind.endpoint.access == "session":
        return
    headers = {**caller.limited, "Idempotency-Key": asked.key}
    answer = await request(life.url, asked.method, asked.path, headers, asked.body)
    assert answer.code == "idempotency_conflict", asked.kind.name


@pytest.mark.rule("G3", "C6")
@pytest.mark.parametrize("walk", range(1, _WALKS + 1))
async def test_so_it_is_when_the_service_is_killed_in_the_middle(
    emulator: Emulator, store_config: StoreConfig, tmp_path: Path, walk: int
) -> None:
    chance = random.Random(SEED)  # to make the same again, not to keep a secret
    told = settings(emulator, store_config)
    async with prepared(emulator, store_config) as (place, caller):
        left = list(KINDS)
        asked: Asked | None = None
        while left or asked is not None:
            moment = chance.randint(1, 4 * walk)
            async with open_life(tmp_path / "svc", told, kill_at=moment) as life:
                if asked is not None:
                    await send(life, asked)
                    await settle(life, place, caller)
                    await check(life, place, asked, undisturbed=False)
                    asked = None
                while left and asked is None:
                    kind = left.pop(0)
                    cut_short = EVERYTHING or chance.random() < _CUT_SHORT
                    print(f"{kind.name}, {f'killed at moment {moment}' if cut_short else 'not killed'}")
                    asked = await ask(place, caller, kind)
                    if cut_short:
                        life.arm()
                    await send(life, asked, impatient=6)
                    if cut_short:
                        await life.kill()
                    else:
                        await settle(life, place, caller)
                        await check(life, place, asked, undisturbed=False)
                        asked = None


@pytest.mark.rule("G3", "C12")
@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "killed"])
@pytest.mark.parametrize("kind", LAST, ids=lambda kind: kind.name)
async def test_what_ends_who_asks_is_made_once_of_twenty_at_once(
    emulator: Emulator, store_config: StoreConfig, tmp_path: Path, kind: Kind, killed: bool
) -> None:
    """Who comes while it is made gets its one answer; who comes later is nobody any more, under the same key as well.

    So the answer is lost to all where the process dies when it has been made.
    """
    chance = random.Random(SEED)
    told = settings(emulator, store_config)
    async with prepared(emulator, store_config) as (place, caller):
        asked = await ask(place, caller, kind)
        if killed:
            async with open_life(tmp_path / "svc", told, kill_at=chance.randint(1, 4)) as life:
                life.arm()
                await send(life, asked)
                await life.kill()
        async with open_life(tmp_path / "svc", told) as life:
            await send(life, asked)
            answers = [answer for answer in asked.answers if answer is not None]
            assert len(answers) == _AT_ONCE
            made = [answer for answer in answers if answer.status == kind.endpoint.status]
            assert killed or made
            assert len({answer.body for answer in made}) <= 1
            assert {answer.code for answer in answers if answer not in made} <= {"unauthorized"}
            expected = Counter(asked.before)
            for name, n in kind.effect.items():
                expected[name] += n

            async def over() -> bool | None:
                return (await place.counts() == expected) or None

            await eventually(over)
            asked.answers = [None] * _AT_ONCE
            await send(life, asked)
            assert {answer.code for answer in asked.answers if answer is not None} == {"unauthorized"}
