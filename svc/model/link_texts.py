"""The texts that users give to links: titles, notes and tags. No I/O.

The service stores each text in a normal form, so that two spellings of a tag are the same tag, and so that both
database engines find a title regardless of case.
"""

from __future__ import annotations

import re
import unicodedata

MAX_TITLE_CHARS = 200
MAX_NOTE_CHARS = 2_000
MAX_TAG_CHARS = 40
MAX_TAGS = 10

_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
# Characters that have no visible form, or only change the direction of the text around them.
_INVISIBLE = r"\s\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
# A title is one line of any characters except control characters.
TITLE_PATTERN = rf"^[^{_CONTROL}]*$"
# A note can have several lines, which end with CR, LF or both.
NOTE_PATTERN = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]*$"
# Tags contain no comma, which separates tags in lists, and no slash, which separates the segments of a path. They also
# contain no characters that change the direction of the text around them. A tag cannot consist only of dots, because
# `.` and `..` have a special meaning in paths.
_NOT_IN_TAGS = rf"{_CONTROL},/\\\u200e\u200f\u202a-\u202e\u2066-\u2069"
TAG_PATTERN = rf"^[^{_NOT_IN_TAGS}]*[^{_NOT_IN_TAGS}{_INVISIBLE}._-][^{_NOT_IN_TAGS}]*$"

_DOTTED_I = re.compile("i\N{COMBINING DOT ABOVE}+")


def normalize_title(text: str) -> str | None:
    """Return the title without white space at its ends, or None if it has no visible characters."""
    return _visible(text.strip())


def one_line(text: str) -> str:
    """Return the text on one line: each sequence of white space and control characters becomes a single space."""
    return " ".join(re.sub(f"[{_CONTROL}]+", " ", text).split())


def shortened(text: str, most_chars: int) -> str:
    """Return the text, with an ellipsis in place of its end if it has more than `most_chars` characters."""
    return text if len(text) <= most_chars else f"{text[: most_chars - 1].rstrip()}…"


def normalize_note(text: str) -> str | None:
    """Return the note with LF line endings and trimmed white space, or None if it has no visible characters."""
    return _visible(text.replace("\r\n", "\n").replace("\r", "\n").strip())


def normalize_tag(text: str) -> str:
    """Return the tag in lower case and in the form NFC, with a hyphen in place of each sequence of white space.

    Normalizing the result again does not change it. Letters are not folded any further, so `straße` stays as it is. The
    lower case of `İ` is a plain `i` without a combining dot, because readers could not see the difference.
    """
    lower = _DOTTED_I.sub("i", unicodedata.normalize("NFC", text).lower())
    return "-".join(unicodedata.normalize("NFC", lower).split())


def folded(text: str) -> str:
    """Return the form of a text for comparisons that ignore case. `İ` and `i` count as the same letter."""
    return unicodedata.normalize("NFC", _DOTTED_I.sub("i", unicodedata.normalize("NFC", text).casefold()))


def _visible(text: str) -> str | None:
    return text if re.search(f"[^{_INVISIBLE}]", text) else None
