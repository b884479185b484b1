"""Restart the service under load while another process holds its listening socket, as systemd does."""

from __future__ import annotations

import itertools
import secrets
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio
from pydantic import SecretStr

from edge_worker.harness.sampling import EVERYTHING
from edge_worker.local_http import local_client
from svc.clock import DAY_MS, HOUR_MS, day_text, system_clock
from svc.config import StoreConfig
from svc.ids import digest, new_id
from svc.model import Key
from svc.security.api_key import new_api_key
from svc.store import keys, link_hosts, open_store, totals, users, worker_keys
from svc.store.tx import sql
from tests.held_socket import open_holder
from tests.store.makers import a_link, an_account

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from svc.store.tx import Store, Tx

_CLIENTS = 4  # the number of clients of each kind
_RESTARTS = 5 if EVERYTHING else 2
# The number of responses that each client gets between two restarts.
_ANSWERS = 10
# The number of requests, out of several thousand, that may get no response.
_MAX_UNANSWERED = 3
_DAY = system_clock() // DAY_MS - 3


@dataclass
class Worker:
    """A client that pushes a day's total, which increases by one with each push."""

    key: str
    link_id: str
    sent: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    acknowledged: int = 0

    def request(self, client: httpx.AsyncClient) -> httpx.Request:
        number = next(self.sent)
        rows = [[self.link_id, number, 0, 1]]
        part = {"id": number, "day": day_text(_DAY), "as_of": _DAY * DAY_MS + HOUR_MS, "final": False}
        part |= {"hours": [], "refused_hours": [], "days": rows}
        head = {"v": 1, "install": "op_1", "bundle": "b", "schema": 1, "sent_at": system_clock(), "queue": 1}
        body = {**head, "error": None, "dropped": {}, "parts": [part]}
        return client.build_request("POST", "/edge/push", json=body, headers={"Authorization": f"Bearer {self.key}"})

    def answered(self, body: dict[str, Any]) -> None:
        [self.acknowledged] = body["accepted"]


@dataclass
class Writer:
    """A client that creates one link after another."""

    key: str
    account_id: str
    made: list[str] = field(default_factory=list)

    def request(self, client: httpx.AsyncClient) -> httpx.Request:
        headers = {"Authorization": f"Bearer {self.key}", "Idempotency-Key": secrets.token_hex(8)}
        body = {"account_id": self.account_id, "url": "https://a.example"}
        return client.build_request("POST", "/v1/links", json=body, headers=headers)

    def answered(self, body: dict[str, Any]) -> None:
        self.made.append(body["link"]["id"])


@dataclass
class Load:
    """The clients, each with a persistent connection, and the results of their requests."""

    responses: dict[int, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    changed: trio.Condition = field(default_factory=trio.Condition)

    async def run(self, url: str, asks: Sequence[Worker | Writer]) -> None:
        """Send the requests of all clients until cancelled."""
        async with trio.open_nursery() as nursery:
            for number, one in enumerate(asks):
                nursery.start_soon(self._client, url, number, one)

    async def _client(self, url: str, number: int, asks: Worker | Writer) -> None:
        async with local_client(base_url=url, timeout=60) as client:
            while True:
                request = asks.request(client)
                try:
                    response = await client.send(request)
                except httpx.ConnectError as error:
                    self.refused.append(repr(error))
                except httpx.TransportError as error:
                    self.unanswered.append(repr(error))
                else:
                    assert response.is_success, response.text
                    asks.answered(response.json())
                    async with self.changed:
                        self.responses[number] = self.responses.get(number, 0) + 1
                        self.changed.notify_all()

    async def more(self, clients: int) -> None:
        """Wait until each client has received `_ANSWERS` more responses."""
        wanted = {number: self.responses.get(number, 0) + _ANSWERS for number in range(clients)}
        with trio.fail_after(90):
            async with self.changed:
                while any(self.responses.get(number, 0) < least for number, least in wanted.items()):
                    await self.changed.wait()


async def _clients(store: Store) -> list[Worker | Writer]:
    def at_work(account_id: str) -> Tx[None]:
        yield sql("update accounts set state = 'ready', heard_at = $2 where id = $1", account_id, system_clock())
        yield sql("update link_hosts set state = 'active' where account_id = $1", account_id)

    found: list[Worker | Writer] = []
    for number in range(_CLIENTS):
        user = await store.run(users.add_user(f"p{number}@example.com", "hash", 1, confirmed=True))
        assert user is not None
        account_id = await store.run(an_account(user.id))
        await store.run(link_hosts.put_link_host(account_id, f"go{number}.example", "zone"))
        await store.run(at_work(account_id))
        worker_key, value = secrets.token_hex(16), new_api_key()
        await store.run(worker_keys.add_worker_key(account_id, digest(worker_key), "op_1"))
        key = Key(new_id("key"), user.id, None, value[:12], ("links",), None, None, 1, None)
        await store.run(keys.add_key(key, digest(value), 10))
        found += [Worker(worker_key, await store.run(a_link(account_id))), Writer(value, account_id)]
    return found


@pytest.mark.rule("W3", "G3")
async def test_restart_under_load_rejects_no_request_and_loses_no_acknowledged_data(tmp_path: Path) -> None:
    """Restart the service several times, and then kill it. Only the kill may leave requests without a response."""
    folder = tmp_path / "svc"
    folder.mkdir()
    config = StoreConfig(url=SecretStr(f"sqlite:///{folder / 'svc.db'}"))
    async with open_store(config) as store:
        clients = await _clients(store)
    settings = {
        "SVC_EDGE_API_BASE_URL": "http://127.0.0.1:1",
        "SVC_LIMITS_REQUESTS_PER_MINUTE": "1000000",
        "SVC_LIMITS_LINKS": "1000000",
    }
    load = Load()
    async with open_holder(folder, settings) as holder, trio.open_nursery() as nursery:
        await holder.start()
        nursery.start_soon(load.run, holder.url, clients)
        for _ in range(_RESTARTS):
            await load.more(len(clients))
            await holder.stop()
            await holder.start()
        await load.more(len(clients))
        assert load.refused == []
        assert len(load.unanswered) <= _MAX_UNANSWERED, load.unanswered
        load.unanswered.clear()
        await holder.stop(signal.SIGKILL)
        await holder.start()
        await load.more(len(clients))
        nursery.cancel_scope.cancel()
    assert load.refused == []
    assert len(load.unanswered) <= len(clients), load.unanswered
    async with open_store(config) as store:
        for one in clients:
            if isinstance(one, Worker):
                [(counts, _, _)] = (await store.read(totals.day_counts(one.link_id, _DAY, _DAY))).values()
                assert counts.views >= one.acknowledged > _ANSWERS
            else:
                assert len(one.made) > _ANSWERS
                assert set(one.made) <= await store.read(_links_of(one.account_id))


def _links_of(account_id: str) -> Tx[set[str]]:
    return {row["id"] for row in (yield sql("select id from links where account_id = $1", account_id))}
