"""Encrypts stored secrets with AES-GCM and a key from the key file.

The secrets are working tokens of accounts, and tokens in the URLs of shares. Decrypting a secret requires the id of its
owner (the account or the share).

The key file has one key per line (32 bytes in base64), newest key first. `seal` encrypts with the first key, and `open`
tries all keys, so `svc vault rotate` adds a new key at the top. Unless `[vault] lost_tokens` is "accept", the service
does not start while it cannot decrypt all stored secrets, for example because the key file is missing.
"""

from __future__ import annotations

import base64
import logging
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from svc import atomic_file
from svc.config import ConfigError
from svc.errors import CannotUnseal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from svc.config import VaultConfig

log = logging.getLogger(__name__)

_KEY_BYTES = 32
_NONCE_BYTES = 12
# The folder below which systemd creates a private folder for each unit with credentials.
_CREDENTIALS = Path("/run/credentials")


class Vault:
    """Encrypts and decrypts secrets. The `repr` does not show keys.

    Keys can be rotated while the service is running, if `path` is set. The vault then rereads a changed key file,
    both before it encrypts a secret and when it cannot decrypt a secret.
    """

    def __init__(self, keys: list[bytes], path: Path | None = None) -> None:
        self._ciphers = [AESGCM(key) for key in keys]
        self._path = path
        self._seen: tuple[int, int, int] | None = None  # the state of the file when it was last read

    def seal(self, secret: str, owner_id: str) -> bytes:
        """Encrypt a secret. `open` requires the same `owner_id`."""
        self._read_again()
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, secret.encode(), owner_id.encode())

    def open(self, sealed: bytes, owner_id: str) -> str:
        """Decrypt a secret. Raises CannotUnseal if the key or the owner is wrong, or if the data is damaged."""
        secret = self._try_open(sealed, owner_id)
        if secret is None and self._read_again():
            secret = self._try_open(sealed, owner_id)
        if secret is None:
            raise CannotUnseal
        return secret

    def _try_open(self, sealed: bytes, owner_id: str) -> str | None:
        nonce, box = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, box, owner_id.encode()).decode()
            except (InvalidTag, ValueError):
                continue
        return None

    def _read_again(self) -> bool:
        """Read the key file again if it has changed. Return True if the keys were replaced."""
        state = None if self._path is None else _file_state(self._path)
        if self._path is None or state is None or state == self._seen:
            return False
        self._seen = state
        try:
            keys = read_keys(self._path)
        except (OSError, ConfigError) as error:
            log.warning("changed key file not usable; keeping the previous keys", extra={"why": str(error)})
            return False
        self._ciphers = [AESGCM(key) for key in keys]
        return True

    def opens(self, sealed: bytes, owner_id: str) -> bool:
        """Return True if `open` would succeed."""
        try:
            self.open(sealed, owner_id)
        except CannotUnseal:
            return False
        return True


def open_vault(config: VaultConfig, sealed: Mapping[str, bytes], *, make: bool = True) -> Vault:
    """Return the vault for the key file, after checking that it can decrypt all of `sealed` (owner id to secret).

    If there is no key file and `sealed` is empty, the function creates a file with a new key (mode 0600). If `make` is
    False, it creates no file, and returns a vault without a key, which cannot encrypt secrets. Raises ConfigError if
    the file cannot be read, is damaged, or lacks a key that a secret needs. Also raises ConfigError if other users can
    read the file. If `[vault] lost_tokens` is "accept", a missing file and secrets without a key are not errors.
    """
    path = config.key_file
    accept = config.lost_tokens == "accept"
    try:
        if path.exists():
            keys = read_keys(path)
        elif sealed and not accept:
            raise ConfigError(
                f"The key file {path} does not exist, but the store has tokens that need it ({len(sealed)}). {_FIX}"
            )
        elif make:
            path.parent.mkdir(parents=True, exist_ok=True)
            keys = [_make(path)]
        else:
            atomic_file.check_creatable(path)
            keys = []
    except OSError as error:
        raise ConfigError(f"The key file {path} cannot be used: {error.strerror or error}") from None
    vault = Vault(keys, path)
    lost = sum(not vault.opens(box, owner_id) for owner_id, box in sealed.items())
    if lost and not accept:
        raise ConfigError(f"The key file {path} does not decrypt {lost} of {len(sealed)} tokens. {_FIX}")
    if lost:
        log.warning("tokens cannot be decrypted", extra={"lost": lost, "tokens": len(sealed)})
    return vault


_FIX = (
    "Add the missing key to the file as a line. If you have no copy of the key, set [vault] lost_tokens to accept;"
    " accounts then need new tokens, and users can no longer see the URLs of their shares."
)


def _file_state(path: Path) -> tuple[int, int, int] | None:
    """Return values that change whenever the file changes, or None if the file cannot be accessed."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _make(path: Path) -> bytes:
    key = new_key()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text_of([key]))
        file.flush()
        os.fsync(file.fileno())
    return key


def new_key() -> bytes:
    """Generate a random key."""
    return secrets.token_bytes(_KEY_BYTES)


def text_of(keys: Sequence[bytes]) -> bytes:
    """Return the content of a key file with these keys."""
    return b"".join(base64.b64encode(key) + b"\n" for key in keys)


def keys_of(text: bytes) -> list[bytes]:
    """Parse the content of a key file into keys, newest first. Raises ValueError if the content is damaged."""
    keys = [base64.b64decode(line, validate=True) for line in text.split()]
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise ValueError("not keys")
    return keys


def read_keys(path: Path) -> list[bytes]:
    """Read the keys of a key file, newest first.

    Raises OSError if the file cannot be read. Raises ConfigError if the file is damaged, or if other users can read it.
    """
    others = 0o037 if _is_credential(path) else 0o077
    if path.stat().st_mode & others:
        raise ConfigError(f"The key file {path} can be read by other users; run: chmod 600 {path}")
    try:
        return keys_of(path.read_bytes())
    except ValueError:
        raise ConfigError(f"The key file {path} is damaged. Each line must have 32 bytes in base64.") from None


def _is_credential(path: Path) -> bool:
    """Return True if systemd provides the file (LoadCredential=).

    Such a file needs different checks: systemd gives the service's user access with an ACL, and the ACL's mask appears
    as permissions of the group.
    """
    return _CREDENTIALS in path.resolve().parents


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Return a context manager that holds a lock on the key file.

    A command holds the lock while it changes the key file and re-encrypts secrets. Other commands wait for the lock.

    Without the lock, two commands could conflict: one command encrypts tokens with a new key, and the other removes
    this key. Raises OSError.
    """
    folder = path.resolve().parent
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file.locked_file(folder, wait=True):
        yield


def write_keys(path: Path, keys: Sequence[bytes]) -> None:
    """Replace the keys in the key file atomically. Raises OSError.

    The file keeps its owner, so that the service can read the file even if root runs the command. If `path` is a
    symbolic link, the link is kept.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_file.put(path, text_of(keys), owner=(path if path.exists() else path.parent).stat())
