"""Secrets stay secret: when a test ends, what the service wrote in it is searched for them.

A secret is known by its form: a prefix that says what it is, and random characters behind it. So none has to be
recorded when it is made, and those of services that are processes of their own are found as well, and of any other
program that a test starts. Without a form are passwords, of which those that a test uses are noted, and the vault's
keys, which are read from their files.

They are looked for in the clear, in hex and in base64 (in a URL all are as they are, but passwords):

- in every file of the test's folder: SQLite with what is free in it, the logs of services, exports, backups
- in every table of the test's schema in PostgreSQL, before it is dropped (`tests/databases.py`)
- in every line of the log of this process, as the service would write it
- in every text of metrics that is read (`tests/scraped.py`)

What a test itself makes up and has stored must not look like one by chance: an Idempotency-Key is an id, for the
characters of a secret stand before others of the same alphabet in a row of the store.

What is meant to hold them may: the files of e-mails hold tokens of links, and a key file its keys. A leak is told by
its place and its kind, never by itself.

This is done for each test and not once for the run: schemas and old folders are gone by then, and the leak names its
test. Only a service that many tests share is searched once, when it has ended (`leaks_of`). A regular expression that
begins with letters takes half a nanosecond a byte, so a usual store of 400 KB costs 2 ms, and the whole run some
seconds; one with alternatives at its beginning would take ten times as long.
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
KEY_FILE = ".key"  # how the name of one ends
# What the emulated platform keeps of itself: the tokens are its own, and a worker's key is given to it.
_PLATFORMS_OWN = "world.json"
_KEY_BYTES = 32
# Of services that are processes: those that the journeys sign up with.
USUAL_PASSWORDS = ("a long password", "another long one", "another password")
# A password that is a word, or an address, stands in a test for other reasons, too.
_LEAST_CHARS = 8
_HOLDS_PASSWORD = ("password", "old", "new")  # fields of a body


# By kind: what a secret looks like, from svc.ids.new_secret and others; and of some, what tells one from the like.
_RANDOM = "[A-Za-z0-9_-]{43}"
_FORMS = {
    "access token": f"svs_{_RANDOM}",
    "refresh token": f"svr_[a-z2-7]{{26}}{_RANDOM}",
    "device's token": f"svd_{_RANDOM}",
    MAIL_TOKEN: f"svm_{_RANDOM}",
    "worker key": f"svcw_{_RANDOM}",
    "API key": "svc_[0-9A-Za-z]{36}",
    "platform's token": "cfat_[0-9A-Za-z]{40}[0-9a-f]{8}",
}
_IS_ONE: Mapping[str, Callable[[str], bool]] = {
    "API key": is_api_key,
    "platform's token": lambda text: text[-8:] == f"{crc32(text[5:-8].encode()):08x}",
}
# What all of them begin with: few letters to look for.
_STEMS = (b"sv", b"cfat_")
_LONGEST = 80

_PATTERNS = {kind: re.compile(form.encode()) for kind, form in _FORMS.items()}
_ANY = re.compile("|".join(_FORMS.values()).encode())
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2})+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+")


def _in_base64(secret: bytes) -> tuple[bytes, bytes, bytes]:
    """The characters that are the same wherever the secret stands in what was encoded: behind 0, 1 or 2 bytes."""
    found = []
    for before in range(3):
        text = base64.b64encode(bytes(before) + secret)
        found.append(text[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6])
    return found[0], found[1], found[2]


def _of_form(data: bytes) -> Iterator[str]:
    """The kinds of the secrets with a form that are in `data`."""
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
                # The character before it has the first bits of the secret, and some of the byte before.
                run = _BASE64.match(data, max(0, at - (before > 0)), at + 2 * _LONGEST)
                if run is not None:
                    yield from _begun(_decoded(b"A" * before + run[0])[before:], " in base64")


def _places(needle: bytes, data: bytes) -> Iterator[int]:
    return (match.start() for match in re.finditer(re.escape(needle), data))


def _begun(text: bytes, how: str) -> Iterator[str]:
    """The kind of the secret that `text` begins with."""
    if _ANY.match(text) is None:
        return
    for kind, pattern in _PATTERNS.items():
        match = pattern.match(text)
        if match is not None and _IS_ONE.get(kind, bool)(match[0].decode()):
            yield kind + how


def _decoded(text: bytes) -> bytes:
    """What base64 says, of either alphabet, with or without its padding."""
    whole = text if len(text) % 4 != 1 else text[:-1]  # a character alone says nothing
    return base64.b64decode(whole.translate(bytes.maketrans(b"-_", b"+/")) + b"=" * (-len(whole) % 4))


@dataclass
class Search:
    """What is looked for in one test, and what was found: `leaks`, each a place and a kind."""

    passwords: set[str] = field(default_factory=set)
    leaks: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """Begin another test."""
        self.passwords.clear()
        self.leaks.clear()

    def note(self, body: object) -> None:
        """Note the passwords of a request that was accepted."""
        for name, value in body.items() if isinstance(body, dict) else ():
            if name in _HOLDS_PASSWORD and isinstance(value, str) and len(value) >= _LEAST_CHARS and "@" not in value:
                self.passwords.add(value)

    def text(self, place: str, data: bytes, *, but: str = "", keys: Iterable[bytes] = ()) -> None:
        """Search what stands in one place. `but`: the kind that it is meant to hold; `keys`: of the vault."""
        self.leaks |= {f"{place}: {kind}" for kind in {*_of_form(data), *self._known(data, keys)} if kind != but}

    def folder(self, folder: Path) -> None:
        """Search every file below a folder."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        keys = [key for path in files if path.suffix == KEY_FILE for key in _keys_of(path)]
        if any(path.name == "log" for path in files):  # of a service that was a process
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
    """What is found of a service that many tests have shared, when it has ended: places and kinds."""
    search = Search()
    search.folder(folder)
    search.text("the metrics", metrics)
    return search.leaks


def _encoded(secret: bytes) -> list[tuple[bytes, str]]:
    """The other forms of a secret that is known, and what they are called."""
    in_hex = secret.hex().encode()
    return [
        (in_hex, " in hex"),
        (in_hex.upper(), " in hex"),
        *((each, " in base64") for each in _in_base64(secret)),
    ]


def _keys_of(path: Path) -> list[bytes]:
    try:
        keys = [base64.b64decode(line, validate=True) for line in path.read_bytes().split()]
    except ValueError:  # a damaged one, of a test
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
    """Every line of the log of this process while the block runs, as a service would write it."""
    root, ours, handler = logging.getLogger(), logging.getLogger("svc"), _LogLines()
    before = ours.level
    root.addHandler(handler)
    ours.setLevel(logging.INFO)
    try:
        yield handler.lines
    finally:
        ours.setLevel(before)
        root.removeHandler(handler)


# Of the test that runs now.
SEARCH = Search()
