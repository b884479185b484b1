"""Every operation that changes something at the platform, with its expected result.

Tests run these operations, and kill the service or make the platform fail at every step.
"""

from __future__ import annotations

import itertools
import random
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.sampling import EVERYTHING
from edge_worker.harness.service import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Service

# If a site has more old paths than this, tests replace it with a new site. The service's limit is ten.
_MAX_OLD_PATHS = 6
# Failures that clients of Cloudflare's API can encounter: those in docs/use/cloudflare.md, and the emulator's faults.
FAULTS: dict[str, dict[str, Any]] = {
    "drop_before": {"kind": "drop_before"},
    "drop_after": {"kind": "drop_after"},
    "slow": {"kind": "slow", "delay_s": 3},
    "html": {"kind": "html", "status": 502},
    "throttle": {"kind": "throttle"},
    "401": {"kind": "refuse", "status": 401, "code": 10000},
    "403": {"kind": "refuse", "status": 403, "code": 7403},
    "500": {"kind": "refuse", "status": 500, "code": 10001},
}
_SETTLED = ("ready", "no_connection", "connected", "bootstrap_lost", "revoked", "permission_error", "resource_drift")


@dataclass
class World:
    """A service with one user, one data folder, and its current account at the platform. Tests restart it."""

    emulator: Emulator
    folder: Path
    settings: dict[str, str]
    customer: Customer | None = None
    headers: dict[str, str] = field(default_factory=dict)
    account_id: str = ""
    site: dict[str, Any] = field(default_factory=dict)
    old_token: str = ""
    turn: int = 0
    disconnected: dict[str, Any] = field(default_factory=dict)  # the response to the user's disconnect request

    @property
    def edge_account_id(self) -> str:
        """The id of the account on the platform."""
        assert self.customer is not None
        return self.customer.account_id

    @property
    def zone(self) -> str:
        """The name of the account's only zone."""
        assert self.customer is not None
        [name] = self.customer.zones
        return name

    async def new_customer(self) -> None:
        """Switch to a new account at the platform."""
        self.customer = await self.emulator.create_account([proxied_zone(f"{secrets.token_hex(6)}.example")])
        self.account_id = ""
        self.disconnected = {}

    async def new_token(self) -> str:
        """Create a bootstrap token in the account, and return its value."""
        rights = ["Account Settings Read", "Account API Tokens Write"]
        _, token = await self.emulator.create_token(self.edge_account_id, rights=rights)
        return token

    async def account(self, service: Service) -> dict[str, Any] | None:
        """Return the account as its user sees it, or None if it is not connected."""
        for account in (await service.call("GET", "/v1/accounts"))["accounts"]:
            if account["edge_account_id"] == self.edge_account_id:
                self.account_id = account["id"]
        if not self.account_id:
            return None
        path = f"{service.url}/v1/accounts/{self.account_id}"
        response = await service.client.get(path, headers=service.headers)
        if response.is_success:
            found: dict[str, Any] = response.json()["account"]
            return found
        told = await service.client.delete(path, headers=service.headers)
        self.disconnected = told.json() if told.is_success else {}
        return None

    async def settled(self, service: Service) -> dict[str, Any] | None:
        """Return the account once no operation is in progress, or None if it is not connected."""

        async def poll() -> tuple[dict[str, Any] | None] | None:
            account = await self.account(service)
            if account is None:
                return (None,)
            operation = account["operation"]
            waits = operation is not None and operation["state"] == "running" and operation["step"] != "selfcheck"
            return None if waits or account["state"] not in _SETTLED else (account,)

        [account] = await eventually(poll)
        return account

    async def held(self) -> dict[str, Any]:
        """Return the account's state at the platform."""
        return await self.emulator.account(self.edge_account_id)

    async def patterns(self) -> list[str]:
        """Return the sorted patterns of the account's routes."""
        zones = (await self.held())["zones"].values()
        return sorted(route["pattern"] for zone in zones for route in zone["routes"])

    async def check_consistent(self, account: dict[str, Any] | None) -> None:
        """Check that no resource exists twice, and that each valid token is either in use or reported to the user."""
        held = await self.held()
        assert list(held["scripts"]) in ([], ["svc-edge"])
        assert [database["name"] for database in held["databases"].values()] in ([], ["svc-edge"])
        patterns = await self.patterns()
        assert len(set(patterns)) == len(patterns)
        known = set()
        if account is not None:
            known |= {account["token"]["name"]} if account["token"] else set()
            for error in (account["error"], (account["operation"] or {}).get("error")):
                details = (error or {}).get("details") or {}
                known |= {*details.get("revoke_tokens", ()), details.get("revoke_token")}
        known.add(self.disconnected.get("revoke_token"))
        working = {token["name"] for token in held["tokens"].values() if token["name"].startswith("svc-")}
        assert working <= known, account
        assert account is None or account["token"] is None or account["token"]["name"] in working

    def check_secrets(self) -> None:
        """Check that no file, except emails, contains a token or a Worker key in plain text."""
        for path in self.folder.rglob("*"):
            if path.is_file() and path.suffix != ".eml":
                content = path.read_bytes()
                assert b"svcw_" not in content, path
                assert b"cfat_" not in content, path


