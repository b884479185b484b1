"""Logging: one JSON object per line on standard error, with the task's context fields.

The context (request, account, operation) is in a context variable. Child tasks inherit the variable, so their log lines
have the same fields.
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
# Priorities of the systemd journal (sd-daemon(3)) by log level. A level between two of these gets the priority of the
# lower level.
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
_DEBUG = 7
_PLAIN = (str, int, float, bool, type(None))

# All tasks of a request share one dict, so that a field that one task adds appears in the lines of all tasks.
_about: ContextVar[dict[str, str] | None] = ContextVar("svc_log_about", default=None)


def about() -> Mapping[str, str]:
    """Return the context fields of this task's log lines."""
    return _about.get() or {}


def reset_log_context(**fields: str) -> None:
    """Replace the context fields of this task, and of tasks that it starts later."""
    _about.set(fields)


def add_log_context(**fields: str) -> None:
    """Add fields to the current context, for values that become known only after the context was set."""
    context = _about.get()
    if context is not None:
        context.update(fields)


@contextmanager
def log_context(**fields: str) -> Iterator[None]:
    """Add context fields while the block runs. At its end, fields that were added inside the block are also removed."""
    token = _about.set({**about(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


class JsonFormatter(logging.Formatter):
    """A formatter for JSON lines with time (UTC), level, logger, message, context fields, extras and traceback.

    `priorities`: prefix each line with its priority in the systemd journal, such as `<3>`. Formatting never raises.
    """

    def __init__(self, *, priorities: bool = False) -> None:
        super().__init__()
        self._priorities = priorities

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
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
    """Log to stderr as JSON lines. `journal`: the value of the environment variable JOURNAL_STREAM.

    The HTTP libraries log only warnings and errors, because httpx would log every URL at level INFO.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(priorities=is_journal(sys.stderr, journal)))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "hypercorn"):
        logging.getLogger(name).setLevel(logging.WARNING)


def is_journal(stream: TextIO, journal: str) -> bool:
    """Return True if `stream` is the systemd journal. `journal`: the journal's device and inode from JOURNAL_STREAM.

    Checking that the variable is set is not sufficient. Child processes inherit the variable even if their output is
    redirected.
    """
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # the stream is not a file, or is closed
        return False
    return journal == f"{status.st_dev}:{status.st_ino}"


def _priority(level: int) -> int:
    return next((number for least, number in _PRIORITIES if level >= least), _DEBUG)


def _plain(value: object) -> object:
    """Convert `value` to JSON types. This never raises, because an incomplete log line is better than none."""
    if type(value) in _PLAIN:
        return value
    try:
        return json.loads(json.dumps(value, default=str))
    except Exception:  # noqa: BLE001  # errors in __str__, circular references, unsupported keys
        return f"<{type(value).__name__} that cannot be serialized>"


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001  # arguments that do not match the format string or cannot be formatted
        return str(record.msg)
