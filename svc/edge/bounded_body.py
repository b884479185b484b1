"""Reads the body of a response up to a maximum size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def read_body(response: httpx.Response, chunks: AsyncIterator[bytes], most_bytes: int) -> bytes:
    """Return the body of a response. `chunks`: an iterator of the response's body.

    If the body is longer than `most_bytes`, the function closes the response and returns the part that was read, which
    is also longer than `most_bytes`. Raises httpx.TransportError and httpx.DecodingError.
    """
    body = bytearray()
    try:
        async for chunk in chunks:
            body += chunk
            if len(body) > most_bytes:
                # Close the response to end the loop with an error. A `break` would leave httpx's nested async
                # generators unfinished, and Trio would warn about each of them.
                await response.aclose()
    except httpx.TransportError:
        if len(body) <= most_bytes:
            raise
    return bytes(body)
