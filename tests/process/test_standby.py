"""What a standby tells while it waits. (That it takes over, and alone: tests/journeys/test_standby.py.)"""

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
from svc.store.engines.sqlite_place import lock
from tests.command_runs import svc_async
from tests.databases import sqlite_config
from tests.held_socket import open_holder
from tests.journeys.conftest import free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.rule("X18")

WAITS = "standby: another svc serve has the store"


async def health(folder: Path, address: str) -> subprocess.CompletedProcess[str]:
    return await svc_async(folder, "health", SVC_HTTP_BIND=address)


async def test_one_that_waits_listens_nowhere_and_tells_systemd_and_svc_health_that_it_lives(tmp_path):
    address = free_port()
    host, _, port = address.partition(":")
    folder = tmp_path / "svc"
    open_vault(VaultConfig(key_file=folder / "vault.key"), {})
    asked = partial(health, tmp_path, address)
    async with open_holder(
        folder, {"SVC_HTTP_BIND": address}, sockets=0, watchdog_s=0.2, arguments=("--standby",)
    ) as holder:
        with lock(folder / "svc.db"):
            assert (await asked()).returncode == 1
            await holder.start()
            await holder.hears("WATCHDOG=1")
            assert f"STATUS={WAITS}" in holder.told
            assert "STATUS=serving" not in holder.told
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, int(port)))
            told = await asked()
            assert (told.returncode, told.stdout, told.stderr) == (0, f"{WAITS}\n", "")
            # A mistaken second start is refused all the same.
            refused = await svc_async(tmp_path, "serve", SVC_STORE_URL=f"sqlite:///{folder / 'svc.db'}")
            assert refused.returncode == 1
            assert "Another svc serve uses the store" in refused.stderr
        await holder.hears("STATUS=serving")
        assert "STATUS=standby: takes the store over" in holder.told
        assert (await asked()).stdout == f"http://{address} answers\n"
        await holder.stop()
        assert "STOPPING=1" in holder.told
    assert holder.announced == [f"http://{address}"]


async def test_without_the_key_file_of_the_first_it_does_not_wait(tmp_path):
    """It would not be able to open a token when it is needed."""
    with lock(tmp_path / "svc.db"):
        answer = await svc_async(tmp_path, "serve", "--standby", SVC_STORE_URL=f"sqlite:///{tmp_path / 'svc.db'}")
    assert answer.returncode == 1
    assert answer.stderr.endswith(
        "There is no key file var/vault.key: a standby needs that of the service it waits for.\n"
    )
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/svc", "sqlite:////proc/none/svc.db"])
async def test_a_store_that_is_away_at_the_start_ends_it(tmp_path, url):
    answer = await svc_async(tmp_path, "serve", "--standby", SVC_STORE_URL=url)
    assert answer.returncode == 1
    assert "cannot be opened" in answer.stderr
    assert "Traceback" not in answer.stderr


async def test_one_that_was_too_late_waits_again(tmp_path):
    config = Config(store=sqlite_config(tmp_path), vault=VaultConfig(key_file=tmp_path / "vault.key"))
    tries = 0

    async def serve() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            with lock(config.store.path):  # another one was quicker, and has gone again
                async with open_store(config.store, serving=True):
                    pytest.fail("there are two")
        async with open_store(config.store, serving=True):
            pass

    await stand_by(config, Systemd(), serve)
    assert tries == 2
