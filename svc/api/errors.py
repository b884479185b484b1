"""Errors in responses: the error of a failed request, and errors that are stored with an object."""

from __future__ import annotations

from typing import Any

from svc.api.shape import ResponseBody, optional_field
from svc.errors import ErrorNote, with_remedy


class ErrorObject(ResponseBody):
    """An error. Branch on `code`, which is stable; `message` is for people."""

    code: str
    message: str
    details: dict[str, Any] | None = optional_field(
        "`remedy` says what the user can do, if anything. `issues` (only for `invalid_request`) describes each invalid"
        " field with its `path`, a stable `code` and a `message`. If the message mentions a limit, `limit` contains it."
        " Other details depend on the code.",
    )

    @classmethod
    def from_model(cls, note: ErrorNote | None) -> ErrorObject | None:
        """Return the response for a stored error, with its remedy, or None if there is no error."""
        return None if note is None else cls(**with_remedy(note))


class ErrorResponse(ResponseBody):
    """The body of every error response."""

    error: ErrorObject
