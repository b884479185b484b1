"""Reads the titles, notes and tags of links in other products' exports. No I/O.

Other products allow longer texts and more tags. An import never rejects a link because of its texts: it shortens them,
and the report says so.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pydantic_core import from_json

from svc.api.fields import Wrong
from svc.api.link_texts import parse_tag
from svc.imports.reader import NULLS
from svc.model.link_texts import (
    MAX_NOTE_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    MAX_TITLE_CHARS,
    normalize_note,
    normalize_tag,
    normalize_title,
    one_line,
    shortened,
)

# Column names in lower case, reduced to letters and digits. If several columns match, the first name is used. Dub and
# Sink have a description for previews and a separate comment, while Kutt has only a description.
TITLES = ("title",)
NOTES = ("note", "notes", "comments", "comment", "description")
TAGS = ("tags", "tag")
_CONTROL_IN_NOTES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]+")
# Shlink and Dub separate tags with these characters. This service's exports contain a JSON list.
_SEPARATOR = re.compile(r"[|,;]")
_NOT_IN_TAGS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029,/\\\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


class Texts(NamedTuple):
    """The texts of a link, in the form that the service stores. `shortened`: True if a part of them was left out."""

    title: str | None = None
    note: str | None = None
    tags: tuple[str, ...] = ()
    shortened: bool = False


NO_TEXTS = Texts()


def read_texts(title: str | None, note: str | None, tags: str | None) -> Texts:
    """Return the texts in these fields of a row. A field is None if the file has no such column."""
    whole_title = one_line(_given(title))
    whole_note = normalize_note(_CONTROL_IN_NOTES.sub(" ", _given(note))) or ""
    names = _names(_given(tags))
    read = [_tag(name) for name in names]
    known = tuple(dict.fromkeys(tag for tag in read if tag is not None))
    is_shortened = (
        len(whole_title) > MAX_TITLE_CHARS
        or len(whole_note) > MAX_NOTE_CHARS
        or len(known) > MAX_TAGS
        or any(tag is None or len(normalize_tag(name)) > MAX_TAG_CHARS for name, tag in zip(names, read, strict=True))
    )
    return Texts(
        normalize_title(shortened(whole_title, MAX_TITLE_CHARS)),
        normalize_note(shortened(whole_note, MAX_NOTE_CHARS)),
        tuple(sorted(known[:MAX_TAGS])),
        is_shortened,
    )


def _given(text: str | None) -> str:
    return "" if text is None or text.lower() in NULLS else text


def _names(text: str) -> list[str]:
    """Return the tags in a field, which is a JSON list of texts or named objects, or a list with separators."""
    if text.startswith("["):
        try:
            items = from_json(text)
        except ValueError:
            items = []
        named = [item.get("name") if isinstance(item, dict) else item for item in items]
        names = [name for name in named if isinstance(name, str)]
    else:
        names = _SEPARATOR.split(text)
    return [name for name in names if name.strip()]


def _tag(name: str) -> str | None:
    """Return the normalized tag, shortened if it is too long; None if no valid tag remains."""
    try:
        return parse_tag(normalize_tag(_NOT_IN_TAGS.sub(" ", name))[:MAX_TAG_CHARS])
    except Wrong:
        return None
