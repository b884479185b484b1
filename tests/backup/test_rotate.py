"""`svc vault rotate`: every token under a new key, beside a running service; old ones go when nothing needs them."""

from __future__ import annotations

import pytest
import trio

from svc.store import open_store
from svc.store.sealed_tokens import reseal, sealed_tokens
from svc.store.tx import sql
from svc.vault import Vault, open_vault, read_keys, write_keys
from tests.backup.places import config_of, done, fill
from tests.backup.test_archive import svc


def sealed(config):
    return done(config, sealed_tokens())


def put(account_id, box):
    yield sql("update accounts set sealed_token = $2 where id = $1", account_id, box)


@pytest.mark.rule("A4")
def test_tokens_move_to_the_new_key_and_the_old_one_can_go(tmp_path):
    config = config_of(tmp_path / "var")
    fill(config)
    [(account_id, before)] = sealed(config).items()
    [old] = read_keys(config.vault.key_file)
    service = open_vault(config.vault, {})  # of a service that goes on

    answer = svc(tmp_path, "vault", "rotate")
    assert (answer.returncode, b"1 tokens were sealed" in answer.stdout) == (0, True), answer.stderr
    new, second = read_keys(config.vault.key_file)
    assert second == old != new
    box = sealed(config)[account_id]
    assert Vault([new]).open(box, account_id) == "cfat_x"
    assert service.open(box, account_id) == "cfat_x"
    assert service.open(before, account_id) == "cfat_x"

    # One that was sealed with the old key after all, and one whose key is lost.
    done(config, put(account_id, Vault([old]).seal("cfat_y", account_id)))

    async def refused() -> None:
        async with open_store(config.store, serving=True):
            answer = await trio.to_thread.run_sync(svc, tmp_path, "vault", "rotate", "--drop-old")
            assert (answer.returncode, b"Another svc serve uses" in answer.stderr) == (1, True)

    trio.run(refused)
    assert read_keys(config.vault.key_file) == [new, old]
    answer = svc(tmp_path, "vault", "rotate", "--drop-old")
    assert (answer.returncode, b"1 tokens were sealed" in answer.stdout) == (0, True), answer.stderr
    assert read_keys(config.vault.key_file) == [new]
    assert open_vault(config.vault, sealed(config)).open(sealed(config)[account_id], account_id) == "cfat_y"

    write_keys(config.vault.key_file, [old])
    answer = svc(tmp_path, "vault", "rotate")
    assert (answer.returncode, b"1 tokens open with no key" in answer.stdout) == (0, True), answer.stderr


async def test_a_token_that_was_renewed_meanwhile_is_left_alone(store):
    from tests.store.makers import an_account

    account_id = await store.run(an_account())
    await store.run(put(account_id, b"renewed"))
    assert not await store.run(reseal(account_id, b"old", b"resealed"))
    assert await store.read(sealed_tokens()) == {account_id: b"renewed"}
    assert await store.run(reseal(account_id, b"renewed", b"resealed"))
    assert await store.read(sealed_tokens()) == {account_id: b"resealed"}
