"""Access to the service and the platform of a place without a browser."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import httpx
import trio

from edge_worker.emulator.client import Emulator
from edge_worker.harness.service import Service, eventually, is_live
from edge_worker.harness.visitors import DESKTOP_CHROME
from edge_worker.local_http import NO_CERTIFICATES, local_client
from svc.clock import DAY_MS
from tests.web.places import EMAIL, HOUR_MS, PASSWORD, crons_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place


LINK_OWNER = "links@example.com"


def sign_up(place: Place, email: str) -> None:
    """Create another user with the password PASSWORD."""

    async def made() -> None:
        async with local_client(timeout=60) as client:
            await Service(place.url, cast("Any", None), place.folder, client).sign_up(email, PASSWORD)

    trio.run(made)


class World:
    """Access to the service and the platform without a browser."""

    def __init__(self, place: Place, email: str = EMAIL) -> None:
        self.place = place
        with httpx.Client(trust_env=False, verify=NO_CERTIFICATES) as client:
            response = client.post(f"{place.url}/auth/sign-in", json={"email": email, "password": PASSWORD})
        self.headers = {"Authorization": f"Bearer {response.json()['access_token']}"}

    def platform(self, does: Callable[[Emulator], Awaitable[Any]]) -> Any:
        """Run an action with the client for the platform's control API, and return the result."""

        async def ask() -> Any:
            ready = {"api": "", "edge": "", "control": self.place.control}
            async with local_client(timeout=30) as client:
                return await does(Emulator(ready, client, 0))

        return trio.run(ask)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the service and return the JSON of its response."""
        response = self._request(method, path, body)
        assert response.is_success, response.text
        return response.json()

    def _request(self, method: str, path: str, body: object = None) -> httpx.Response:
        url = self.place.url + path
        return httpx.request(method, url, json=body, headers=self.headers, timeout=30, trust_env=False)

    def account(self, customer: Customer) -> dict[str, Any] | None:
        """Return the customer's account as the service lists it, or None if it is not connected."""
        listed = self.call("GET", "/v1/accounts")["accounts"]
        return next((each for each in listed if each["edge_account_id"] == customer.account_id), None)

    def connected(self, customer: Customer) -> str:
        """Connect an account through the API, and return its id."""
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        return str(self.call("POST", "/v1/accounts", body)["account"]["id"])

    def disconnect(self, customer: Customer) -> None:
        """Clear the faults of the platform, and disconnect the account if it is connected."""

        async def disconnected(platform: Emulator) -> None:
            await platform.clear_faults()
            await eventually(is_disconnected)

        async def is_disconnected() -> bool | None:
            account = self.account(customer)
            if account is None:
                return True
            response = self._request("DELETE", f"/v1/accounts/{account['id']}")
            is_busy = response.status_code == 409  # an operation of the account has not ended yet
            assert response.is_success or is_busy, response.text
            return None if is_busy else True

        self.platform(disconnected)

    def with_link_host(self, customer: Customer, host: str) -> str:
        """Connect an account, wait until its Worker is installed, and set its link host. Return the account's id."""
        account_id = self.connected(customer)

        async def ready() -> bool | None:
            return self.call("GET", f"/v1/accounts/{account_id}")["account"]["state"] == "ready" or None

        self.platform(lambda _: eventually(ready))
        self.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": host})
        return account_id

    def seen(self, customer: Customer, site: dict[str, Any], *sent: str) -> None:
        """Send views of the site, dated two hours ago, and let the Worker push them.

        `sent`: the bodies that the snippet sends. Raises AssertionError if the Worker does not push all views.
        """

        async def view(platform: Emulator) -> None:
            headers = {"User-Agent": DESKTOP_CHROME.user_agent, "Content-Type": "text/plain"}
            for body in sent:
                response = await platform.visit(site["host"], site["path"], method="POST", headers=headers, body=body)
                assert response.status == 204, response

        def is_pushed() -> bool:
            report = self.call("GET", f"/v1/sites/{site['id']}/report?period=30d")["report"]
            return bool(report["totals"]["views"] == len(sent))

        two_hours_ago = time.time_ns() // 1_000_000 - 2 * HOUR_MS
        self._visited(customer, f"/v1/sites/{site['id']}", view, is_pushed, two_hours_ago)

    def clicked(self, customer: Customer, link: dict[str, Any], count: int) -> list[str]:
        """Click on the link from `count` addresses, dated up to two hours ago, and let the Worker count the clicks.

        Return the target of each click, or "" for a response that is not a redirect. Raises AssertionError if the
        Worker does not count all clicks.
        """
        targets = []

        async def click(platform: Emulator) -> None:
            headers = {"User-Agent": DESKTOP_CHROME.user_agent}
            host, path = link["short_url"].removeprefix("https://").split("/")
            for number in range(count):
                response = await platform.visit(host, f"/{path}", headers=headers, ip=f"203.0.113.{number}")
                targets.append(dict(response.headers).get("location", ""))

        def is_counted() -> bool:
            report = self.call("GET", f"/v1/links/{link['id']}/report?period=30d&breakdowns=1")["report"]
            outside = (report["breakdowns"] or {}).get("outside", [])
            return bool(report["totals"]["views"] + sum(one["n"] for one in outside) == count)

        # Click on the day on which the link was created, because for earlier days, reports show no clicks outside the
        # link's period.
        now = time.time_ns() // 1_000_000
        visited_at = max(now - 2 * HOUR_MS, now // DAY_MS * DAY_MS)
        self._visited(customer, f"/v1/links/{link['id']}", click, is_counted, visited_at)
        return targets

    async def synced(self, path: str) -> None:
        """Wait until visitors reach the current version of a site or link. `path`: its path in the API."""

        async def poll() -> bool | None:
            [target] = self.call("GET", path).values()
            host = None
            if path.startswith("/v1/links"):
                host = self.call("GET", f"/v1/accounts/{target['account_id']}")["account"]["link_host"]
            return is_live(target, host) or None

        await eventually(poll)

    def _visited(
        self,
        customer: Customer,
        path: str,
        visit: Callable[[Emulator], Awaitable[None]],
        is_counted: Callable[[], bool],
        visited_at: int,
    ) -> None:
        """Visit a site or link in the hour of `visited_at`, and run crons until the service has the counts.

        `visited_at`: Unix time in milliseconds.
        """
        now = time.time_ns() // 1_000_000
        hour_at = visited_at // HOUR_MS * HOUR_MS

        async def visited(platform: Emulator) -> None:
            await self.synced(path)
            await platform.clock((hour_at + 20 * 60_000 - now) / 1000)
            await visit(platform)
            await platform.settled()
            await platform.clock(0)
            # If the Worker has already pushed in this hour, its next push is due within an hour.
            for hour in (1, 2, 3):
                await platform.crons(crons_of(customer.account_id, hour_at + hour * HOUR_MS), "svc-edge")
                if is_counted():
                    return
            raise AssertionError("the worker has not pushed the counts")

        self.platform(visited)


@dataclass(frozen=True)
class LinkHost:
    """The link host of the user LINK_OWNER, who has no other objects."""

    place: Place
    host: str
    account_id: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the service as this user, and return the JSON of its response."""
        return World(self.place, LINK_OWNER).call(method, path, body)

    def create(self, code: str, **fields: Any) -> dict[str, Any]:
        """Create a link. `fields`: as in the API; by default, each link gets a different target."""
        body = {"account_id": self.account_id, "url": f"https://shop.example/{code}", "code": code, **fields}
        link: dict[str, Any] = self.call("POST", "/v1/links", body)["link"]
        return link

    def find(self, code: str) -> dict[str, Any]:
        """Return the active link with this code."""
        links = self.call("GET", f"/v1/links?q={code}")["links"]
        [link] = [each for each in links if each["code"] == code]
        return dict(link)
