"""What was changed and what is told of it are kept together, whenever the service is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.journeys.conftest import free_port
from tests.journeys.mortal import open_life

if TYPE_CHECKING:
    from pathlib import Path

    from tests.journeys.mortal import Life

pytestmark = pytest.mark.timeout(300)


@pytest.mark.rule("X12", "G3")
async def test_a_kill_leaves_a_change_and_its_event_or_neither_and_a_repeat_makes_it_one(tmp_path: Path) -> None:
    settings = {"SVC_HTTP_BIND": free_port(), "SVC_STORE_URL": f"sqlite:///{tmp_path / 'svc.db'}"}
    async with open_life(tmp_path / "svc", settings) as life:
        await life.sign_up("a@example.com", "a long password")
        headers = life.headers
        before = len(await trail(life))
    expected: list[tuple[str, str | None]] = []
    moment = killed = 0
    while killed == moment:
        moment += 1
        writes = Writes(headers, name=str(moment), notify=moment % 2 == 0)
        async with open_life(tmp_path / "svc", settings, kill_at=moment) as life:
            life.headers = headers
            life.arm()
            try:
                await writes.go_on(life)
            except httpx.TransportError:
                await life.over()
                killed += 1
        async with open_life(tmp_path / "svc", settings) as life:
            life.headers = headers
            await writes.go_on(life)
            expected += [("user.change", None), ("key.issue", writes.key_id), ("key.revoke", writes.key_id)]
            assert (await trail(life))[before:] == expected
    assert killed >= 3  # after each of the three commits, at the least


async def trail(life: Life) -> list[tuple[str, str | None]]:
    found = (await life.call("GET", "/v1/events?order=oldest&limit=1000"))["events"]
    return [(event["action"], event["target"]) for event in found]


class Writes:
    """Three changes, of which those that were not answered are asked for again."""

    def __init__(self, headers: dict[str, str], name: str, *, notify: bool) -> None:
        self._headers = headers
        self._name = name
        self._notify = notify
        self._answered = 0
        self.key_id = ""

    async def go_on(self, life: Life) -> None:
        """Ask for what has no answer yet. Raises httpx.TransportError."""
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
            answer = await life.client.request(method, f"{life.url}{path}", json=body, headers=headers)
            shown: dict[str, Any] = answer.json()
            if method == "POST" and answer.status_code == 409:  # issued, but the value went with the process
                assert shown["error"]["code"] == "key_already_issued"
                [shown] = (await life.call("GET", "/v1/keys"))["keys"]
            else:
                assert answer.is_success, answer.text
            if method == "POST":
                self.key_id = shown["id"]
            self._answered += 1
