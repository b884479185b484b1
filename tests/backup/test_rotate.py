"""`svc vault rotate` seals all tokens with a new key while a service is running, and drops unused old keys."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.security.vault import Vault, changing, open_vault, read_keys, write_keys
from svc.store import open_store
from svc.store.sealed_secrets import reseal, sealed_secrets
from svc.store.tx import sql
from tests.backup.places import config_of, done, fill
from tests.backup.test_archive import begun, svc


def sealed(config):
    """Return the encrypted tokens by account id."""
    return {owner: box for owner, box in done(config, sealed_secrets()).items() if owner.startswith("acc_")}


def put(account_id, box):
    yield sql("update accounts set sealed_token = $2 where id = $1", account_id, box)


@pytest.mark.rule("A4")
def test_concurrent_key_rotations_run_in_turn_and_keep_the_keys_in_use(tmp_path):
    config = config_of(tmp_path / "var")
    fill(config)
    path = config.vault.key_file
    path.rename(tmp_path / "elsewhere.key")
    path.symlink_to("../elsewhere.key")
    with changing(path):
        commands = [begun(tmp_path, "vault", "rotate", *more) for more in ([], [], ["--drop-old"])]

        async def all_wait() -> bool | None:
            assert all(command.poll() is None for command in commands)
            return waiting_for_locks() >= {command.pid for command in commands} or None

        trio.run(eventually, all_wait)
    assert [command.wait() for command in commands] == [0, 0, 0]
    [(account_id, box)] = sealed(config).items()
    assert open_vault(config.vault, {}).open(box, account_id) == "cfat_x"
    assert path.is_symlink()
    assert Vault(read_keys(tmp_path / "elsewhere.key")).opens(box, account_id)


def waiting_for_locks() -> set[int]:
    """Return the ids of the processes that are waiting for a file lock."""
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return {int(fields[5]) for fields in lines if fields[1] == "->"}


@pytest.mark.rule("A4")
def test_rotation_seals_tokens_with_the_new_key_and_drops_the_old_key(tmp_path):
    config = config_of(tmp_path / "var")
    fill(config)
    [(account_id, before)] = sealed(config).items()
    [old] = read_keys(config.vault.key_file)
    service = open_vault(config.vault, {})  # the vault of a running service

    response = svc(tmp_path, "vault", "rotate")
    assert (response.returncode, b"Re-encrypted 3 secrets " in response.stdout) == (0, True), response.stderr
    new, second = read_keys(config.vault.key_file)
    assert second == old != new
    box = sealed(config)[account_id]
    assert Vault([new]).open(box, account_id) == "cfat_x"
    assert service.open(box, account_id) == "cfat_x"
    assert service.open(before, account_id) == "cfat_x"

    # After the rotation, the service has sealed another token with the old key.
    done(config, put(account_id, Vault([old]).seal("cfat_y", account_id)))

    async def refused() -> None:
        async with open_store(config.store, serving=True):
            response = await trio.to_thread.run_sync(svc, tmp_path, "vault", "rotate", "--drop-old")
            assert (response.returncode, b"Another svc serve uses" in response.stderr) == (1, True)

    trio.run(refused)
    assert read_keys(config.vault.key_file) == [new, old]
    response = svc(tmp_path, "vault", "rotate", "--drop-old")
    assert (response.returncode, b"Re-encrypted 1 secret " in response.stdout) == (0, True), response.stderr
    assert read_keys(config.vault.key_file) == [new]
    assert open_vault(config.vault, sealed(config)).open(sealed(config)[account_id], account_id) == "cfat_y"

    # The key file no longer contains the key that the token was sealed with.
    write_keys(config.vault.key_file, [old])
    response = svc(tmp_path, "vault", "rotate")
    assert (response.returncode, b"No key decrypts 3 secrets." in response.stdout) == (0, True), response.stderr


async def test_reseal_keeps_a_token_that_was_renewed_concurrently(store):
    from tests.store.makers import an_account

    account_id = await store.run(an_account())
    await store.run(put(account_id, b"renewed"))
    assert not await store.run(reseal(account_id, b"old", b"resealed"))
    assert await store.read(sealed_secrets()) == {account_id: b"renewed"}
    assert await store.run(reseal(account_id, b"renewed", b"resealed"))
    assert await store.read(sealed_secrets()) == {account_id: b"resealed"}
