"""The API's wire format: envelope, errors, pages, bodies. Cloudflare docs: fundamentals/api/reference."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeVar

from quart import Response, request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
JSON = "application/json"


class ApiError(Exception):
    """An error in the API's own format."""

    def __init__(self, status: int, code: int, message: str, *, chain: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.chain = status, code, message, chain

    def response(self) -> Response:
        """Return the error as a response."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.chain:
            error["error_chain"] = self.chain
        return envelope(None, errors=[error], status=self.status)


def invalid(message: str, code: int = 10001) -> ApiError:
    """Return a 400 error for an invalid request."""
    return ApiError(400, code, message)


def no_route() -> ApiError:
    """Return a 404 error for a malformed id in the path or an unknown path."""
    message = (
        f"Could not route to {request.path.removeprefix('/client/v4')}, perhaps your object identifier is invalid?"
    )
    return ApiError(404, 7003, message)


def envelope(
    result: Any,
    *,
    errors: list[dict[str, Any]] | None = None,
    info: dict[str, int] | None = None,
    messages: list[dict[str, Any]] | None = None,
    status: int = 200,
) -> Response:
    """Return a response in the envelope that all paths except GraphQL and script content use."""
    body: dict[str, Any] = {"success": not errors, "errors": errors or [], "messages": messages or [], "result": result}
    if info is not None:
        body["result_info"] = info
    return Response(json.dumps(body), status=status, content_type=JSON)


def query_int(name: str, default: int, low: int, high: int) -> int:
    """Return an integer query parameter, clamped to the bounds as the platform does. Raises ApiError if malformed."""
    text = request.args.get(name)
    if text is None:
        return default
    try:
        return min(max(int(text), low), high)
    except ValueError:
        raise invalid(f"{name} must be a number") from None


def shuffled(items: Sequence[T], key: Callable[[T], str]) -> list[T]:
    """Return the items in an arbitrary order that clients cannot rely on.

    The order changes only when the set of items changes, so a listing over several pages still shows each item once.
    """
    salt = hashlib.sha256("".join(sorted(key(item) for item in items)).encode()).digest()
    return sorted(items, key=lambda item: hashlib.sha256(salt + key(item).encode()).digest())


def page_of(items: Sequence[T], *, size: int, most: int) -> tuple[Sequence[T], dict[str, int]]:
    """Return the items of the requested page (`page`, `per_page`) and the result_info."""
    number = query_int("page", 1, 1, 1_000_000)
    per_page = query_int("per_page", size, 1, most)
    part = items[(number - 1) * per_page : number * per_page]
    info = {
        "page": number,
        "per_page": per_page,
        "count": len(part),
        "total_count": len(items),
        "total_pages": -(-len(items) // per_page),
    }
    return part, info


def page(items: Sequence[T], show: Callable[[T], Any], *, size: int, most: int) -> Response:
    """Return one page of a listing as a response. Pages after the last one are empty."""
    part, info = page_of(items, size=size, most=most)
    return envelope([show(item) for item in part], info=info)


async def body_json() -> Any:
    """Return the request's JSON body. Raises ApiError 400 if it is malformed."""
    try:
        return json.loads(await request.get_data() or b"null")
    except ValueError:
        raise invalid("Could not parse request body as JSON", 10006) from None


async def body_object() -> dict[str, Any]:
    """Return the request's JSON body, which must be an object. Raises ApiError 400."""
    body = await body_json()
    if not isinstance(body, dict):
        raise invalid("The request body must be a JSON object", 10006)
    return body
