"""Kill the service while it changes or deletes many links: all or none of them change, in the store and the Worker."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from edge_worker.harness.visitors import DESKTOP_CHROME
from tests.journeys.conftest import ZONE, begin_yesterday, connect, free_port, settings_of
from tests.journeys.mortal import MortalService, open_mortal_service

if TYPE_CHECKING:
    from pathlib import Path

    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Service
    from svc.config import StoreConfig

PATH = "/v1/links/bulk"
LINKS = 200
# The transaction of a change has at least this many statements.
STATEMENTS = 8
# A change has about this many moments (as counted by `mortal`). They include its commit, and the statements and calls
# of the sync that follows.
MOMENTS = 25
# Isolates use the new configuration after this time.
LIMIT_S = 61

pytestmark = pytest.mark.timeout(1_200)


class Links:
    """The links of the account, and the clicks on some of them."""

    def __init__(self, emulator: Emulator, account_id: str, offset_s: float) -> None:
        self.emulator, self.account_id, self._offset_s = emulator, account_id, offset_s

    async def add(self, service: Service, url: str) -> None:
        rows = [{"code": f"code{n}", "url": url} for n in range(LINKS)]
        added = await service.call("POST", PATH, {"account_id": self.account_id, "links": rows})
        assert all("link" in each for each in added["results"])

    async def urls(self, service: Service) -> set[str]:
        """Return the URLs of the active links. Check that either all links are active or none."""
        found = (await service.call("GET", "/v1/links"))["links"]
        assert len(found) in (0, LINKS)
        return {link["url"] for link in found}

    async def check_worker(self, service: Service, location: str | None) -> None:
        """Wait until the Worker has the configuration, and check the redirects. `location`: None for no redirect."""

        async def poll() -> bool | None:
            newest = [
                (await service.call("GET", f"/v1/links?order=newest&limit={LINKS}&state={state}"))["links"]
                for state in ("active", "deleted")
            ]
            return all(link["config"] == "synced" for links in newest for link in links) or None

        await eventually(poll)
        self._offset_s += LIMIT_S
        await self.emulator.clock(self._offset_s)
        agent = {"User-Agent": DESKTOP_CHROME.user_agent}
        for number in (0, LINKS // 2, LINKS - 1):
            visit = await self.emulator.visit(f"go.{ZONE}", f"/code{number}", headers=agent)
            assert visit.headers.get("location") == location
            assert visit.status == (404 if location is None else 302)


@pytest.mark.rule("L3", "A5", "A6")
async def test_kill_during_a_bulk_change_changes_all_links_or_none(
    emulator: Emulator, customer: Customer, store_config: StoreConfig, tmp_path: Path
) -> None:
    settings = {
        **settings_of(emulator, store_config),
        "SVC_HTTP_BIND": free_port(),
        "SVC_TIMING_SYNC_RETRY_S": "0.2",
        "SVC_TIMING_ROUTE_RETRY_S": "0.2",
    }
    real, noon = await begin_yesterday(emulator)
    url = "https://example.com/0"
    async with open_mortal_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        headers = service.headers
        links = Links(emulator, await connect(service, customer), (noon - real) / 1000 + 600)
        await links.add(service, url)
        await links.check_worker(service, url)

    chance = random.Random(SEED)  # reproducible, not a secret
    some = [chance.randint(1, STATEMENTS), chance.randint(STATEMENTS + 1, MOMENTS)]
    drawn = range(1, MOMENTS + 1) if EVERYTHING else some
    killed = 0
    for method in ("PATCH", "DELETE"):
        for moment in drawn:
            wanted = f"https://example.com/{method}-{moment}" if method == "PATCH" else None
            body: dict[str, Any] = {"filter": {}}
            if method == "PATCH":
                body |= {"set": {"url": wanted}, "add_tags": [f"tag{moment}"], "remove_tags": [f"tag{moment - 1}"]}
            key = f"{method}-{moment}"
            print(f"{method}, moment {moment}")
            async with open_mortal_service(tmp_path / "svc", settings, moment, in_transactions=True) as service:
                service.headers = headers
                service.arm()
                killed += await _is_killed(service, links, method, body, key)
            async with open_mortal_service(tmp_path / "svc", settings) as service:
                service.headers = headers
                after = await links.urls(service)
                assert after in ({url}, {wanted} - {None}), (method, moment)
                # The client repeats the request, which has an effect only once.
                result = await service.call(method, PATH, body, key=key)
                assert result["changed"] in (0, LINKS)
                assert await links.urls(service) == {wanted} - {None}
                await links.check_worker(service, wanted)
                if wanted is None:
                    await links.add(service, url)
                    await links.check_worker(service, url)
                else:
                    url = wanted
    assert killed > 0


async def _is_killed(service: MortalService, links: Links, method: str, body: dict[str, Any], key: str) -> bool:
    """Send the request, and wait for the sync. Return True if the service was killed before the sync ended."""
    try:
        await service.call(method, PATH, body, key=key)
        await links.check_worker(service, body["set"]["url"] if method == "PATCH" else None)
    except httpx.TransportError:
        await service.ended()
        return True
    return False
