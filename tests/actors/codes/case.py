"""Defines a row of the table of error codes, and the case that runs the row."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from edge_worker.harness.service import eventually
from svc.errors import CATALOGUE
from svc.store import accounts
from svc.worker.bundle import SCRIPT_NAME
from tests.actors.checks.test_health_check import CustomerApi
from tests.actors.conftest import working_token_names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from svc.errors import Code
    from svc.model import AccountWarning
    from svc.worker.bundle import WorkerBundle
    from tests.actors.conftest import Place, Service
    from tests.http.conftest import Response

BOOTSTRAP_PERMISSIONS = ["Account Settings Read", "Account API Tokens Write"]

Where = Literal[
    "response", "account.error", "account.error.warnings", "operation.error", "site.error", "link.error",
    "link_host.error", "site.warnings",
]  # fmt: skip


class Resources(NamedTuple):
    """The number of resources of each kind that the service has in the emulator.

    `routes`: routes to the service's Worker.
    """

    scripts: int = 1
    crons: int = 1
    databases: int = 1
    tokens: int = 1
    routes: int = 0


NOTHING = Resources(0, 0, 0, 0)
A_TOKEN = Resources(0, 0, 0)
DATABASE_ONLY = Resources(0, 0)
INSTALLED = Resources()


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row: an error code, one way to cause it, and the conditions that must be true while the error lasts.

    `shows`: the places where the code appears. `state`: the state of the account, or of the site or link host with the
    error. None if the user cannot see a state. `details`: the keys of the error's details, except `remedy`, `reason`
    and `bootstrap_token`. `resources`: the resources in the emulator. None means that they are not checked. `play`:
    causes the error, calls `expect_error` before and after an attempt without the remedy, and then applies the remedy.
    `timing`, `limits`: settings for the service. `shares`: True if the row starts and ends with an installed account
    without sites and links. Such rows use the same account.
    """

    code: Code | AccountWarning
    shows: frozenset[Where]
    play: Callable[[Case], Awaitable[None]]
    name: str
    state: str | None
    details: frozenset[str]
    resources: Resources | None
    timing: Mapping[str, Any]
    limits: Mapping[str, Any]
    shares: bool


ROWS: list[Row] = []
# Codes of refused connect requests and renewals whose error says that the bootstrap token is still valid. The codes
# `limit_reached` and `service_full` are not in this list, although their errors say the same if another connect request
# takes the last free place during the token check. No row covers this case.
LEAVES_BOOTSTRAP = (
    "bootstrap_permission_error",
    "permission_catalog",
    "token_rights_mismatch",
    "token_check_failed",
    "orphan_not_deleted",
    "renew_lost",
    "account_taken",
)


def row(
    code: Code | AccountWarning,
    *shows: Where,
    details: Iterable[str] = (),
    state: str | None = "ready",
    resources: Resources | None = INSTALLED,
    timing: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    shares: bool = False,
) -> Callable[[Callable[[Case], Awaitable[None]]], Callable[[Case], Awaitable[None]]]:
    """Add the decorated function to `ROWS`, the table of cases. The decorator can be applied several times."""

    def add(play: Callable[[Case], Awaitable[None]]) -> Callable[[Case], Awaitable[None]]:
        ROWS.append(
            Row(
                code=code,
                shows=frozenset(shows),
                play=play,
                name=f"{code}-{getattr(play, '__name__', '')}",
                state=state,
                details=frozenset(details),
                resources=resources,
                timing=timing or {},
                limits=limits or {},
                shares=shares,
            )
        )
        return play

    return add


