"""Fault domains: what fails inside of one is logged once and ends there, so that no nursery around it hears of it.

One connection, one e-mail, one account, one chore: each is a domain of its own. Cancellation and the end of the process
(KeyboardInterrupt, SystemExit) are not faults and pass.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class contained:  # noqa: N801  # read as a word: `with contained(log, "actor crashed"):`
    """Log whatever goes wrong in the block as `what`, with its kind (`kind=KeyError`), its traceback and `about`.

    Also what goes wrong while the block is being cancelled: Trio joins both in one group, and only the cancellation
    of it goes on. `failed` tells afterwards whether something went wrong.
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
    """The name of the error's type; of a group, that of its first leaf: `KeyError`."""
    return type(first_of(error)).__name__


def first_of(error: BaseException) -> BaseException:
    """The error itself; of a group, its first leaf."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