@dataclass(frozen=True)
class Operation:
    """An operation of the service.

    `prepare` establishes the preconditions and can be repeated. `request` returns the method, path and body. `done`
    returns True once the result is correct, and None until then.

    The operation makes at least `calls` calls to the platform, and has at least `moments` moments as counted by
    `mortal`.
    """

    name: str
    calls: int
    moments: int
    prepare: Callable[[World, Service], Awaitable[None]]
    request: Callable[[World], Awaitable[tuple[str, str, object]]]
    done: Callable[[World, Service], Awaitable[bool | None]]


async def _another_customer(world: World, service: Service) -> None:
    del service
    await world.new_customer()


async def connected(world: World, service: Service) -> None:
    """Connect the account and install its Worker, unless this has been done already."""
    if world.customer is None:
        await world.new_customer()
    account = await world.settled(service)
    if account is None or account["state"] == "bootstrap_lost":
        method, path, body = await _connect(world)
        await service.call(method, path, body, expect=202)
        account = await world.settled(service)
    assert account is not None
    if account["state"] == "connected":
        await service.call("POST", f"/v1/accounts/{world.account_id}/install", expect=202)
        account = await world.settled(service)
        assert account is not None
    assert account["state"] == "ready", account
    if account["operation"]["state"] == "running":  # the first cron run of the Worker confirms the installation
        await world.emulator.cron(world.edge_account_id, "svc-edge")

        async def confirmed() -> bool | None:
            account = await world.account(service)
            return True if account is not None and account["operation"]["state"] == "done" else None

        await eventually(confirmed)


async def _connect(world: World) -> tuple[str, str, object]:
    token = await world.new_token()
    return "POST", "/v1/accounts", {"edge_account_id": world.edge_account_id, "bootstrap_token": token}


async def _reinstall(world: World) -> tuple[str, str, object]:
    return "POST", f"/v1/accounts/{world.account_id}/install", None


async def _renew(world: World) -> tuple[str, str, object]:
    return "POST", f"/v1/accounts/{world.account_id}/token", {"bootstrap_token": await world.new_token()}


async def _to_renew(world: World, service: Service) -> None:
    await connected(world, service)
    account = await world.settled(service)
    assert account is not None
    world.old_token = account["token"]["name"]


async def _is_renewed(world: World, service: Service) -> bool | None:
    account = await world.settled(service)
    assert account is not None
    return await _is_ready(world, service) if account["token"]["name"] != world.old_token else None


async def _is_ready(world: World, service: Service) -> bool | None:
    account = await world.settled(service)
    # After a kill, the account may show a justified warning about the bootstrap token.
    return (
        True if account is not None and account["state"] == "ready" and "code" not in (account["error"] or {}) else None
    )


async def _other_link_host(world: World, service: Service) -> None:
    await connected(world, service)
    world.turn += 1


def _host(world: World) -> str:
    return f"go{world.turn}.{world.zone}"


async def _put_link_host(world: World) -> tuple[str, str, object]:
    return "PUT", f"/v1/accounts/{world.account_id}/link-host", {"host": _host(world)}


async def _link_host_has_the_only_route(world: World, service: Service) -> bool | None:
    account = await world.account(service)
    assert account is not None
    host = account["link_host"] or {}
    settled = (host.get("host"), host.get("state"), host.get("config")) == (_host(world), "active", "synced")
    return True if settled and await world.patterns() == [f"{_host(world)}/*"] else None


async def with_site_and_link(world: World, service: Service) -> None:
    # Use a new account each time, because a failed disconnect leaves resources that the user has to remove.
    await world.new_customer()
    await connected(world, service)
    await service.call("PUT", f"/v1/accounts/{world.account_id}/link-host", {"host": _host(world)}, expect=202)

    async def poll() -> bool | None:
        return await _link_host_has_the_only_route(world, service)

    await eventually(poll)


