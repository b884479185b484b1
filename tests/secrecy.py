"""Search for leaked secrets in everything that the service wrote during a test.

The search recognizes secrets by their format: a prefix for the kind, followed by random characters. Therefore, secrets
need not be recorded when they are created, and secrets created by other processes are found as well. Passwords and
vault keys have no such format. The passwords that a test uses are recorded, and vault keys are read from their files.

The search finds secrets in clear text, hex and base64. It also finds URL-encoded passwords. It covers:

- all files in the test's folder: SQLite files including their free pages, service logs, exports and backups
- all tables of the test's schema in PostgreSQL, before the schema is dropped (`tests/databases.py`)
- all log lines of this process, in the service's format
- all scraped metrics (`tests/scraped.py`)

Test data must not match a secret's format by accident. For example, an Idempotency-Key must have the format of an id.

Files that must contain secrets are exempt: emails contain link tokens, and a key file contains its keys. A leak report
contains the place and the kind of the secret, but never its value.

The search runs after each test, before schemas and folders are deleted, so that it can report the test that leaked a
secret. If many tests share a service, its folder is searched once, after the service has ended (`leaks_of`). The search
uses regular expressions that begin with a literal prefix. Each takes half a nanosecond per byte. A typical store of 400
KB therefore takes 2 ms, and the whole run takes a few seconds. Expressions that begin with alternatives would be ten
times slower.
"""

from __future__ import annotations

import base64
import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus
from zlib import crc32

from svc.logs import JsonFormatter
from svc.security.api_key import is_api_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

MAIL_TOKEN, VAULT_KEY = "mail token", "vault key"
KEY_FILE = ".key"  # the suffix of key files
# The file with the emulator's state. It contains the emulator's tokens and the Workers' keys.
_PLATFORMS_OWN = "world.json"
_KEY_BYTES = 32
# The passwords of users in `tests/journeys`.
USUAL_PASSWORDS = ("a long password", "another long one", "another password")
# The search ignores shorter passwords and passwords that are email addresses, because test data can contain such texts
# for other reasons.
_LEAST_CHARS = 8
_PASSWORD_FIELDS = ("password", "old", "new")


# The format of each kind of secret (svc.ids.new_secret and others). Some kinds have an additional check.
_RANDOM = "[A-Za-z0-9_-]{43}"
_FORMS = {
    "access token": f"svs_{_RANDOM}",
    "refresh token": f"svr_[a-z2-7]{{26}}{_RANDOM}",
    "device's token": f"svd_{_RANDOM}",
    MAIL_TOKEN: f"svm_{_RANDOM}",
    "worker key": f"svcw_{_RANDOM}",
    "share's secret": "shs_[a-z2-7]{20}",
    "API key": "svc_[0-9A-Za-z]{36}",
    "platform's token": "cfat_[0-9A-Za-z]{40}[0-9a-f]{8}",
}
_IS_ONE: Mapping[str, Callable[[str], bool]] = {
    "API key": is_api_key,
    "platform's token": lambda text: text[-8:] == f"{crc32(text[5:-8].encode()):08x}",
}
# The beginnings of the secrets of all formats.
_STEMS = (b"sv", b"shs_", b"cfat_")
_LONGEST = 80

_PATTERNS = {kind: re.compile(form.encode()) for kind, form in _FORMS.items()}
_ANY = re.compile("|".join(_FORMS.values()).encode())
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2})+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+")


