"""The log: one JSON object a line on standard error, and what each line is about.

What a task works on (the request, the account, the operation) is kept in a context variable, which tasks inherit from
who starts them, so every line tells it without being told.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from svc.clock import iso

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# The journal's own numbers (sd-daemon(3)); what is between two levels is the one below.
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
_DEBUG = 7
_PLAIN = (str, int, float, bool, type(None))

# Of a request the tasks that it starts share one, so that what one of them finds the others tell, too.
_about: ContextVar[dict[str, str] | None] = ContextVar("svc_log_about", default=None)


def about() -> Mapping[str, str]:
    """What the lines of this task are about."""
    return _about.get() or {}


def begin_lines(**fields: str) -> None:
    """From here on the lines of this task, and of those that it starts, are about this and nothing else."""
    _about.set(fields)


def tell_lines(**fields: str) -> None:
    """The lines of what is worked on are about this, too, as far as it is known only now."""
    found = _about.get()
    if found is not None:
        found.update(fields)


@contextmanager
def lines_about(**fields: str) -> Iterator[None]:
    """While the block runs the lines are about this as well; what is told inside ends with it."""
    token = _about.set({**about(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, what it is about, the extras, the traceback.

    `priorities`: before it stands its level as the journal reads it, `<3>`. Raises nothing.
    """

    def __init__(self, *, priorities: bool = False) -> None:
        super().__init__()
        self._priorities = priorities

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        extras = {name: _plain(value) for name, value in vars(record).items() if name not in _STANDARD}
        line = {
            **about(),
            **extras,
            "at": iso(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = json.dumps(line, ensure_ascii=False)
        return f"<{_priority(record.levelno)}>{text}" if self._priorities else text


def set_up_logging(journal: str = "") -> None:
    """Log to stderr, one JSON object a line. `journal`: what JOURNAL_STREAM says.

    httpx says every address at INFO: only its warnings are wanted.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(priorities=is_journal(sys.stderr, journal)))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "hypercorn"):
        logging.getLogger(name).setLevel(logging.WARNING)


def is_journal(stream: TextIO, journal: str) -> bool:
    """Whether what is written to `stream` goes to the journal, whose device and inode JOURNAL_STREAM tells.

    The variable is inherited by whatever a unit starts, also by what then writes elsewhere.
    """
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):  # no file, or closed
        return False
    return journal == f"{found.st_dev}:{found.st_ino}"


def _priority(level: int) -> int:
    return next((number for least, number in _PRIORITIES if level >= least), _DEBUG)


def _plain(value: object) -> object:
    """`value` as JSON has it. A line that says less is better than none, so nothing that a value does is raised."""
    if type(value) in _PLAIN:
        return value
    try:
        return json.loads(json.dumps(value, default=str))
    except Exception:  # noqa: BLE001  # whatever the __str__ of an extra raises; one that holds itself, odd keys
        return f"<{type(value).__name__} that cannot be written>"


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001  # arguments that do not fit the text, or cannot be written
        return str(record.msg)
