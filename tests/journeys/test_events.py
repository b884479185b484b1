"""A change and its event are stored together, even if the service is killed at an arbitrary moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.journeys.conftest import free_port
from tests.journeys.mortal import open_mortal_service

if TYPE_CHECKING:
    from pathlib import Path

    from tests.journeys.mortal import MortalService

pytestmark = pytest.mark.timeout(300)


@pytest.mark.rule("X12", "G3")
async def test_kill_leaves_a_change_and_its_event_or_neither_and_a_retry_completes_it(tmp_path: Path) -> None:
    settings = {"SVC_HTTP_BIND": free_port(), "SVC_STORE_URL": f"sqlite:///{tmp_path / 'svc.db'}"}
    async with open_mortal_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        headers = service.headers
        before = len(await events(service))
    expected: list[tuple[str, str | None]] = []
    moment = killed = 0
    while killed == moment:
        moment += 1
        writes = Writes(headers, name=str(moment), notify=moment % 2 == 0)
        async with open_mortal_service(tmp_path / "svc", settings, kill_at=moment) as service:
            service.headers = headers
            service.arm()
            try:
                await writes.send(service)
            except httpx.TransportError:
                await service.ended()
                killed += 1
        async with open_mortal_service(tmp_path / "svc", settings) as service:
            service.headers = headers
            await writes.send(service)
            expected += [("user.change", None), ("key.issue", writes.key_id), ("key.revoke", writes.key_id)]
            assert (await events(service))[before:] == expected
    assert killed >= 3  # the service is killed at least after each of the three commits


async def events(service: MortalService) -> list[tuple[str, str | None]]:
    found = (await service.call("GET", "/v1/events?order=oldest&limit=1000"))["events"]
    return [(event["action"], event["target"]) for event in found]


class Writes:
    """Three changes, each of which is retried until it gets a response."""

    def __init__(self, headers: dict[str, str], name: str, *, notify: bool) -> None:
        self._headers = headers
        self._name = name
        self._notify = notify
        self._answered = 0
        self.key_id = ""

    async def send(self, service: MortalService) -> None:
        """Send the request for each change that has no response yet.

        Raises httpx.TransportError if the service is killed.
        """
        steps = (
            lambda: ("PATCH", "/v1/me", {"notify": self._notify}),
            lambda: ("POST", "/v1/keys", {"scopes": ["links"]}),
            lambda: ("DELETE", f"/v1/keys/{self.key_id}", None),
        )
        for number, step in enumerate(steps):
            if number < self._answered:
                continue
            method, path, body = step()
            headers = {**self._headers, "Idempotency-Key": f"{self._name} {number}"}
            response = await service.client.request(method, f"{service.url}{path}", json=body, headers=headers)
            shown: dict[str, Any] = response.json()
            # the key was created, but its value was lost when the service was killed
            if method == "POST" and response.status_code == 409:
                assert shown["error"]["code"] == "key_already_issued"
                [shown] = (await service.call("GET", "/v1/keys"))["keys"]
            else:
                assert response.is_success, response.text
            if method == "POST":
                self.key_id = shown["id"]
            self._answered += 1
