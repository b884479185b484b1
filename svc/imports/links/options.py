"""Reads the columns with options of links. The columns have the names of the API's fields. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import from_json

from svc.errors import Invalid, Issue
from svc.imports.links.restrictions import UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping

# Maps column names, in lower case and reduced to letters, to fields of links.
OPTIONS = {"forwardquery": "forward_query", "afterurl": "after_url", "split": "split"}
# Columns that contain options only in exports of this service. In other files, these columns contain restrictions.
PERIOD = {"startsat": "starts_at", "endsat": "ends_at"}
# How spreadsheets and databases write true, in lower case.
TRUE = ("true", "t", "1")


def fields_of(texts: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of a link that are not empty, as in a request body. `texts`: the text of each field in the row.

    `rules` and `split` are JSON lists. Raises Invalid.
    """
    return {name: _value(name, text) for name, text in texts.items() if text.lower() not in UNSET}


def _value(name: str, text: str) -> object:
    if name == "forward_query":
        return True if text.lower() in TRUE else text
    if name not in ("rules", "split"):
        return text
    try:
        return from_json(text)
    except ValueError:
        raise Invalid([Issue(name, "must be a JSON list", "not_list")]) from None
