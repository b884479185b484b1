"""Working tokens at rest: sealed with AES-GCM under a key of the key file, bound to their account.

The key file holds one key a line (base64, 32 bytes), the newest first: sealing uses the first, opening tries
all, so a key is rotated by putting a new line on top (`svc vault rotate`). The sealed tokens themselves tell whether a
key is missing: a service that cannot open one does not start, and never makes a new key file in the place of a lost
one.
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
# A folder of a unit's own in it, which systemd makes for nobody else.
_CREDENTIALS = Path("/run/credentials")


class Vault:
    """Seals and opens secrets. Its repr shows nothing.

    With `path`, the keys are those of a key file, which is read again when it has changed: before something is sealed,
    and when something does not open. So a key is rotated beside a running service.
    """

    def __init__(self, keys: list[bytes], path: Path | None = None) -> None:
        self._ciphers = [AESGCM(key) for key in keys]
        self._path = path
        self._seen: tuple[int, int, int] | None = None  # the file's state when it was last read here

    def seal(self, secret: str, owner_id: str) -> bytes:
        """`secret` sealed; it opens only with the same `owner_id`."""
        self._read_again()
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, secret.encode(), owner_id.encode())

    def open(self, sealed: bytes, owner_id: str) -> str:
        """The secret of `sealed`. Raises CannotUnseal: another key, another owner, or damaged."""
        secret = self._opened(sealed, owner_id)
        if secret is None and self._read_again():
            secret = self._opened(sealed, owner_id)
        if secret is None:
            raise CannotUnseal
        return secret

    def _opened(self, sealed: bytes, owner_id: str) -> str | None:
        nonce, box = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, box, owner_id.encode()).decode()
            except (InvalidTag, ValueError):
                continue
        return None

    def _read_again(self) -> bool:
        """Whether the key file has changed, and was read."""
        state = None if self._path is None else _state_of(self._path)
        if self._path is None or state is None or state == self._seen:
            return False
        self._seen = state
        try:
            keys = read_keys(self._path)
        except (OSError, ConfigError) as error:
            log.warning("the changed key file cannot be used; the keys of before are", extra={"why": str(error)})
            return False
        self._ciphers = [AESGCM(key) for key in keys]
        return True

    def opens(self, sealed: bytes, owner_id: str) -> bool:
        """Whether `open` would give the secret."""
        try:
            self.open(sealed, owner_id)
        except CannotUnseal:
            return False
        return True


def open_vault(config: VaultConfig, sealed: Mapping[str, bytes], *, make: bool = True) -> Vault:
    """The vault of the key file, which opens everything of `sealed` (by owner's id).

    Where there is no key file and nothing sealed, one is made with a new key (mode 0600); without `make` nothing is,
    and nothing can be sealed.
    Raises ConfigError: not readable, readable by others, not keys, or a key is missing.
    """
    path = config.key_file
    accept = config.lost_tokens == "accept"
    try:
        if path.exists():
            keys = read_keys(path)
        elif sealed and not accept:
            raise ConfigError(f"The key file {path} is gone, and with it the tokens of {len(sealed)} accounts. {_MEND}")
        elif make:
            path.parent.mkdir(parents=True, exist_ok=True)
            keys = [_make(path)]
        else:
            atomic_file.check_can_be_made(path)
            keys = []
    except OSError as error:
        raise ConfigError(f"The key file {path} cannot be used: {error.strerror or error}") from None
    vault = Vault(keys, path)
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


def _state_of(path: Path) -> tuple[int, int, int] | None:
    """What changes with the file; None: it cannot be seen."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _make(path: Path) -> bytes:
    key = new_key()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text_of([key]))
        file.flush()
        os.fsync(file.fileno())
    return key


def new_key() -> bytes:
    """A key that nobody has."""
    return secrets.token_bytes(_KEY_BYTES)


def text_of(keys: Sequence[bytes]) -> bytes:
    """What a key file with these keys holds."""
    return b"".join(base64.b64encode(key) + b"\n" for key in keys)


def keys_of(text: bytes) -> list[bytes]:
    """The keys that a key file holds, the newest first. Raises ValueError: it is damaged."""
    keys = [base64.b64decode(line, validate=True) for line in text.split()]
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise ValueError("not keys")
    return keys


def read_keys(path: Path) -> list[bytes]:
    """The keys of a key file, the newest first. Raises OSError; ConfigError: readable by others, or damaged."""
    others = 0o037 if _is_credential(path) else 0o077
    if path.stat().st_mode & others:
        raise ConfigError(f"The key file {path} can be read by others; run: chmod 600 {path}")
    try:
        return keys_of(path.read_bytes())
    except ValueError:
        raise ConfigError(f"The key file {path} is damaged: each line must be 32 bytes in base64.") from None


def _is_credential(path: Path) -> bool:
    """Whether systemd hands the file over (LoadCredential=).

    It lets the service's user read it by an access list, and what the list allows shows as the group's rights.
    """
    return _CREDENTIALS in path.resolve().parents


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Held by a command from when it reads the key file until all that it writes is sealed; others wait their turn.

    Without it, one would write the file without the new key of another, with which tokens are sealed by then.
    Raises OSError.
    """
    folder = path.resolve().parent
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file.holding(folder, wait=True):
        yield


def write_keys(path: Path, keys: Sequence[bytes]) -> None:
    """Let the key file hold these keys, and no others; a kill leaves those before, or these. Raises OSError.

    It gets the owner of the one before, so that what root does on the command line does not lock the service out. A
    link goes on to lead to it.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_file.put(path, text_of(keys), owner=(path if path.exists() else path.parent).stat())
