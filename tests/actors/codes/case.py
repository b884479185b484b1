"""A row of the table of codes, and the case that it is played in."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from edge_worker.harness.service import eventually
from svc.errors import CATALOGUE
from svc.store import accounts
from svc.worker.bundle import SCRIPT_NAME
from tests.actors.checks.test_health_check import Hand
from tests.actors.conftest import names_of_working_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from svc.errors import Code
    from svc.model import AccountWarning
    from svc.worker.bundle import WorkerBundle
    from tests.actors.conftest import Place, Service
    from tests.http.conftest import Answer

BOOTSTRAP_RIGHTS = ["Account Settings Read", "Account API Tokens Write"]

Where = Literal[
    "answer", "account.error", "account.error.warnings", "operation.error", "site.error", "link.error",
    "link_host.error", "site.warnings",
]  # fmt: skip


class Holds(NamedTuple):
    """What the platform has of ours: scripts, their crons, databases, working tokens, routes to the worker."""

    scripts: int = 1
    crons: int = 1
    databases: int = 1
    tokens: int = 1
    routes: int = 0


NOTHING = Holds(0, 0, 0, 0)
A_TOKEN = Holds(0, 0, 0)
DATABASE_ONLY = Holds(0, 0)
INSTALLED = Holds()


@dataclass(frozen=True, kw_only=True)
class Row:
    """A code and one way to it. While the trouble lasts:

    `shows`: where the code stands. `state`: that of the account, or of the site or link host whose error it is; None:
    there is none that its user sees. `details`: the keys of its details, without `remedy`, `reason` and
    `bootstrap_token`. `holds`: what the platform has; None: that is not the row's matter. `play` brings it about, calls
    `met` before and after a next try without the remedy, and then does what the remedy says. `timing`, `limits`: of the
    service. `shares`: it begins and ends with an installed account without sites and links, so others are played in the
    same account.
    """

    code: Code | AccountWarning
    shows: frozenset[Where]
    play: Callable[[Case], Awaitable[None]]
    name: str
    state: str | None
    details: frozenset[str]
    holds: Holds | None
    timing: Mapping[str, Any]
    limits: Mapping[str, Any]
    shares: bool


ROWS: list[Row] = []
# Refusals of a connect or a renewal whose answer says that the bootstrap token is still valid. `limit_reached` and
# `service_full` say so only if another connect takes the last place while the token is checked; no row does that.
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
    holds: Holds | None = INSTALLED,
    timing: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    shares: bool = False,
) -> Callable[[Callable[[Case], Awaitable[None]]], Callable[[Case], Awaitable[None]]]:
    """Put what is decorated into the table; it may be there several times."""

    def add(play: Callable[[Case], Awaitable[None]]) -> Callable[[Case], Awaitable[None]]:
        ROWS.append(
            Row(
                code=code,
                shows=frozenset(shows),
                play=play,
                name=f"{code}-{getattr(play, '__name__', '')}",
                state=state,
                details=frozenset(details),
                holds=holds,
                timing=timing or {},
                limits=limits or {},
                shares=shares,
            )
        )
        return play

    return add


@dataclass
class Case:
    """A service that may be started again, its user, and the user's own hand on the platform."""

    row: Row
    place: Place
    zone: str
    next_bundle: Callable[[], WorkerBundle]
    met_times: int = 0
    _state: str | None = None
    _is_installed: bool = False
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start(self) -> None:
        """Start the service, or end it and start it again, as `place` is now."""
        await self.stop()
        self.service: Service = await self._running.enter_async_context(self.place.running())
        self.hand = Hand(self.service)
        self.emulator = self.service.emulator
        self.customer = self.service.customer

    async def stop(self) -> None:
        """End the service."""
        await self._running.aclose()

    # -------------------------------------------------------------------------------------------------- the user

    async def post(self, path: str, body: Any = None) -> Answer:
        """A POST to the account."""
        return await self.service.call("POST", f"/v1/accounts/{(await self.service.account()).id}{path}", body)

    async def later(self, days: float) -> None:
        """The service goes on after so many days, with its user signed in again and a worker that reports."""
        self.place.clock.advance_s(days * 86_400)
        await self.start()
        await self.sign_in()
        await self.service.confirmed()

    async def sign_in(self) -> None:
        """A new session of the user's."""
        self.service.session = await self.service.world.session(self.service.user)

    async def connect(self, token: str | None = None) -> Answer:
        """A connect, with a new bootstrap token unless one is given."""
        return await self.service.connect(token or (await self.bootstrap())[1])

    async def connected(self) -> None:
        """A connect that works."""
        answer = await self.connect()
        assert answer.status == 202, answer.raw

    async def renew(self, token: str | None = None) -> Answer:
        """A renewal, with a new bootstrap token unless one is given."""
        return await self.post("/token", {"bootstrap_token": token or (await self.bootstrap())[1]})

    async def renewed(self, token: str | None = None) -> None:
        """A renewal that works."""
        answer = await self.renew(token)
        assert answer.status == 200, answer.raw

    async def installed(self) -> None:
        """Connect and install, unless a row before did; the worker has reported itself, and no operation runs."""
        if not self._is_installed:
            await self.service.ready()
            await self.service.confirmed()
        self._is_installed = True
        await self.service.idle()
        self.service.clock.advance_s(1)  # the operation that follows is the latest

    async def install(self, *states: str) -> None:
        """Install again; the account is in one of these states when it has ended."""
        answer = await self.post("/install")
        assert answer.status == 202, answer.raw
        await self.service.settled(*states)

    async def disconnected(self) -> None:
        """A disconnect that leaves nothing."""
        answer = await self.service.call("DELETE", f"/v1/accounts/{(await self.service.account()).id}")
        assert (answer.status, answer.body["left"]) == (200, []), answer.raw

    async def put_link_host(self, host: str, **confirmed: bool) -> Answer:
        """Set the link host."""
        path = f"/v1/accounts/{(await self.service.account()).id}/link-host"
        return await self.service.call("PUT", path, {"host": host, **confirmed})

    async def add_site(self, host: str, **more: Any) -> Answer:
        """Add a site."""
        body = {"account_id": (await self.service.account()).id, "host": host, **more}
        return await self.service.call("POST", "/v1/sites", body)

    async def add_link(self, **more: Any) -> Answer:
        """Add a link."""
        body = {"account_id": (await self.service.account()).id, "url": "https://example.org/", **more}
        return await self.service.call("POST", "/v1/links", body)

    async def sites(self) -> list[Any]:
        """The user's sites, the newest first."""
        return list((await self.service.call("GET", "/v1/sites?order=newest")).body["sites"])

    async def links(self) -> list[Any]:
        """The user's links, the newest first."""
        return list((await self.service.call("GET", "/v1/links?order=newest")).body["links"])

    async def active_site(self) -> Any:
        """A new site of the zone, once all is well with it."""
        answer = await self.add_site(self.zone)
        assert answer.status == 202, answer.raw
        await self.well()
        return (await self.sites())[0]

    async def well(self) -> None:
        """Wait until all is made and synced, and nothing shows an error."""
        await eventually(self._all_well)

    async def no_routes(self) -> None:
        """Wait until no route leads to the worker, and none is being made."""
        await self.service.idle()

        async def look() -> bool | None:
            return (await self.holds()).routes == 0 or None

        await eventually(look)

    # --------------------------------------------------------------------------------------------- at the platform

    async def bootstrap(self, *rights: str, **more: Any) -> tuple[str, str]:
        """A new bootstrap token: its id and its value."""
        return await self.emulator.create_token(
            self.customer.account_id, rights=list(rights) or BOOTSTRAP_RIGHTS, **more
        )

    async def refuse(self, path: str, method: str = "*", *, status: int = 400, code: int = 1, **more: Any) -> None:
        """Such calls are refused from now on."""
        await self.emulator.fault("refuse", path, method=method, status=status, code=code, **{"times": None, **more})

    async def delete_tokens(self, *names: str) -> None:
        """The customer deletes these tokens."""
        held = (await self.service.held())["tokens"].values()
        for token_id in [token["id"] for token in held if token["name"] in names]:
            await self.hand.call("DELETE", f"{self.hand.account}/tokens/{token_id}")

    async def set_token(self, **changed: Any) -> None:
        """The customer edits the working token."""
        token = (await self.service.held())["tokens"][(await self.service.account()).token_id]
        body = {"name": token["name"], "policies": token["policies"], "status": token["status"], **changed}
        await self.hand.call("PUT", f"{self.hand.account}/tokens/{token['id']}", json=body)

    async def holds(self) -> Holds:
        """What the platform has of ours."""
        held = await self.service.held()
        scripts = [script for name, script in held["scripts"].items() if name == SCRIPT_NAME]
        routes = [route for zone in held["zones"].values() for route in zone["routes"]]
        return Holds(
            len(scripts),
            sum(len(script["schedules"]) for script in scripts),
            len(held["databases"]),
            len(names_of_working_tokens(held)),
            len([route for route in routes if route["script"] == SCRIPT_NAME]),
        )

    # ------------------------------------------------------------------------------------------------ what is shown

    async def _is_ready(self) -> bool | None:
        account = await self._account()
        return (account is not None and account["state"] == "ready") or None

    async def met(self, answer: Answer | None = None, *, state: str | None = None) -> Any:
        """The trouble is there, as the row says (or in another `state`); returns the details of the error."""
        self.met_times += 1
        self._state = state or self.row.state
        details: dict[str, Any] = {}
        for where in self.row.shows:
            error = _error_of(answer) if where == "answer" else await eventually(partial(self._shown, where))
            details = dict(error.get("details") or {})
            if where == "account.error.warnings":
                assert details.keys() == self.row.details & {"revoke_tokens"}, error
                continue
            meaning = CATALOGUE[cast("Code", self.row.code)]
            if answer is not None and where == "answer":
                assert (answer.status, answer.code) == (meaning.status, meaning.shown_as or self.row.code), answer.raw
                if meaning.shown_as is not None:
                    assert details.pop("reason") == self.row.code
            if where == "answer" and self.row.code in LEAVES_BOOTSTRAP:
                left = details.pop("bootstrap_token")
                assert left["valid"] is True
                assert "delete it" in left["remedy"]
                assert left["page"].startswith("https://dash.")
            assert details.pop("remedy", None) == self._remedy(details)
            assert details.keys() == self.row.details, error
        of_a_host = self.row.shows & {"site.error", "site.warnings", "link.error", "link_host.error"}
        if of_a_host:  # a look that began before the platform changed may have taken it for the account's
            await eventually(self._is_ready)
        else:
            account = await self._account()
            assert (account and account["state"]) == self._state, account
        await self._all_tokens_are_named(details)
        if self.row.holds is not None:
            assert await self.holds() == self.row.holds
        return details

    async def next(self, row: Row) -> None:
        """Play another row in the same account."""
        self.row, self.met_times = row, 0
        await row.play(self)
        await self.over()

    async def over(self) -> None:
        """All is well again, and the platform holds what belongs to the account, its sites and its link host."""
        assert self.met_times >= 2, "a row meets its trouble, and meets it again"
        routes = await eventually(self._all_well)

        async def all_held() -> bool | None:  # a route that is nobody's any more is shown nowhere
            return (await self.holds() == INSTALLED._replace(routes=routes)) or None

        await eventually(all_held)
        await self.service.idle()
        account = await self._account()
        assert await self.holds() == INSTALLED._replace(routes=routes)
        assert await self.service.token_names() == [account["token"]["name"]]

    async def _account(self) -> Any:
        """The account as its user sees it; None: there is none of the user's."""
        stored = await self.service.store.read(accounts.account_by_edge_id(self.customer.account_id))
        if stored is None:
            return None
        answer = await self.service.call("GET", f"/v1/accounts/{stored.id}")
        return None if answer.status == 404 else answer.body["account"]

    async def _shown(self, where: Where) -> Any:
        """The error where it is to be shown, once it is there."""
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
            return None  # what a look saw that was under way when the trouble came; the next one sees all of it
        return error if where == "operation.error" or thing["state"] == self._state else None

    async def _all_well(self) -> int | None:
        """How many routes there should be, once nothing shows an error and all is made and synced; None before."""
        account = await self._account()
        if (account["state"], account["error"]) != ("ready", None):
            return None
        hosts = [account["link_host"]] if account["link_host"] else []
        sites = await self.sites()
        things = [*hosts, *sites, *await self.links()]
        well = all(one["state"] == "active" and one["config"] == "synced" and not one["error"] for one in things)
        well = well and not any(site["warnings"] for site in sites)
        if not well:
            return None
        return len(hosts) + len(sites) + sum(len(site["retiring"]) for site in sites)

    def _remedy(self, details: Mapping[str, Any]) -> str | None:
        """The remedy that the error has to carry: of a request that the account's state refuses, the account's own."""
        code = cast("Code", self.row.code)
        if code != "account_not_ready":
            return CATALOGUE[code].remedy
        if "reason" in details:
            return CATALOGUE[cast("Code", details["reason"])].remedy
        assert self._state == "pending"
        return "Wait for the connect to finish. If the account stays `pending`, repeat the connect: POST /v1/accounts."

    async def _all_tokens_are_named(self, details: Mapping[str, Any]) -> None:
        """No working token is alive that is neither the account's own nor named."""
        account = await self._account()
        if account is None and (self.row.holds is None or self.row.holds.tokens):
            return  # another user's
        named = set(details.get("revoke_tokens", ()))
        if account is not None:
            named |= {account["token"]["name"]} if account["token"] else set()
            named |= set(((account["error"] or {}).get("details") or {}).get("revoke_tokens", ()))
        assert set(await self.service.token_names()) <= named


def _error_of(answer: Answer | None) -> Any:
    assert answer is not None
    assert answer.code is not None, answer.raw
    return answer.body["error"]
