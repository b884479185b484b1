"""The fields for titles, notes and tags of links in request bodies."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from svc.api.fields import Wrong
from svc.model import link_texts
from svc.model.link_texts import (
    MAX_NOTE_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    MAX_TITLE_CHARS,
    NOTE_PATTERN,
    TAG_PATTERN,
    TITLE_PATTERN,
)

TITLE = f"A title that only you can see: one line of up to {MAX_TITLE_CHARS} characters."
NOTE = f"A private note that only you can see, up to {MAX_NOTE_CHARS:,} characters."
TAGS = (
    f"At most {MAX_TAGS} tags of 1 to {MAX_TAG_CHARS} characters each, without commas or slashes. The service stores"
    " tags in lower case, with hyphens in place of spaces, sorted and without duplicates."
)


TAG_SCHEMA: dict[str, object] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_TAG_CHARS,
    "pattern": TAG_PATTERN,
    "examples": ["spring-sale"],
}


def parse_tag(value: str) -> str:
    """Return the normalized tag. Raises Wrong if the tag is not valid."""
    if not value:
        raise Wrong("must not be empty", "too_short", 1)
    if len(value) > MAX_TAG_CHARS:  # checked first, because the pattern takes quadratic time
        raise _too_long()
    if re.fullmatch(TAG_PATTERN, value) is None or value.endswith("\n"):
        raise Wrong("must have a letter, digit or symbol, and no commas, slashes or control characters", "wrong_form")
    tag = link_texts.normalize_tag(value)
    if len(tag) > MAX_TAG_CHARS:
        raise _too_long()
    return tag


def _too_long() -> Wrong:
    return Wrong(f"must have at most {MAX_TAG_CHARS} characters", "too_long", MAX_TAG_CHARS)


def _tags(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


# White space at the ends of a title or note is removed. A text without visible characters becomes "".
LinkTitle = Annotated[
    str,
    Field(max_length=MAX_TITLE_CHARS, pattern=TITLE_PATTERN),
    AfterValidator(lambda text: link_texts.normalize_title(text) or ""),
    WithJsonSchema(
        {"type": "string", "maxLength": MAX_TITLE_CHARS, "pattern": TITLE_PATTERN, "examples": ["Autumn sale"]}
    ),
]
LinkNote = Annotated[
    str,
    Field(max_length=MAX_NOTE_CHARS, pattern=NOTE_PATTERN),
    AfterValidator(lambda text: link_texts.normalize_note(text) or ""),
    WithJsonSchema(
        {"type": "string", "maxLength": MAX_NOTE_CHARS, "pattern": NOTE_PATTERN, "examples": ["Printed on the flyer"]}
    ),
]
Tag = Annotated[
    str,
    Field(min_length=1, max_length=MAX_TAG_CHARS),
    AfterValidator(parse_tag),
    WithJsonSchema(TAG_SCHEMA),
]
Tags = Annotated[tuple[Tag, ...], Field(max_length=MAX_TAGS, fail_fast=True), AfterValidator(_tags)]
