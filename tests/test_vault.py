"""Sealed tokens open with their key and their account only."""

from __future__ import annotations

import base64
import secrets
import stat

import pytest

from svc.config import ConfigError
from svc.errors import Unreadable
from svc.vault import open_vault

OWNER = "acc_a"


def test_what_is_sealed_opens_again_and_is_not_in_the_clear(tmp_path):
    vault = open_vault(tmp_path / "key")
    sealed = vault.seal("cfat_secret", OWNER)
    assert b"cfat_secret" not in sealed
    assert vault.open(sealed, OWNER) == "cfat_secret"
    assert open_vault(tmp_path / "key").open(sealed, OWNER) == "cfat_secret"


def test_another_account_cannot_open_it(tmp_path):
    vault = open_vault(tmp_path / "key")
    sealed = vault.seal("cfat_secret", OWNER)
    for owner, box in [("acc_b", sealed), (OWNER, sealed[:-1] + b"x"), (OWNER, b""), (OWNER, sealed[:13])]:
        with pytest.raises(Unreadable):
            vault.open(box, owner)


def test_a_rotated_key_still_opens_what_the_old_one_sealed(tmp_path):
    path = tmp_path / "key"
    sealed = open_vault(path).seal("cfat_secret", OWNER)
    new = base64.b64encode(secrets.token_bytes(32)).decode()
    path.write_text(f"{new}\n{path.read_text()}")
    rotated = open_vault(path)
    assert rotated.open(sealed, OWNER) == "cfat_secret"
    again = rotated.seal("cfat_secret", OWNER)
    path.write_text(new)
    assert open_vault(path).open(again, OWNER) == "cfat_secret"
    with pytest.raises(Unreadable):
        open_vault(path).open(sealed, OWNER)


def test_the_key_file_is_private(tmp_path):
    path = tmp_path / "folder" / "key"
    open_vault(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        open_vault(path)


@pytest.mark.parametrize("text", ["", "not base64!", base64.b64encode(b"short").decode()])
def test_a_damaged_key_file_is_refused(tmp_path, text):
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="damaged"):
        open_vault(path)
