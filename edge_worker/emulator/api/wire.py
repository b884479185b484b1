"""The API's common form: envelope, errors, pages, bodies. Platform docs: fundamentals/api/reference."""

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
    """A refusal in the API's own form."""

    def __init__(self, status: int, code: int, message: str, *, chain: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.chain = status, code, message, chain

    def response(self) -> Response:
        """Make an answer of the refusal."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.chain:
            error["error_chain"] = self.chain
        return envelope(None, errors=[error], status=self.status)


def invalid(message: str, code: int = 10001) -> ApiError:
    """Return a 400: the request itself is wrong."""
    return ApiError(400, code, message)


def no_route() -> ApiError:
    """Return a 404: an id in the path is malformed, or there is no such path."""
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
    """Make an answer in the envelope that every path but GraphQL and script content has."""
    body: dict[str, Any] = {"success": not errors, "errors": errors or [], "messages": messages or [], "result": result}
    if info is not None:
        body["result_info"] = info
    return Response(json.dumps(body), status=status, content_type=JSON)


def query_int(name: str, default: int, low: int, high: int) -> int:
    """Read a whole number of the query, held within bounds as the platform does. Raises ApiError for others."""
    text = request.args.get(name)
    if text is None:
        return default
    try:
        return min(max(int(text), low), high)
    except ValueError:
        raise invalid(f"{name} must be a number") from None


def shuffled(items: Sequence[T], key: Callable[[T], str]) -> list[T]:
    """Return the items in an order that nobody can lean on.

    It changes whenever the set of items does, and only then, so that a listing over several pages still shows each
    item once.
    """
    salt = hashlib.sha256("".join(sorted(key(item) for item in items)).encode()).digest()
    return sorted(items, key=lambda item: hashlib.sha256(salt + key(item).encode()).digest())


def page_of(items: Sequence[T], *, size: int, most: int) -> tuple[Sequence[T], dict[str, int]]:
    """Return the items of the page that the query asks for (`page`, `per_page`), and the result_info."""
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
    """Answer with one page of a listing; after the last page: an empty list."""
    part, info = page_of(items, size=size, most=most)
    return envelope([show(item) for item in part], info=info)


async def body_json() -> Any:
    """Read the request's JSON body. Raises ApiError 400 when it is none."""
    try:
        return json.loads(await request.get_data() or b"null")
    except ValueError:
        raise invalid("Could not parse request body as JSON", 10006) from None


async def body_object() -> dict[str, Any]:
    """Read the request's JSON body, which must be an object. Raises ApiError 400."""
    body = await body_json()
    if not isinstance(body, dict):
        raise invalid("The request body must be a JSON object", 10006)
    return body
