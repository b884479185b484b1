"""Working tokens at rest: sealed with AES-GCM under a key of the key file, bound to their account.

The key file holds one key a line (base64, 32 bytes), the newest first: sealing uses the first, opening tries
all, so a key is rotated by putting a new line on top. The sealed tokens themselves tell whether a key is missing: a
service that cannot open one does not start, and never makes a new key file in the place of a lost one.
"""

from __future__ import annotations

import base64
import logging
import os
import secrets
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from svc.config import ConfigError
from svc.errors import CannotUnseal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from svc.config import VaultConfig

log = logging.getLogger(__name__)

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
        """The secret of `sealed`. Raises CannotUnseal: another key, another owner, or damaged."""
        nonce, box = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, box, owner_id.encode()).decode()
            except (InvalidTag, ValueError):
                continue
        raise CannotUnseal

    def opens(self, sealed: bytes, owner_id: str) -> bool:
        """Whether `open` would give the secret."""
        try:
            self.open(sealed, owner_id)
        except CannotUnseal:
            return False
        return True


def open_vault(config: VaultConfig, sealed: Mapping[str, bytes], *, make: bool = True) -> Vault:
    """The vault of the key file, which opens everything of `sealed` (by owner's id).

    Where there is no key file and nothing sealed, one is made with a new key (mode 0600); without `make` only its
    folder is, and nothing can be sealed.
    Raises ConfigError: not readable, readable by others, not keys, or a key is missing.
    """
    path = config.key_file
    accept = config.lost_tokens == "accept"
    try:
        if path.exists():
            keys = _read(path)
        elif sealed and not accept:
            raise ConfigError(f"The key file {path} is gone, and with it the tokens of {len(sealed)} accounts. {_MEND}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            keys = [_make(path)] if make else []
    except OSError as error:
        raise ConfigError(f"The key file {path} cannot be used: {error.strerror or error}") from None
    vault = Vault(keys)
    lost = sum(not vault.opens(box, owner_id) for owner_id, box in sealed.items())
    if lost and not accept:
        raise ConfigError(f"The key file {path} does not open the tokens of {lost} of {len(sealed)} accounts. {_MEND}")
    if lost:
        log.warning("tokens cannot be opened", extra={"lost": lost, "accounts": len(sealed)})
    return vault


_MEND = (
    "Put the missing key back as one of its lines. If there is no copy of it, set [vault] lost_tokens to accept:"
    " those accounts then need a new token each."
)


def _make(path: Path) -> bytes:
    key = secrets.token_bytes(_KEY_BYTES)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(base64.b64encode(key).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())
    return key


def _read(path: Path) -> list[bytes]:
    if path.stat().st_mode & 0o077:
        raise ConfigError(f"The key file {path} can be read by others; run: chmod 600 {path}")
    try:
        keys = [base64.b64decode(line, validate=True) for line in path.read_bytes().split()]
    except ValueError:
        keys = []
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise ConfigError(f"The key file {path} is damaged: each line must be 32 bytes in base64.")
    return keys
