"""The log: one JSON object a line on standard error."""

from __future__ import annotations

import json
import logging
import sys

from svc.clock import iso

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, the extras, the traceback. Raises nothing."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        extras = {name: _plain(value) for name, value in vars(record).items() if name not in _STANDARD}
        line = {
            **extras,
            "at": iso(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def set_up_logging() -> None:
    """Log to stderr, one JSON object a line. httpx says every address at INFO: only its warnings are wanted."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "hypercorn"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _plain(value: object) -> object:
    """`value` as JSON has it. A line that says less is better than none, so nothing that a value does is raised."""
    try:
        return json.loads(json.dumps(value, default=str))
    except Exception:  # noqa: BLE001  # whatever the __str__ of an extra raises; one that holds itself, odd keys
        return f"<{type(value).__name__} that cannot be written>"


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001  # arguments that do not fit the text, or cannot be written
        return str(record.msg)
