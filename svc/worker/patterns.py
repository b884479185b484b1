"""The worker's regular expressions, which JavaScript reads, as Python reads them. Pure.

The worker's build hands them over as their source and flags. Both languages try the same alternatives in the same
order; where they differ in what a sign means, the sign is written out here, and what cannot be is refused when the
patterns are read, so never while somebody waits. Texts are in UTF-16 units (`units_of`), which JavaScript counts in.
"""

from __future__ import annotations

import re
from array import array
from collections import deque

# Both without the unicode flag: \d, \w and \b know ASCII only, and no letter beyond it is the other case of one in it.
_FLAGS = {"": 0, "i": re.IGNORECASE, "g": 0, "gi": re.IGNORECASE}
_LINE_ENDS = r"\n\r\u2028\u2029"
# ECMA-262, 12.2 and 12.3.
_SPACE = r"\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SAME_CLASSES = "dDwWbB"
_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<class>\[(?:\\.|[^\]\\])*\])|(?P<behind>\(\?<[=!])|(?P<any>\.)|(?P<end>\$)|(?P<rest>.)",
    re.DOTALL,
)
_IN_CLASS = re.compile(r"\\(.)|(.)", re.DOTALL)


def units_of(text: str) -> str:
    """The text with each character beyond the first 65,536 as the two halves that JavaScript sees."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(map(chr, array("H", text.encode("utf-16", "surrogatepass")[2:])))


def compiled(source: str, flags: str) -> re.Pattern[str]:
    """A pattern of the worker, for texts in UTF-16 units. Raises ValueError: one that cannot mean the same here."""
    try:
        if flags not in _FLAGS or not source.isascii():
            raise ValueError("flags or characters that are not known here")
        return re.compile(_python(source), re.ASCII | _FLAGS[flags])
    except (ValueError, re.error) as error:
        raise ValueError(f"{error}: /{source}/{flags}") from None


def _python(source: str) -> str:
    parts: list[str] = []
    tokens = _tokens(source)
    while tokens:
        kind, text = tokens.popleft()
        match kind:
            case "escape":
                parts.append(_escape(text[1]))
            case "class":
                parts.append(_class(text[1:-1]))
            case "behind":
                parts.append(_look_behind(_group(tokens), negative=text.endswith("!")))
            case "any":
                parts.append(f"[^{_LINE_ENDS}]")
            case "end":
                parts.append(r"\Z")
            case _:
                parts.append(text)
    return "".join(parts)


def _tokens(source: str) -> deque[tuple[str, str]]:
    return deque((str(found.lastgroup), found[0]) for found in _TOKEN.finditer(source))


def _group(tokens: deque[tuple[str, str]]) -> list[str]:
    """Takes the tokens to the end of the group whose beginning was taken: the texts of its alternatives."""
    alternatives = [""]
    while tokens:
        _, text = tokens.popleft()
        if text == ")":
            return alternatives
        if text.startswith("("):
            raise ValueError("a group in a look-behind")
        if text == "|":
            alternatives.append("")
        else:
            alternatives[-1] += text
    raise ValueError("a group without its end")


def _escape(sign: str) -> str:
    if sign == "s":
        return f"[{_SPACE}]"
    if sign == "S":
        return f"[^{_SPACE}]"
    if sign.isalnum() and sign not in _SAME_CLASSES:
        raise ValueError(f"an escape that is not known here: \\{sign}")
    return "\\" + sign


def _class(inside: str) -> str:
    """A class of characters: what has a meaning for Python alone is escaped."""
    negated = inside.startswith("^")
    parts = ["[^" if negated else "["]
    after_class = False
    for escaped, plain in _IN_CLASS.findall(inside[negated:]):
        if escaped == "s":
            parts.append(_SPACE)
        elif escaped in ("d", "w"):
            parts.append("\\" + escaped)
        elif escaped.isalnum():
            raise ValueError(f"an escape that is not known here: [\\{escaped}]")
        elif escaped or plain in "[&~|" or (plain == "-" and after_class):  # no range begins with a class
            parts.append("\\" + (escaped or plain))
        else:
            parts.append(plain)
        after_class = escaped in ("d", "w", "s") and escaped != ""
    return "".join([*parts, "]"])


def _look_behind(alternatives: list[str], *, negative: bool) -> str:
    """Python looks behind for one length at a time: each alternative becomes a look of its own."""
    looks = [_python(alternative) for alternative in alternatives]
    if negative:
        return "".join(f"(?<!{look})" for look in looks)
    return f"(?:{'|'.join(f'(?<={look})' for look in looks)})"
