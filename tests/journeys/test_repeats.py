"""Each kind of write, sent twenty times concurrently with one Idempotency-Key, has one effect and one response.

The twenty requests use several credentials of one user. Some clients disconnect and retry. In the second test, the
service is killed while it handles the requests, at a different moment for each write. Requests without a response are
then sent to the next process. `make test` takes a small random sample of moments, and `make test-all` a larger one.
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
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.api.contract import ENDPOINTS
from svc.ids import digest, new_id, new_secret
from svc.model import Key, Scope
from svc.security.api_key import new_api_key
from svc.security.passwords import hash_password
from svc.store import keys, open_store, sessions, users
from tests.engines import ENGINES
from tests.journeys.bare_client import NoResponse, Response, request
from tests.journeys.conftest import ZONE, free_port, settings_of
from tests.journeys.mortal import open_mortal_service
from tests.journeys.writes import KINDS, LAST, ONLY_UNDISTURBED, PASSWORD, Kind, Place
from tests.store.makers import new_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from svc.config import StoreConfig
    from tests.journeys.mortal import MortalService

pytestmark = pytest.mark.timeout(1_200)

_REQUESTS = 20
_ENGINES = ENGINES if EVERYTHING else [random.Random(SEED).choice(ENGINES)]
# The number of runs through all writes with kills. Each run kills the service at later moments than the previous run,
# so it takes longer.
_WALKS = 10 if EVERYTHING else 1
# The share of writes during which `make test` kills the service. Starting the service costs as much as 100 requests.
_INTERRUPTED = 0.3
_FOR_EVER = 2**62
_SCOPES: tuple[Scope, ...] = ("accounts", "sites", "links", "reports")
# Some clients disconnect after one of these delays (in seconds), and then retry.
_DISCONNECT_S = (0.001, 0.01, 0.05, 0.2)
# Temporary errors, after which the same request should be retried.
_TEMPORARY = (429, 503)


@dataclass
class RepeatedWrite:
    """One write that is sent twenty times, with its Idempotency-Key, the credentials and the responses."""

    kind: Kind
    method: str
    path: str
    body: Any
    key: str
    before: Counter[str]
    credentials: list[dict[str, str]]
    responses: list[Response | None] = field(default_factory=lambda: [None] * _REQUESTS)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A platform that runs no Workers, because these tests only count calls to the platform."""
    async with open_emulator(no_runtime=True, **LENIENT) as running:
        yield running


@dataclass
class Caller:
    """A user's credentials, and a method that assigns them to requests."""

    sessions: list[dict[str, str]]
    keys: list[dict[str, str]]
    limited: dict[str, str]  # a key limited to one account

    def credentials_for(self, kind: Kind) -> list[dict[str, str]]:
        """Return the credential for each of the twenty requests. The requests use the permitted credentials in turn."""
        both = self.sessions if kind.endpoint.access == "session" else [*self.sessions, *self.keys]
        both = self.sessions[:1] if kind.by_one else both
        return [both[n % len(both)] for n in range(_REQUESTS)]


@asynccontextmanager
async def prepared(emulator: Emulator, store_config: StoreConfig) -> AsyncIterator[tuple[Place, Caller]]:
    """Create an account at the platform and a user. Yield the context of the writes and the user's credentials."""
    customer = await emulator.create_account([proxied_zone(ZONE)])
    await emulator.call("DELETE", "/requests")
    async with open_store(store_config) as store:
        place = Place(emulator, customer, store)
        yield place, await _caller(place)


async def _caller(place: Place) -> Caller:
    """Create a user with two sessions and three keys. The place's `session_id` is a third session."""
    store = place.store
    user = await store.run(users.add_user("a@example.com", hash_password(PASSWORD), 1, confirmed=True))
    assert user is not None
    await store.run(users.set_plan(user.id, "api"))
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


async def ask(place: Place, caller: Caller, kind: Kind) -> RepeatedWrite:
    """Return the write to send, including the numbers of objects that exist before the write."""
    method, path, body = await kind.request(place)
    return RepeatedWrite(kind, method, path, body, new_secret(), await place.counts(), caller.credentials_for(kind))


