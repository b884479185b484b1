"""Text encodings and line endings that products and spreadsheets use for exports."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WRITTEN: Mapping[str, Callable[[str], bytes]] = {
    "utf-8": lambda text: text.encode(),
    "utf-8 bom": lambda text: codecs.BOM_UTF8 + text.encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16 be": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "no bom": lambda text: text.encode("utf-16-le"),
    "no bom be": lambda text: text.encode("utf-16-be"),
    "1252": lambda text: text.encode("cp1252"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "blank lines": lambda text: text.replace("\n", "\n\n").encode(),
}
