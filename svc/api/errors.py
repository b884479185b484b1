"""How errors are shown: those that a request is refused with, and those that an object keeps."""

from __future__ import annotations

from typing import Any

from svc.api.shape import Answer, may_be_absent
from svc.errors import ErrorNote, with_remedy


class ErrorObject(Answer):
    """What went wrong. Branch on `code`: it is stable; `message` is for people."""

    code: str
    message: str
    details: dict[str, Any] | None = may_be_absent(
        "`remedy`: what a person can do about it, where there is something. `issues`, of `invalid_request`: of each"
        " field that is wrong its `path`, a stable `code`, a `message`, and the `limit` that the message names. The"
        " rest depends on the code.",
    )

    @classmethod
    def of(cls, note: ErrorNote | None) -> ErrorObject | None:
        """What an object keeps of a refusal, with its remedy; None: nothing is wrong."""
        return None if note is None else cls(**with_remedy(note))


class ErrorAnswer(Answer):
    """The body of every refusal."""

    error: ErrorObject