def _in_base64(secret: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the base64 characters that encode the secret at each of the three possible alignments."""
    found = []
    for before in range(3):
        text = base64.b64encode(bytes(before) + secret)
        found.append(text[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6])
    return found[0], found[1], found[2]


def _of_form(data: bytes) -> Iterator[str]:
    """Yield the kind of each secret in `data` that can be recognized by its format."""
    for stem in _STEMS:
        for at in _places(stem, data):
            yield from _begun(data[at : at + _LONGEST], "")
        for needle in {stem.hex(), stem.hex().upper()}:
            for at in _places(needle.encode(), data):
                run = _HEX.match(data, at, at + 2 * _LONGEST)
                if run is not None:
                    yield from _begun(bytes.fromhex(run[0].decode()), " in hex")
        for before, part in enumerate(_in_base64(stem)):
            for at in _places(part, data):
                # The character before the match also belongs to the secret: it encodes the secret's first bits,
                # together with bits of the byte before it.
                run = _BASE64.match(data, max(0, at - (before > 0)), at + 2 * _LONGEST)
                if run is not None:
                    yield from _begun(_decoded(b"A" * before + run[0])[before:], " in base64")


def _places(needle: bytes, data: bytes) -> Iterator[int]:
    return (match.start() for match in re.finditer(re.escape(needle), data))


def _begun(text: bytes, how: str) -> Iterator[str]:
    """Yield the kind of the secret at the start of `text`, if any."""
    if _ANY.match(text) is None:
        return
    for kind, pattern in _PATTERNS.items():
        match = pattern.match(text)
        if match is not None and _IS_ONE.get(kind, bool)(match[0].decode()):
            yield kind + how


def _decoded(text: bytes) -> bytes:
    """Decode base64 of either alphabet, with or without padding."""
    complete = text if len(text) % 4 != 1 else text[:-1]  # a single remaining character does not encode a complete byte
    return base64.b64decode(complete.translate(bytes.maketrans(b"-_", b"+/")) + b"=" * (-len(complete) % 4))


@dataclass
class Search:
    """The search for leaks in one test. `leaks`: the leaks found so far, each with its place and kind."""

    passwords: set[str] = field(default_factory=set)
    leaks: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """Reset the search for the next test."""
        self.passwords.clear()
        self.leaks.clear()

    def note(self, body: object) -> None:
        """Record the passwords in an accepted request."""
        for name, value in body.items() if isinstance(body, dict) else ():
            if name in _PASSWORD_FIELDS and isinstance(value, str) and len(value) >= _LEAST_CHARS and "@" not in value:
                self.passwords.add(value)

    def text(self, place: str, data: bytes, *, but: str = "", keys: Iterable[bytes] = ()) -> None:
        """Search `data` for secrets.

        `but`: a kind of secret that is allowed in this place. `keys`: vault keys to find.
        """
        self.leaks |= {f"{place}: {kind}" for kind in {*_of_form(data), *self._known(data, keys)} if kind != but}

    def folder(self, folder: Path) -> None:
        """Search all files below a folder."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        keys = [key for path in files if path.suffix == KEY_FILE for key in _keys_of(path)]
        # a file with this name is the log of a service that ran in this folder
        if any(path.name == "log" for path in files):
            self.passwords.update(USUAL_PASSWORDS)
        for path in files:
            if path.suffix != KEY_FILE and path.name != _PLATFORMS_OWN:
                but = MAIL_TOKEN if path.suffix == ".eml" else ""
                self.text(str(path.relative_to(folder)), path.read_bytes(), but=but, keys=keys)

    def _known(self, data: bytes, keys: Iterable[bytes]) -> Iterator[str]:
        for password in self.passwords:
            written = password.encode()
            for needle, how in [
                (written, ""),
                (quote(password).encode(), " in a URL"),
                (quote_plus(password).encode(), " in a URL"),
                *_encoded(written),
            ]:
                if needle in data:
                    yield f"password{how}"
        for key in keys:
            for needle, how in [(key, ""), *_encoded(key)]:
                if needle in data:
                    yield f"{VAULT_KEY}{how}"


def leaks_of(folder: Path, metrics: bytes) -> set[str]:
    """Return the leaks of a service that many tests shared. Call this after the service has ended."""
    search = Search()
    search.folder(folder)
    search.text("the metrics", metrics)
    return search.leaks


def _encoded(secret: bytes) -> list[tuple[bytes, str]]:
    """Return the encodings of a known secret, each with its name."""
    in_hex = secret.hex().encode()
    return [
        (in_hex, " in hex"),
        (in_hex.upper(), " in hex"),
        *((each, " in base64") for each in _in_base64(secret)),
    ]


def _keys_of(path: Path) -> list[bytes]:
    try:
        keys = [base64.b64decode(line, validate=True) for line in path.read_bytes().split()]
    except ValueError:  # a test has damaged the key file
        return []
    return [key for key in keys if len(key) == _KEY_BYTES]


class _LogLines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def log_lines() -> Iterator[list[str]]:
    """Collect this process's log lines during the block, in the service's format."""
    root, ours, handler = logging.getLogger(), logging.getLogger("svc"), _LogLines()
    before = ours.level
    root.addHandler(handler)
    ours.setLevel(logging.INFO)
    try:
        yield handler.lines
    finally:
        ours.setLevel(before)
        root.removeHandler(handler)


# The search for leaks in the current test.
SEARCH = Search()
