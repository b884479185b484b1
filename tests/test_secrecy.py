"""The search for secrets finds all kinds of secrets in all encodings, in logs, stores and metrics."""

from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from edge_worker.emulator.api.tokens import new_value
from svc.config import VaultConfig
from svc.ids import digest, new_secret
from svc.security.api_key import new_api_key
from svc.security.session_tokens import first_pair, next_pair
from svc.security.vault import open_vault
from svc.store.tx import sql
from tests.scraped import Scraped
from tests.secrecy import SEARCH, USUAL_PASSWORDS, Search, leaks_of
from tests.store.makers import an_account

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc.store.tx import Store, Tx
    from tests.conftest import ExpectedErrors

MADE: dict[str, Callable[[], str]] = {
    "access token": lambda: first_pair().access,
    "refresh token": lambda: next_pair(first_pair().refresh).refresh,
    "device's token": lambda: new_secret("svd_"),
    "mail token": lambda: new_secret("svm_"),
    "worker key": lambda: new_secret("svcw_"),
    "API key": new_api_key,
    "platform's token": new_value,
}


def leaks(data: bytes, *passwords: str) -> set[str]:
    search = Search(passwords=set(passwords))
    search.text("here", data)
    return search.leaks


@pytest.mark.parametrize("kind", MADE)
def test_all_kinds_of_secrets_are_found_in_all_encodings(kind):
    for before in range(6):
        secret = MADE[kind]().encode()
        around = b"\x00\xff, {"[:before]
        assert leaks(around + secret + b'"}') == {f"here: {kind}"}
        assert leaks(around + secret.hex().encode() + b"'") == {f"here: {kind} in hex"}
        assert leaks(secret.hex().upper().encode()) == {f"here: {kind} in hex"}
        assert leaks(b'"' + base64.b64encode(around + secret + b"xy")) == {f"here: {kind} in base64"}
        assert leaks(base64.urlsafe_b64encode(around + secret) + b"\n") == {f"here: {kind} in base64"}
        assert leaks(digest(secret.decode()).encode()) == set()
        assert leaks(secret[:12] + b"..." + secret[16:]) == set()


def test_passwords_are_found_in_all_encodings():
    password = "ein l\u00e4ngeres Wort"
    written = password.encode()
    assert leaks(b"x" + written, password) == {"here: password"}
    assert leaks(quote(password).encode(), password) == {"here: password in a URL"}
    assert leaks(written.hex().encode(), password) == {"here: password in hex"}
    for before in range(3):
        assert leaks(base64.b64encode(b"abc"[:before] + written), password) == {"here: password in base64"}
    assert leaks(written) == set()


def test_vault_key_is_found_outside_its_key_file(tmp_path, expected_leaks):
    open_vault(VaultConfig(key_file=tmp_path / "vault.key"), {})
    line = (tmp_path / "vault.key").read_bytes().strip()
    (tmp_path / "raw").write_bytes(b"--" + base64.b64decode(line))
    (tmp_path / "copied").write_bytes(line)
    expected_leaks.allow("^raw: vault key$")
    expected_leaks.allow("^copied: vault key in base64$")


def test_mail_token_is_allowed_only_in_emails(tmp_path, expected_leaks):
    (tmp_path / "one.eml").write_text(f"https://svc.example/reset?token={new_secret('svm_')} {new_secret('svs_')}")
    (tmp_path / "log").write_text(f"?token={new_secret('svm_')}")
    expected_leaks.allow("^one.eml: access token$")
    expected_leaks.allow("^log: mail token$")


def test_all_files_of_a_shared_service_are_searched(tmp_path, expected_leaks):
    """The search covers the log, the store, emails and metrics, and includes the usual passwords."""
    folder = tmp_path / "svc"
    (folder / "mail").mkdir(parents=True)
    open_vault(VaultConfig(key_file=folder / "vault.key"), {})
    for name in ("log", "svc.db", "svc.db-wal", "mail/one.eml"):
        (folder / name).write_bytes(b"nothing")
    assert leaks_of(folder, b"svc_test 1") == set()
    (folder / "log").write_text(f"signed in with {USUAL_PASSWORDS[0]}")
    (folder / "svc.db").write_bytes(b"\x00" + new_api_key().encode())
    (folder / "svc.db-wal").write_bytes(b"\x00" + base64.b64decode((folder / "vault.key").read_bytes()))
    (folder / "mail/one.eml").write_text(new_secret("svcw_"))
    found = {"log: password", "svc.db: API key", "svc.db-wal: vault key", "mail/one.eml: worker key"}
    assert leaks_of(folder, f'svc_test{{token="{new_value()}"}} 1'.encode()) == {
        *found,
        "the metrics: platform's token",
    }
    for leak in found:
        expected_leaks.allow(f"^svc/{leak}$")


@pytest.mark.rule("X14", "A2")
def test_logs_and_metrics_are_searched(expected_leaks):
    log = logging.getLogger("svc.test")
    log.info("asked", extra={"headers": {"Authorization": f"Bearer {new_secret('svs_')}"}})
    log.warning("a key %s", [new_api_key()])
    try:
        raise ValueError(new_value())
    except ValueError:
        log.warning("failed", exc_info=True)
    Scraped(f'svc_test{{key="{new_secret("svcw_")}"}} 1\n'.encode())
    for found in ("the log: access token", "the log: API key", "the log: platform's token", "the metrics: worker key"):
        expected_leaks.allow(f"^{found}$")


@pytest.mark.rule("A2", "C6")
async def test_stores_of_both_engines_are_searched(store: Store, expected_leaks: ExpectedErrors) -> None:
    def kept() -> Tx[None]:
        account_id = yield from an_account()
        unsealed = f"..{new_value()}".encode()
        yield sql("update accounts set name = $2, sealed_token = $3 where id = $1", account_id, new_api_key(), unsealed)

    await store.run(kept())
    expected_leaks.allow(r"^(svc\.db(-wal)?|the table accounts): API key$")
    expected_leaks.allow(r"^svc\.db(-wal)?: platform's token$|^the table accounts: platform's token in hex$")


def test_accepted_passwords_are_searched_for(tmp_path: Path, expected_leaks: ExpectedErrors) -> None:
    SEARCH.note({"email": "ann@example.com", "password": "correct horse", "new": "another@horse.example"})
    SEARCH.note(["no", "body"])
    assert SEARCH.passwords == {"correct horse"}
    (tmp_path / "kept.json").write_text('{"password": "correct horse"}')
    expected_leaks.allow("^kept.json: password$")
