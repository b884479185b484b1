"""A sealed token can be opened only with its key and for its account."""

from __future__ import annotations

import base64
import secrets
import stat
from pathlib import Path
from typing import Any

import pytest

from svc.config import ConfigError, VaultConfig
from svc.errors import CannotUnseal
from svc.security.vault import Vault, open_vault, read_keys, write_keys
from svc.security.vault import new_key as new_key_bytes

OWNER = "acc_a"


def opened(path: Path, sealed: dict[str, bytes] | None = None, **more: Any) -> Vault:
    return open_vault(VaultConfig(key_file=path, **more), sealed or {})


def new_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


def test_sealed_secret_opens_and_is_encrypted(tmp_path):
    vault = opened(tmp_path / "key")
    sealed = vault.seal("cfat_secret", OWNER)
    assert b"cfat_secret" not in sealed
    assert vault.open(sealed, OWNER) == "cfat_secret"
    assert opened(tmp_path / "key").open(sealed, OWNER) == "cfat_secret"


def test_secret_does_not_open_for_other_account(tmp_path):
    vault = opened(tmp_path / "key")
    sealed = vault.seal("cfat_secret", OWNER)
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for owner, box in [("acc_b", sealed), (OWNER, changed), (OWNER, b""), (OWNER, sealed[:13])]:
        with pytest.raises(CannotUnseal):
            vault.open(box, owner)


def test_rotated_key_file_opens_secrets_of_old_key(tmp_path):
    path = tmp_path / "key"
    sealed = opened(path).seal("cfat_secret", OWNER)
    new = base64.b64encode(secrets.token_bytes(32)).decode()
    path.write_text(f"{new}\n{path.read_text()}")
    rotated = opened(path)
    assert rotated.open(sealed, OWNER) == "cfat_secret"
    again = rotated.seal("cfat_secret", OWNER)
    path.write_text(new)
    assert opened(path).open(again, OWNER) == "cfat_secret"
    with pytest.raises(CannotUnseal):
        opened(path).open(sealed, OWNER)


def test_key_file_is_private(tmp_path):
    path = tmp_path / "folder" / "key"
    opened(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        opened(path)


def test_credential_of_systemd_may_be_group_readable(tmp_path, monkeypatch):
    path = tmp_path / "credentials/vault.key"
    write_keys(path, [new_key_bytes()])
    path.chmod(0o440)
    with pytest.raises(ConfigError, match="can be read by other users"):
        read_keys(path)
    monkeypatch.setattr("svc.security.vault._CREDENTIALS", path.parents[1].resolve())
    assert read_keys(path)
    path.chmod(0o444)
    with pytest.raises(ConfigError, match="can be read by other users"):
        read_keys(path)


@pytest.mark.parametrize("text", ["", "not base64!", base64.b64encode(b"short").decode()])
def test_damaged_key_file_is_rejected(tmp_path, text):
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="damaged"):
        opened(path)


@pytest.mark.parametrize("remaining", ["nothing", "another key"])
def test_lost_key_is_not_replaced_while_secrets_need_it(tmp_path, remaining):
    path = tmp_path / "key"
    sealed = {OWNER: opened(path).seal("cfat_secret", OWNER)}
    path.unlink()
    if remaining == "another key":
        opened(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(ConfigError, match=r"Add the missing key.*lost_tokens") as raised:
        opened(path, sealed)
    assert "1" in str(raised.value)
    assert (path.read_bytes() if path.exists() else None) == before


def test_key_removed_too_early_is_detected(tmp_path):
    path = tmp_path / "key"
    old = {OWNER: opened(path).seal("cfat_secret", OWNER)}
    first, second = path.read_text(), new_key()
    path.write_text(f"{second}\n{first}")
    both = {**old, "acc_b": opened(path, old).seal("cfat_other", "acc_b")}
    assert opened(path, both).open(both["acc_b"], "acc_b") == "cfat_other"
    path.write_text(second)
    with pytest.raises(ConfigError, match=r"1 of 2 tokens"):
        opened(path, both)
    path.write_text(f"{first}\n{second}")
    opened(path, both)


def test_lost_tokens_accept_starts_without_key(tmp_path, caplog):
    path = tmp_path / "key"
    sealed = {OWNER: opened(path).seal("cfat_secret", OWNER)}
    path.unlink()
    vault = opened(path, sealed, lost_tokens="accept")
    assert path.exists()
    assert not vault.opens(sealed[OWNER], OWNER)
    assert [record.message for record in caplog.records] == ["tokens cannot be decrypted"]


def test_open_vault_without_make_creates_no_key(tmp_path):
    open_vault(VaultConfig(key_file=tmp_path / "key"), {}, make=False)
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("place", ["folder", "file/key"])
def test_unusable_key_file_is_reported(tmp_path, place):
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be used"):
        opened(tmp_path / place)


def test_changed_key_file_is_read_again_when_needed(tmp_path, caplog):
    path = tmp_path / "key"
    vault = opened(path)
    old = vault.seal("cfat_secret", OWNER)
    keys = [new_key_bytes(), *read_keys(path)]
    write_keys(path, keys)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Vault(keys[:1]).open(vault.seal("cfat_secret", OWNER), OWNER) == "cfat_secret"
    assert vault.open(old, OWNER) == "cfat_secret"
    third = [new_key_bytes(), *keys]
    write_keys(path, third)
    assert vault.opens(Vault(third).seal("cfat_secret", OWNER), OWNER)
    path.write_text("damaged")
    assert vault.opens(vault.seal("cfat_secret", OWNER), OWNER)
    assert vault.opens(old, OWNER)
    path.unlink()
    assert vault.opens(old, OWNER)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