async def _disconnect(world: World) -> tuple[str, str, object]:
    return "DELETE", f"/v1/accounts/{world.account_id}", None


async def _remaining_resources_are_reported(world: World, service: Service) -> bool | None:
    if await world.account(service) is not None:
        return None
    held, left = await world.held(), " ".join(world.disconnected["left"])
    there = [f"Worker {name}:" for name in held["scripts"]]
    there += [f"({database_id})" for database_id in held["databases"]]
    there += [f"Route {pattern} " for pattern in await world.patterns()]
    assert [name for name in there if name not in left] == []
    return True


async def with_site(world: World, service: Service) -> None:
    """Create one site and wait until it is active."""
    await connected(world, service)
    found = (await service.call("GET", "/v1/sites"))["sites"]
    live = [site for site in found if site["account_id"] == world.account_id]
    if live and len(live[0]["retiring"]) > _MAX_OLD_PATHS:
        await service.call("DELETE", f"/v1/sites/{live[0]['id']}")
        live = []
    if not live:
        body = {"account_id": world.account_id, "host": world.zone}
        live = [(await service.call("POST", "/v1/sites", body, expect=202))["site"]]
    [world.site] = live
    await eventually(lambda: _site_is_served(world, service))


async def _site_is_served(world: World, service: Service) -> bool | None:
    """Return True if the routes are exactly those of the site and its old paths, and the Worker knows the site."""
    site = (await service.call("GET", f"/v1/sites/{world.site['id']}"))["site"]
    paths = [site["path"], *(old["path"] for old in site["retiring"])]
    wanted = sorted(f"{site['host']}{path}*" for path in paths)
    settled = (site["state"], site["config"], site["error"]) == ("active", "synced", None)
    return True if settled and await world.patterns() == wanted else None


async def _rotate(world: World) -> tuple[str, str, object]:
    return "POST", f"/v1/sites/{world.site['id']}/rotate", None


async def _has_rotated(world: World, service: Service) -> bool | None:
    site = (await service.call("GET", f"/v1/sites/{world.site['id']}"))["site"]
    old = [each["path"] for each in site["retiring"]]
    rotated = len(set(old)) == len(old) and world.site["path"] in old
    return await _site_is_served(world, service) if rotated else None


async def _delete_site(world: World) -> tuple[str, str, object]:
    return "DELETE", f"/v1/sites/{world.site['id']}", None


async def _site_is_gone(world: World, service: Service) -> bool | None:
    site = (await service.call("GET", f"/v1/sites/{world.site['id']}"))["site"]
    gone = (site["state"], site["config"], site["error"]) == ("deleted", "synced", None)
    return True if gone and await world.patterns() == [] else None


class Draws:
    """Draws the moments or calls (numbered from 1) at which a test injects a failure: a sample, or all of them.

    The number of moments or calls can differ slightly between runs. If a run ends before the number that was drawn
    last, the test sets `existed` to False. The next number is then smaller or, in `make test-all`, the iteration ends.
    """

    def __init__(self, chance: random.Random, usual: int, count: int = 1) -> None:
        self._chance, self._usual, self._count = chance, usual, count
        self.existed = True

    def __iter__(self) -> Iterator[int]:
        for _ in range(1 if EVERYTHING else self._count):
            yield from self._all() if EVERYTHING else self._one()

    def _all(self) -> Iterator[int]:
        for number in itertools.count(1):
            yield number
            if not self.existed:
                assert number > 1, "the operation has no such moment"
                return

    def _one(self) -> Iterator[int]:
        most = self._usual + self._usual // 4 + 2
        self.existed = False
        while not self.existed:
            assert most, "the operation has no such moment"
            number = self._chance.randint(1, most)
            self.existed = True
            yield number
            most = number - 1


OPERATIONS = (
    Operation("connect", 25, 78, _another_customer, _connect, _is_ready),
    Operation("reinstall", 13, 42, connected, _reinstall, _is_ready),
    Operation("renew", 19, 46, _to_renew, _renew, _is_renewed),
    Operation("link host", 7, 16, _other_link_host, _put_link_host, _link_host_has_the_only_route),
    Operation("disconnect", 13, 31, with_site_and_link, _disconnect, _remaining_resources_are_reported),
    Operation("rotate", 3, 9, with_site, _rotate, _has_rotated),
    Operation("delete site", 3, 9, with_site, _delete_site, _site_is_gone),
)