async def send(service: MortalService, write: RepeatedWrite, *, impatient: int = 0) -> None:
    """Send all requests that have no response yet, concurrently. The first `impatient` clients disconnect once.

    If the service dies, the remaining requests get no response.
    """

    async def once(n: int) -> Response | None:
        headers = {**write.credentials[n], "Idempotency-Key": write.key}
        response = await request(service.url, write.method, write.path, headers, write.body)
        return None if response.status in _TEMPORARY or response.code == "operation_in_progress" else response

    async def one(n: int) -> None:
        with suppress(NoResponse):
            if n < impatient:
                with trio.move_on_after(_DISCONNECT_S[n % len(_DISCONNECT_S)]):
                    await once(n)
            write.responses[n] = await eventually(lambda: once(n), every_s=0.05)

    async with trio.open_nursery() as nursery:
        for n, response in enumerate(write.responses):
            if response is None:
                nursery.start_soon(one, n)


async def check(service: MortalService, place: Place, write: RepeatedWrite, *, undisturbed: bool) -> None:
    """Check that all requests got the same response, and that the effect exists only once."""
    responses = [response for response in write.responses if response is not None]
    assert len(responses) == _REQUESTS
    seen = Counter((response.status, response.body) for response in responses)
    if write.kind.made == ("key_id", "id"):  # the value of a key is returned at most once
        codes = Counter(response.code for response in responses)
        assert codes["key_already_issued"] in (_REQUESTS - 1, _REQUESTS), seen
        assert codes[None] + codes["key_already_issued"] == _REQUESTS, seen
    else:
        assert [status for status, _ in seen] == [write.kind.endpoint.status], (write.kind.name, seen)
    assert sum("idempotent-replayed" not in response.headers for response in responses) <= 1
    await _remember(service, place, write, responses[0])
    expected = Counter(write.before)
    for name, n in ({"answers kept": 1} | write.kind.effect).items():
        expected[name] += n
    found: Counter[str] = Counter()

    async def poll() -> bool | None:
        nonlocal found
        found = await place.counts()
        return True if _count_codes(found, undisturbed) == _count_codes(expected, undisturbed) else None

    with trio.move_on_after(20) as waiting:
        await eventually(poll, every_s=0.1)
    changed = {
        name: (write.before[name], found[name], expected[name]) for name in found if found[name] != expected[name]
    }
    assert not waiting.cancelled_caught, f"{write.kind.name}: (before, found, expected) {changed}"


def _count_codes(counts: Counter[str], undisturbed: bool) -> dict[str, int]:
    return {name: n for name, n in counts.items() if undisturbed or name not in ONLY_UNDISTURBED}


async def _remember(service: MortalService, place: Place, write: RepeatedWrite, response: Response) -> None:
    if write.kind.made is None:
        return
    name, noun = write.kind.made
    if name == "key_id":  # the value of the key may be lost, but the list of keys contains the key
        listed = await request(service.url, "GET", "/v1/keys", write.credentials[0])
        place.ids[name] = listed.json["keys"][-1]["id"]
        return
    place.ids[name] = response.json[noun]["id"]


async def settle(service: MortalService, place: Place, caller: Caller) -> None:
    """Wait until the account has no operation in progress."""

    async def poll() -> bool | None:
        response = await request(service.url, "GET", f"/v1/accounts/{place.ids['account_id']}", caller.sessions[0])
        if response.status == 404:
            return True
        account = response.json["account"]
        operation = account["operation"]
        waits = operation["state"] == "running" and operation["step"] != "selfcheck"
        return None if waits or account["state"] == "installing" else True

    if "account_id" in place.ids:
        await eventually(poll, every_s=0.1)


def test_every_kind_of_write_is_covered() -> None:
    """Add each new endpoint that changes something to `writes.KINDS` or `writes.LAST`."""
    changing = [endpoint for endpoint in ENDPOINTS if endpoint.changes]
    assert sorted(kind.name for kind in (*KINDS, *LAST)) == sorted(
        f"{endpoint.method} {endpoint.path}" for endpoint in changing
    )


