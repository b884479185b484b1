"""Working tokens at rest: sealed with AES-GCM under a key of the key file, bound to their account.

The key file holds one key a line (base64, 32 bytes), the newest first: sealing uses the first, opening tries
all, so a key is rotated by putting a new line on top.
"""

from __future__ import annotations

import base64
import os
import secrets
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from svc.config import ConfigError
from svc.errors import Unreadable

if TYPE_CHECKING:
    from pathlib import Path

_KEY_BYTES = 32
_NONCE_BYTES = 12


class Vault:
    """Seals and opens secrets. Its repr shows nothing."""

    def __init__(self, keys: list[bytes]) -> None:
        self._ciphers = [AESGCM(key) for key in keys]

    def seal(self, secret: str, owner_id: str) -> bytes:
        """`secret` sealed; it opens only with the same `owner_id`."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, secret.encode(), owner_id.encode())

    def open(self, sealed: bytes, owner_id: str) -> str:
        """The secret of `sealed`. Raises Unreadable: another key, another owner, or damaged."""
        nonce, box = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, box, owner_id.encode()).decode()
            except (InvalidTag, ValueError):
                continue
        raise Unreadable


def open_vault(key_file: Path) -> Vault:
    """The vault of `key_file`, made with a new key when there is none (mode 0600).

    Raises ConfigError: not readable, readable by others, or not keys.
    """
    if not key_file.exists():
        key_file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode() + "\n")
            file.flush()
            os.fsync(file.fileno())
    if key_file.stat().st_mode & 0o077:
        raise ConfigError(f"The key file {key_file} can be read by others; run: chmod 600 {key_file}")
    try:
        keys = [base64.b64decode(line, validate=True) for line in key_file.read_text().split()]
    except ValueError:
        keys = []
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise ConfigError(f"The key file {key_file} is damaged: each line must be 32 bytes in base64.")
    return Vault(keys)
