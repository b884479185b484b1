"""Tests of a waiting standby. tests/journeys/test_standby.py tests the takeover."""

from __future__ import annotations

import socket
import subprocess
from functools import partial
from typing import TYPE_CHECKING

import pytest

from svc.config import Config, VaultConfig
from svc.process.standby import stand_by
from svc.process.systemd import Systemd
from svc.security.vault import open_vault
from svc.store import open_store
from svc.store.engines.sqlite.place import lock
from tests.command_runs import svc_async
from tests.databases import sqlite_config
from tests.held_socket import open_holder
from tests.journeys.conftest import free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.rule("X18")

WAITS = "standby: another svc serve uses the store"


async def health(folder: Path, address: str) -> subprocess.CompletedProcess[str]:
    return await svc_async(folder, "health", SVC_HTTP_BIND=address)


async def test_waiting_standby_does_not_listen_and_reports_to_systemd_and_health(tmp_path):
    address = free_port()
    host, _, port = address.partition(":")
    folder = tmp_path / "svc"
    open_vault(VaultConfig(key_file=folder / "vault.key"), {})
    check_health = partial(health, tmp_path, address)
    async with open_holder(
        folder, {"SVC_HTTP_BIND": address}, sockets=0, watchdog_s=0.2, arguments=("--standby",)
    ) as holder:
        with lock(folder / "svc.db"):
            assert (await check_health()).returncode == 1
            await holder.start()
            await holder.hears("WATCHDOG=1")
            assert f"STATUS={WAITS}" in holder.told
            assert "STATUS=serving" not in holder.told
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, int(port)))
            response = await check_health()
            assert (response.returncode, response.stdout, response.stderr) == (0, f"{WAITS}\n", "")
            # A second service without --standby is still rejected.
            refused = await svc_async(tmp_path, "serve", SVC_STORE_URL=f"sqlite:///{folder / 'svc.db'}")
            assert refused.returncode == 1
            assert "Another svc serve uses the store" in refused.stderr
        await holder.hears("STATUS=serving")
        assert "STATUS=standby: taking over the store" in holder.told
        assert (await check_health()).stdout == f"http://{address} is healthy\n"
        await holder.stop()
        assert "STOPPING=1" in holder.told
    assert holder.announced == [f"http://{address}"]


async def test_standby_without_key_file_fails_at_start(tmp_path):
    """Without the key file, a standby could not decrypt tokens after taking over."""
    with lock(tmp_path / "svc.db"):
        response = await svc_async(tmp_path, "serve", "--standby", SVC_STORE_URL=f"sqlite:///{tmp_path / 'svc.db'}")
    assert response.returncode == 1
    assert response.stderr.endswith(
        "The key file var/vault.key does not exist. A standby needs the key file of the active service.\n"
    )
    assert "Traceback" not in response.stderr


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/svc", "sqlite:////proc/none/svc.db"])
async def test_unavailable_store_at_start_fails(tmp_path, url):
    response = await svc_async(tmp_path, "serve", "--standby", SVC_STORE_URL=url)
    assert response.returncode == 1
    assert "cannot be opened" in response.stderr
    assert "Traceback" not in response.stderr


async def test_standby_waits_again_if_another_was_faster(tmp_path):
    config = Config(store=sqlite_config(tmp_path), vault=VaultConfig(key_file=tmp_path / "vault.key"))
    tries = 0

    async def serve() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            with lock(config.store.path):  # another standby was faster and took the lock, but has ended since then
                async with open_store(config.store, serving=True):
                    pytest.fail("two services use the store")
        async with open_store(config.store, serving=True):
            pass

    await stand_by(config, Systemd(), serve)
    assert tries == 2
