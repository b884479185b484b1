"""The location of the store, as commands and the log show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from svc.config import StoreConfig


def location(config: StoreConfig) -> str:
    """Return the path of the database file, or the PostgreSQL URL without user name and password."""
    url = config.url.get_secret_value()
    if url.startswith("sqlite:///"):
        return str(Path(url.removeprefix("sqlite:///")).absolute())
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
