"""Parses request bodies without delaying other requests, and computes their digests for an Idempotency-Key."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import trio
from pydantic_core import from_json

from svc.api.shape import LARGE_BYTES, Body, parse_body

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.http.resources.password_check import PasswordCheck

T = TypeVar("T")
B = TypeVar("B", bound=Body)


class Bodies:
    """Parses request bodies. Large bodies are parsed in a thread."""

    def __init__(self, passwords: PasswordCheck) -> None:
        self._passwords = passwords
        # Only one large body is parsed at a time, because several threads do not run Python code faster.
        self._large = trio.CapacityLimiter(1)

    async def without_delay(self, read: Callable[[bytes], T], raw: bytes) -> T:
        """Return `read(raw)`. For a large body, `read` runs in a thread, so that other requests do not have to wait."""
        if len(raw) <= LARGE_BYTES:
            return read(raw)
        return await trio.to_thread.run_sync(read, raw, limiter=self._large)

    async def parse(self, model: type[B], raw: bytes) -> B:
        """Parse a JSON body as `model`. Raises Invalid if the body is malformed or does not match the model."""
        return await self.without_delay(partial(parse_body, model), raw)

    async def parse_and_digest(self, model: type[B], raw: bytes, name: str) -> tuple[B, str]:
        """Return the parsed body and its digest. If the body contains a password, the digest is a slow hash.

        `name`: identifies the request, and becomes part of the slow hash. Raises the errors of `parse`.
        """
        if model.holds_password:
            body = await self.parse(model, raw)
            return body, await self._passwords.digest(_canonical(raw), name)
        return await self.without_delay(partial(_parsed_and_digested, model), raw)


def _parsed_and_digested(model: type[B], raw: bytes) -> tuple[B, str]:
    return parse_body(model, raw), hashlib.sha256(_canonical(raw)).hexdigest()


def _canonical(raw: bytes) -> bytes:
    """Return the body in a form that does not depend on field order or white space."""
    return json.dumps(from_json(raw or b"{}"), sort_keys=True).encode()
