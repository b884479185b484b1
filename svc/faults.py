"""Fault isolation: logs an exception and suppresses it, so that the exception does not reach the enclosing nursery.

Each connection, email, account and housekeeping run is isolated. Cancellation and process exit (KeyboardInterrupt,
SystemExit) still propagate.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class contained:  # noqa: N801  # used like a function: `with contained(log, "actor crashed"):`
    """Suppress an exception raised in the block, and log it as `what` with its type, its traceback and `about`.

    If an exception occurs while the block is being cancelled, Trio raises both in one group. In that case, only the
    cancellation is re-raised. The attribute `failed` is True if an exception was logged.
    """

    def __init__(self, log: logging.Logger, what: str, *, level: int = logging.ERROR, **about: object) -> None:
        self._log = log
        self._what = what
        self._level = level
        self._about = about
        self.failed = False

    def __enter__(self) -> contained:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        faults: Exception | None
        rest: BaseException | None
        if isinstance(error, BaseExceptionGroup):
            faults, rest = error.split(Exception)
        else:
            faults, rest = (error, None) if isinstance(error, Exception) else (None, error)
        if faults is None:
            return False
        self.failed = True
        self._log.log(self._level, self._what, exc_info=faults, extra={"kind": kind_of(faults), **self._about})
        if rest is not None:
            raise rest from None
        return True


def kind_of(error: BaseException) -> str:
    """Return the name of the exception's type, such as `KeyError`, or of the type of a group's first exception."""
    return type(first_of(error)).__name__


def first_of(error: BaseException) -> BaseException:
    """Return the exception. For an exception group, return the first exception in it that is not itself a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