@pytest.mark.parametrize("store_config", _ENGINES, indirect=True)
@pytest.mark.rule("G1", "G3", "C6")
async def test_twenty_concurrent_requests_make_each_write_once(
    emulator: Emulator, store_config: StoreConfig, tmp_path: Path
) -> None:
    async with (
        prepared(emulator, store_config) as (place, caller),
        open_mortal_service(tmp_path / "svc", settings(emulator, store_config)) as service,
    ):
        for kind in KINDS:
            write = await ask(place, caller, kind)
            await send(service, write, impatient=6)
            await settle(service, place, caller)
            await check(service, place, write, undisturbed=True)
            await _is_hidden_from_limited_keys(service, caller, write)
            await settle(service, place, caller)


async def _is_hidden_from_limited_keys(service: MortalService, caller: Caller, write: RepeatedWrite) -> None:
    if write.kind.endpoint.access == "session":
        return
    headers = {**caller.limited, "Idempotency-Key": write.key}
    response = await request(service.url, write.method, write.path, headers, write.body)
    assert response.code == "idempotency_conflict", write.kind.name


@pytest.mark.rule("G3", "C6")
@pytest.mark.parametrize("walk", range(1, _WALKS + 1))
async def test_writes_are_made_once_if_the_service_is_killed(
    emulator: Emulator, store_config: StoreConfig, tmp_path: Path, walk: int
) -> None:
    chance = random.Random(SEED)  # seeded, so that a run can be reproduced; it is not used for secrets
    environ = settings(emulator, store_config)
    async with prepared(emulator, store_config) as (place, caller):
        left = list(KINDS)
        write: RepeatedWrite | None = None
        while left or write is not None:
            moment = chance.randint(1, 4 * walk)
            async with open_mortal_service(tmp_path / "svc", environ, kill_at=moment) as service:
                if write is not None:
                    await send(service, write)
                    await settle(service, place, caller)
                    await check(service, place, write, undisturbed=False)
                    write = None
                while left and write is None:
                    kind = left.pop(0)
                    interrupted = EVERYTHING or chance.random() < _INTERRUPTED
                    print(f"{kind.name}, {f'killed at moment {moment}' if interrupted else 'not killed'}")
                    write = await ask(place, caller, kind)
                    if interrupted:
                        service.arm()
                    await send(service, write, impatient=6)
                    if interrupted:
                        await service.kill()
                    else:
                        await settle(service, place, caller)
                        await check(service, place, write, undisturbed=False)
                        write = None


@pytest.mark.rule("G3", "C12")
@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "killed"])
@pytest.mark.parametrize("kind", LAST, ids=lambda kind: kind.name)
async def test_writes_that_end_their_credentials_are_made_once(
    emulator: Emulator, store_config: StoreConfig, tmp_path: Path, kind: Kind, killed: bool
) -> None:
    """Concurrent requests that succeed get the same response. Later requests are unauthorized, even with the same
    Idempotency-Key.

    If the process dies after the write, the response is lost for all clients.
    """
    chance = random.Random(SEED)
    environ = settings(emulator, store_config)
    async with prepared(emulator, store_config) as (place, caller):
        write = await ask(place, caller, kind)
        if killed:
            async with open_mortal_service(tmp_path / "svc", environ, kill_at=chance.randint(1, 4)) as service:
                service.arm()
                await send(service, write)
                await service.kill()
        async with open_mortal_service(tmp_path / "svc", environ) as service:
            await send(service, write)
            responses = [response for response in write.responses if response is not None]
            assert len(responses) == _REQUESTS
            made = [response for response in responses if response.status == kind.endpoint.status]
            assert killed or made
            assert len({response.body for response in made}) <= 1
            assert {response.code for response in responses if response not in made} <= {"unauthorized"}
            expected = Counter(write.before)
            for name, n in kind.effect.items():
                expected[name] += n

            async def over() -> bool | None:
                return (await place.counts() == expected) or None

            await eventually(over)
            write.responses = [None] * _REQUESTS
            await send(service, write)
            assert {response.code for response in write.responses if response is not None} == {"unauthorized"}
