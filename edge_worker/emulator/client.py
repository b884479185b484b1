"""A client for the control interface of a running emulator. In this folder, "control" means the control interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DAY_MS = 86_400_000
_TEN_PAST_NOON_MS = (12 * 60 + 10) * 60_000


@dataclass(frozen=True)
class Customer:
    """An account created through the control interface. `bootstrap_token` is the token's value, which `repr` omits."""

    account_id: str
    bootstrap_token: str
    bootstrap_token_id: str
    zones: Mapping[str, str]  # name → id

    def __repr__(self) -> str:
        return f"Customer({self.account_id})"


def proxied_zone(name: str) -> dict[str, Any]:
    """Return a zone for sites and links, with proxied records: websites at the apex and www, and a wildcard without a
    server.
    """
    dummy = {"name": "*", "type": "AAAA", "content": "100::", "proxied": True}
    return {"name": name, "dns": [{"name": "@", "proxied": True}, {"name": "www", "proxied": True}, dummy]}


@dataclass(frozen=True)
class Visit:
    """The response that a visitor received. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True)
class Upload:
    """A deployed script. `texts`: its text bindings, which repr omits because they include secrets."""

    account_id: str
    script: str
    texts: Mapping[str, str] = field(repr=False)


class Emulator:
    """A running emulator. Each method raises httpx.HTTPStatusError if the control interface rejects the call."""

    def __init__(self, ready: Mapping[str, str], client: httpx.AsyncClient, pid: int) -> None:
        self.api, self.edge, self.control = ready["api"], ready["edge"], ready["control"]
        self.pid = pid
        self._client = client
        self._begin_s = 0.0  # the offset with which the emulated clock starts, in seconds from real time

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a call to the control API and return the JSON of its response."""
        response = await self._client.request(method, self.control + path, json=body)
        if response.is_error:
            raise httpx.HTTPStatusError(response.text, request=response.request, response=response)
        return response.json()

    async def create_account(
        self,
        zones: Sequence[str | Mapping[str, Any]] = (),
        *,
        plan: str = "free",
        limits: Mapping[str, int | None] | None = None,
        subdomain: str | None = None,
    ) -> Customer:
        """Create an account with zones (names, or {name, type?, status?, paused?, dns?}) and a one-day bootstrap token.

        `subdomain`: its workers.dev subdomain. Without a subdomain, scripts cannot be uploaded.
        """
        wanted = [{"name": zone} if isinstance(zone, str) else dict(zone) for zone in zones]
        body = {"zones": wanted, "plan": plan, "limits": dict(limits or {}), "subdomain": subdomain}
        return Customer(**await self.call("POST", "/accounts", body))

    async def create_token(self, account_id: str, **wanted: Any) -> tuple[str, str]:
        """Create another token and return (id, value).

        `rights`: names of permission groups, `zones`: names (default: all), `name`, `expires_in_s` (default one day;
        None: never), `condition`, `delay_ms`.
        """
        response = await self.call("POST", f"/accounts/{account_id}/tokens", wanted)
        return response["token_id"], response["bootstrap_token"]

    async def set_zone(self, account_id: str, name: str, **wanted: Any) -> str:
        """Create or change a zone (`type`, `status`, `paused`, `dns`, `front_rules`) and return its id."""
        response = await self.call("POST", f"/accounts/{account_id}/zones", {"name": name, **wanted})
        return str(response["zone_id"])

    async def reset(self, **settings: float | str) -> None:
        """Delete all accounts, faults and logs, and set the real time and these failure settings.

        `settings`: see control.FailureSettingsCall.
        """
        await self.call("POST", "/reset", settings)

    async def delete_zone(self, account_id: str, name: str) -> None:
        """Remove a zone."""
        await self.call("DELETE", f"/accounts/{account_id}/zones/{name}")

    async def set_limits(self, account_id: str, **limits: int | None) -> None:
        """Change individual limits of the account (names of state.Limits)."""
        await self.call("POST", f"/accounts/{account_id}/limits", limits)

    async def cron(
        self, account_id: str, script: str, *, at: int | None = None, cron: str | None = None, waits: bool = False
    ) -> dict[str, Any]:
        """Fire a cron and return {outcome, error, d1_queries, waited_ms, cron, at} after its waitUntil work has ended.

        Unless `waits` is True, scheduler.wait returns immediately in the script, and its time is added to `waited_ms`.
        """
        body = {"account_id": account_id, "script": script, "at": at, "cron": cron, "waits": waits}
        response: dict[str, Any] = await self.call("POST", "/cron", body)
        return response

    async def crons(self, fired: Sequence[tuple[str, int]], script: str) -> list[dict[str, Any]]:
        """Fire the first cron of the script with this name in several accounts concurrently.

        `fired`: (account id, epoch ms) pairs.

        Returns their outcomes, in the format of `cron`, after all of them have ended.
        """
        crons = [{"account_id": account_id, "script": script, "at": at} for account_id, at in fired]
        return list(await self.call("POST", "/crons", {"crons": crons}))

    async def minute(self) -> list[dict[str, Any]]:
        """Run all crons due in the platform's current minute and return their outcomes, in the format of `cron`."""
        return list(await self.call("POST", "/minute", {}))

    async def begin_at_noon(self) -> None:
        """Set the clock to 12:10, so that no hour or day ends during a test."""
        real = await self.clock(0)
        self._begin_s = (_TEN_PAST_NOON_MS - real % _DAY_MS) / 1000
        await self.clock(0)

    async def clock(self, offset_s: float) -> int:
        """Move the platform's clock and return its time (epoch ms).

        The offset is relative to real time or, after a call to `begin_at_noon`, to 12:10.
        """
        return int((await self.call("POST", "/clock", {"offset_s": self._begin_s + offset_s}))["now"])

    async def fault(self, kind: str, path: str = "*", **more: Any) -> None:
        """Make the next matching calls fail; `more`: method, after, times, status, code … (see faults.Fault)."""
        await self.call("POST", "/faults", {"kind": kind, "path": path, **more})

    async def faults(self) -> list[dict[str, Any]]:
        """List the faults that have not been used up."""
        return list(await self.call("GET", "/faults"))

    async def clear_faults(self) -> None:
        """Delete all faults and release the calls that are held."""
        await self.call("DELETE", "/faults")

    async def faulted(self, calls: int = 1) -> None:
        """Wait until faults have affected this number of API calls. Raises httpx.HTTPStatusError on a timeout."""
        await self.call("POST", "/faulted", {"calls": calls})

    async def requests(self) -> list[dict[str, Any]]:
        """Return the API's log: method, path, query, status, token_id, fault, at."""
        return list((await self.call("GET", "/requests"))["requests"])

    async def egress(self) -> list[dict[str, Any]]:
        """Return the Workers' own fetches: account, script, method, target, fault, at."""
        return list((await self.call("GET", "/requests"))["egress"])

    async def forget_requests(self) -> None:
        """Delete all entries of `requests` and `egress`."""
        await self.call("DELETE", "/requests")

    async def state(self) -> dict[str, Any]:
        """Return the platform's whole state (see control.state)."""
        state: dict[str, Any] = await self.call("GET", "/state")
        return state

    async def account(self, account_id: str) -> dict[str, Any]:
        """Return the state of one account, in the format of `state`. Usage and storage sizes are not updated."""
        held: dict[str, Any] = await self.call("GET", f"/accounts/{account_id}")
        return held

    async def set_usage(self, account_id: str, day: int | str | None = None, **usage: Any) -> None:
        """Set the account's usage of a day: `requests`, `rows_read`, `rows_written`, `pages_requests`, `size`.

        `web_views`: page views and visits in Web Analytics, by host. `sample_interval`: 10 means that analytics contain
        only one in ten events of the day.
        """
        await self.call("POST", "/usage", {"account_id": account_id, "day": day, **usage})

    async def visit(
        self,
        host: str,
        path: str = "/",
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
        cf: Mapping[str, Any] | None = None,
        ip: str | None = None,
    ) -> Visit:
        """Send one request through the edge; redirects are not followed."""
        wanted: dict[str, Any] = {"host": host, "path": path, "method": method, "headers": dict(headers or {})}
        wanted |= {"body": body, "cf": None if cf is None else dict(cf), "ip": ip}
        return Visit(**await self.call("POST", "/visit", wanted))

    async def add_page(self, host: str, path: str, body: str, **more: Any) -> None:
        """Add a page to the customer's origin server (`content_type`, `status`)."""
        await self.call("POST", "/pages", {"host": host, "path": path, "body": body, **more})

    async def uploads(self, after: int = 0) -> list[Upload]:
        """Return all uploads except the first `after`, in order."""
        found = await self.call("POST", "/uploads", {"after": after})
        return [
            Upload(one["account_id"], one["script"], {b["name"]: b["text"] for b in one["bindings"] if "text" in b})
            for one in found
        ]

    async def new_isolates(self, place: str | None = None) -> None:
        """Start new isolates of all scripts, without state. `place` ("FRA"): in another data center."""
        await self.call("POST", "/isolates", {"place": place})

    async def settled(self) -> None:
        """Wait until no Worker invocation is running, including waitUntil work."""
        await self.call("POST", "/settled", {})

    async def set_failure_settings(self, **settings: float | str) -> None:
        """Change the failure settings: see control.FailureSettingsCall."""
        await self.call("POST", "/failure-settings", settings)
