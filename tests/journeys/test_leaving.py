"""Kill the service while it deletes a user. The platform responds, rejects calls, or is unreachable.

After each kill, the service completes the deletion at the next start. The store then contains no data about the user,
and a response or the email names all remaining resources at the platform. `make test` takes a random sample of the
moments, and `make test-all` takes all of them.
"""

from __future__ import annotations

import email
import email.policy
import random
import secrets
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from pydantic import SecretStr

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import Service, eventually
from svc.config import StoreConfig
from svc.store import open_store
from tests.journeys.lifecycle import FAULTS, Draws, World, with_site_and_link
from tests.journeys.mortal import open_mortal_service
from tests.store.whole_store import OF_NOBODY, all_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.timeout(1_800)

_PASSWORD = "a long password"  # the password of users in this test
# None: the platform works. The other values are failures of the platform, which begin with the kill or with the request
# and do not end.
_MODES: tuple[str | None, ...] = (None, "drop_before", "drop_after", "403", "500")
# The usual number of moments of a deletion as counted by `mortal`: with a working and with a failing platform.
_MOMENTS, _MOMENTS_OF_FAILURES = 25, 14


@pytest.mark.rule("C12", "A17")
async def test_next_start_completes_a_deletion_interrupted_by_a_kill(world: World) -> None:
    chance = random.Random(SEED)  # seeded, so that a run can be reproduced; it is not used for secrets
    for mode in _MODES if EVERYTHING else (None, chance.choice(_MODES[1:])):
        moments = Draws(chance, _MOMENTS if mode is None else _MOMENTS_OF_FAILURES)
        for moment in moments:
            print(f"mode {mode}, moment {moment}")
            moments.existed = await _delete_user(world, moment, mode)


async def _delete_user(world: World, moment: int, mode: str | None) -> bool:
    """Sign up, connect an account and delete the user, with a service that kills itself at `moment`.

    Return True if the service was killed.
    """
    address = f"{secrets.token_hex(6)}@example.com"
    reported = ""
    killed = False
    async with open_mortal_service(world.folder, world.settings, kill_at=moment) as service:
        await service.sign_up(address, _PASSWORD)
        world.headers = service.headers
        await with_site_and_link(world, service)
        if mode is not None:
            await world.emulator.fault(**FAULTS[mode], times=None)
        service.arm()
        try:
            reported += (await _leave(service)).text
        except httpx.TransportError:
            await service.ended()
            killed = True
    if killed:
        async with open_mortal_service(world.folder, world.settings) as service:
            service.headers = world.headers
            reported += (await _leave(service)).text

            async def gone() -> bool | None:
                return (await _leave(service)).status_code == httpx.codes.UNAUTHORIZED or None

            await eventually(gone)
    await world.emulator.clear_faults()
    store = StoreConfig(url=SecretStr(world.settings["SVC_STORE_URL"]))
    async with open_store(store) as opened:
        rows = await opened.read(all_rows())
    assert {table for table in rows if rows[table]} <= {
        *OF_NOBODY,
        "outbox",
        "users",
        "sessions",
        "devices",
        "trails",
        "events",
    }
    users = [dict(row)["email"] for row in rows["users"].elements()]
    assert users == ["a@example.com"]  # only the user of the test's own account remains
    reported += _by_email(world, address, rows)
    held = await world.held()
    things = [f"Worker {name}:" for name in held["scripts"]]
    things += [f"({database_id})" for database_id in held["databases"]]
    things += [f"Route {pattern} " for pattern in await world.patterns()]
    things += [token["name"] for token in held["tokens"].values() if token["name"].startswith("svc-")]
    assert [thing for thing in things if thing not in reported] == []
    return killed


async def _leave(service: Service) -> httpx.Response:
    response = await service.client.request(
        "DELETE", f"{service.url}/v1/me", json={"password": _PASSWORD}, headers=service.headers
    )
    assert response.status_code in (httpx.codes.OK, httpx.codes.UNAUTHORIZED), response.text
    return response


def _by_email(world: World, address: str, rows: Mapping[str, Any]) -> str:
    """Return the text that the user got or will get by email. After a kill, there may be two identical emails."""
    waiting = [dict(row)["facts"] for row in rows["outbox"].elements() if dict(row)["address"] == address]
    sent = []
    for path in (world.folder / "mail").glob("*.eml"):
        message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        if address in str(message["To"]) and "was deleted" in str(message["Subject"]):
            plain: Any = message.get_body(("plain",))
            sent.append(" ".join(plain.get_content().split()))  # the email's lines are wrapped
    assert 1 <= len(waiting) + len(sent) <= 2
    return " ".join([*waiting, *sent])