@dataclass
class Case:
    """A service that can be restarted, its user, and the customer's own access to Cloudflare."""

    row: Row
    place: Place
    zone: str
    next_bundle: Callable[[], WorkerBundle]
    errors_expected: int = 0
    _state: str | None = None
    _is_installed: bool = False
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start(self) -> None:
        """Start or restart the service with the current settings of `place`."""
        await self.stop()
        self.service: Service = await self._running.enter_async_context(self.place.running())
        self.customer_api = CustomerApi(self.service)
        self.emulator = self.service.emulator
        self.customer = self.service.customer

    async def stop(self) -> None:
        """Stop the service."""
        await self._running.aclose()

    # -------------------------------------------------------------------------------------------------- the user

    async def post(self, path: str, body: Any = None) -> Response:
        """Send a POST request to a path below the path of the account."""
        return await self.service.call("POST", f"/v1/accounts/{(await self.service.account()).id}{path}", body)

    async def restart_after(self, days: float) -> None:
        """Restart the service this many days later, with a new session and a push from the Worker."""
        self.place.clock.advance_s(days * 86_400)
        await self.start()
        await self.sign_in()
        await self.service.confirmed()

    async def sign_in(self) -> None:
        """Create a new session for the user."""
        self.service.session = await self.service.world.session(self.service.user)

    async def connect(self, token: str | None = None) -> Response:
        """Send a connect request. Unless a token is given, use a new bootstrap token."""
        return await self.service.connect(token or (await self.bootstrap())[1])

    async def connected(self) -> None:
        """Connect, and expect success."""
        response = await self.connect()
        assert response.status == 202, response.raw

    async def renew(self, token: str | None = None) -> Response:
        """Send a renewal request. Unless a token is given, use a new bootstrap token."""
        return await self.post("/token", {"bootstrap_token": token or (await self.bootstrap())[1]})

    async def renewed(self, token: str | None = None) -> None:
        """Renew the token, and expect success."""
        response = await self.renew(token)
        assert response.status == 200, response.raw

    async def installed(self) -> None:
        """Connect and install, unless an earlier row has done this. Return when no operation is running."""
        if not self._is_installed:
            await self.service.ready()
            await self.service.confirmed()
        self._is_installed = True
        await self.service.idle()
        self.service.clock.advance_s(1)  # so that the next operation has a later time

    async def install(self, *states: str) -> None:
        """Reinstall, and check that the account is then in one of these states."""
        response = await self.post("/install")
        assert response.status == 202, response.raw
        await self.service.settled(*states)

    async def disconnected(self) -> None:
        """Disconnect, and check that no resources remain."""
        response = await self.service.call("DELETE", f"/v1/accounts/{(await self.service.account()).id}")
        assert (response.status, response.body["left"]) == (200, []), response.raw

    async def put_link_host(self, host: str, **confirmed: bool) -> Response:
        """Set the link host."""
        path = f"/v1/accounts/{(await self.service.account()).id}/link-host"
        return await self.service.call("PUT", path, {"host": host, **confirmed})

    async def add_site(self, host: str, **more: Any) -> Response:
        """Add a site."""
        body = {"account_id": (await self.service.account()).id, "host": host, **more}
        return await self.service.call("POST", "/v1/sites", body)

    async def add_link(self, **more: Any) -> Response:
        """Add a link."""
        body = {"account_id": (await self.service.account()).id, "url": "https://example.org/", **more}
        return await self.service.call("POST", "/v1/links", body)

    async def sites(self) -> list[Any]:
        """Return the user's sites, newest first."""
        return list((await self.service.call("GET", "/v1/sites?order=newest")).body["sites"])

    async def links(self) -> list[Any]:
        """Return the user's links, newest first."""
        return list((await self.service.call("GET", "/v1/links?order=newest")).body["links"])

    async def active_site(self) -> Any:
        """Add a site for the zone, wait until the site is active, and return it."""
        response = await self.add_site(self.zone)
        assert response.status == 202, response.raw
        await self.wait_until_healthy()
        return (await self.sites())[0]

    async def wait_until_healthy(self) -> None:
        """Wait until all resources are created and synced, and until no object shows an error."""
        await eventually(self._all_well)

    async def wait_until_unrouted(self) -> None:
        """Wait until there are no routes to the Worker, and none is being created."""
        await self.service.idle()

        async def poll() -> bool | None:
            return (await self.resources()).routes == 0 or None

        await eventually(poll)

    # --------------------------------------------------------------------------------------------- Cloudflare

    async def bootstrap(self, *rights: str, **more: Any) -> tuple[str, str]:
        """Create a bootstrap token. Return its id and its value."""
        return await self.emulator.create_token(
            self.customer.account_id, rights=list(rights) or BOOTSTRAP_PERMISSIONS, **more
        )

    async def refuse(self, path: str, method: str = "*", *, status: int = 400, code: int = 1, **more: Any) -> None:
        """Make the emulator refuse matching calls from now on."""
        await self.emulator.fault("refuse", path, method=method, status=status, code=code, **{"times": None, **more})

    async def delete_tokens(self, *names: str) -> None:
        """Delete these tokens as the customer."""
        held = (await self.service.held())["tokens"].values()
        for token_id in [token["id"] for token in held if token["name"] in names]:
            await self.customer_api.call("DELETE", f"{self.customer_api.account}/tokens/{token_id}")

    async def resources(self) -> Resources:
        """Count the service's resources in the emulator."""
        held = await self.service.held()
        scripts = [script for name, script in held["scripts"].items() if name == SCRIPT_NAME]
        routes = [route for zone in held["zones"].values() for route in zone["routes"]]
        return Resources(
            len(scripts),
            sum(len(script["schedules"]) for script in scripts),
            len(held["databases"]),
            len(working_token_names(held)),
            len([route for route in routes if route["script"] == SCRIPT_NAME]),
        )

    # ------------------------------------------------------------------------------------------------ checks

    async def _is_ready(self) -> bool | None:
        account = await self._account()
        return (account is not None and account["state"] == "ready") or None

    async def expect_error(self, response: Response | None = None, *, state: str | None = None) -> Any:
        """Check that the error appears as the row specifies, or with another `state`. Return the error's details."""
        self.errors_expected += 1
        self._state = state or self.row.state
        details: dict[str, Any] = {}
        for where in self.row.shows:
            error = _error_of(response) if where == "response" else await eventually(partial(self._shown, where))
            details = dict(error.get("details") or {})
            if where == "account.error.warnings":
                assert details.keys() == self.row.details & {"revoke_tokens"}, error
                continue
            meaning = CATALOGUE[cast("Code", self.row.code)]
            if response is not None and where == "response":
                assert (response.status, response.code) == (meaning.status, meaning.shown_as or self.row.code), (
                    response.raw
                )
                if meaning.shown_as is not None:
                    assert details.pop("reason") == self.row.code
            if where == "response" and self.row.code in LEAVES_BOOTSTRAP:
                left = details.pop("bootstrap_token")
                assert left["valid"] is True
                assert "delete it" in left["remedy"]
                assert left["page"].startswith("https://dash.")
            assert details.pop("remedy", None) == self._remedy(details)
            assert details.keys() == self.row.details, error
        of_a_host = self.row.shows & {"site.error", "site.warnings", "link.error", "link_host.error"}
        if of_a_host:  # a health check that began before the change may have added the error to the account
            await eventually(self._is_ready)
        else:
            account = await self._account()
            assert (account and account["state"]) == self._state, account
        await self._all_tokens_are_named(details)
        if self.row.resources is not None:
            assert await self.resources() == self.row.resources
        return details

    async def play(self, row: Row) -> None:
        """Run the steps of another row in the account of this case."""
        self.row, self.errors_expected = row, 0
        await row.play(self)
        await self.expect_recovered()

    async def expect_recovered(self) -> None:
        """Check that no errors remain, and that the emulator has exactly the account's resources."""
        assert self.errors_expected >= 2, "a row must expect its error at least twice"
        routes = await eventually(self._all_well)

        async def all_held() -> bool | None:  # the API does not show when an old route has been removed
            return (await self.resources() == INSTALLED._replace(routes=routes)) or None

        await eventually(all_held)
        await self.service.idle()
        account = await self._account()
        assert await self.resources() == INSTALLED._replace(routes=routes)
        assert await self.service.token_names() == [account["token"]["name"]]

    async def _account(self) -> Any:
        """Return the account as the API shows it, or None if the user has no account."""
        stored = await self.service.store.read(accounts.account_by_edge_id(self.customer.account_id))
        if stored is None:
            return None
        response = await self.service.call("GET", f"/v1/accounts/{stored.id}")
        return None if response.status == 404 else response.body["account"]

    async def _shown(self, where: Where) -> Any:
        """Return the error that `where` shows, or None if there is none yet."""
        account = await self._account()
        thing, error = account, account["error"]
        match where:
            case "account.error.warnings":
                found = error if error and self.row.code in error.get("warnings", ()) else None
                return found if account["state"] == self._state else None
            case "operation.error":
                operation = account["operation"]
                error = operation["error"] if operation["state"] == "failed" else None
            case "site.error":
                deleted = (await self.service.call("GET", "/v1/sites?state=deleted")).body["sites"]
                [thing, *_] = await self.sites() + list(deleted)
                error = thing["error"]
            case "site.warnings":
                [thing, *_] = await self.sites()
                error = next((one for one in thing["warnings"] if one["code"] == self.row.code), None)
            case "link.error":
                [thing, *_] = await self.links()
                error = thing["error"]
            case "link_host.error":
                thing = account["link_host"]
                error = thing and thing["error"]
        if error is None or error.get("code") != self.row.code:
            return None
        if (error.get("details") or {}).keys() - {"remedy"} != self.row.details:
            # A health check that was already running when the row caused the error may report only some of the details.
            # The next check reports all of them.
            return None
        return error if where == "operation.error" or thing["state"] == self._state else None

    async def _all_well(self) -> int | None:
        """Return the expected number of routes, or None until all resources are created and synced without errors."""
        account = await self._account()
        if (account["state"], account["error"]) != ("ready", None):
            return None
        hosts = [account["link_host"]] if account["link_host"] else []
        sites = await self.sites()
        things = [*hosts, *sites, *await self.links()]
        healthy = all(one["state"] == "active" and one["config"] == "synced" and not one["error"] for one in things)
        healthy = healthy and not any(site["warnings"] for site in sites)
        if not healthy:
            return None
        return len(hosts) + len(sites) + sum(len(site["retiring"]) for site in sites)

    def _remedy(self, details: Mapping[str, Any]) -> str | None:
        """Return the expected remedy.

        If the account's state is the reason for the refusal, this is the remedy for the account's error.
        """
        code = cast("Code", self.row.code)
        if code != "account_not_ready":
            return CATALOGUE[code].remedy
        if "reason" in details:
            return CATALOGUE[cast("Code", details["reason"])].remedy
        assert self._state == "pending"
        return "Wait until the account is connected. If it stays `pending`, repeat the request POST /v1/accounts."

    async def _all_tokens_are_named(self, details: Mapping[str, Any]) -> None:
        """Check that each working token is either the account's own, or named in an error."""
        account = await self._account()
        if account is None and (self.row.resources is None or self.row.resources.tokens):
            return  # do not check this, because the account belongs to another user
        named = set(details.get("revoke_tokens", ()))
        if account is not None:
            named |= {account["token"]["name"]} if account["token"] else set()
            named |= set(((account["error"] or {}).get("details") or {}).get("revoke_tokens", ()))
        assert set(await self.service.token_names()) <= named


def _error_of(response: Response | None) -> Any:
    assert response is not None
    assert response.code is not None, response.raw
    return response.body["error"]
