"""Translates the Worker's JavaScript regular expressions to Python. No I/O.

The Worker's build exports the source and flags of each expression. Alternatives are tried in the same order in both
languages. The module rewrites syntax that has a different meaning in Python. Syntax that cannot be translated is
rejected when the bundle is loaded. As in JavaScript, text consists of UTF-16 units (`units_of`).
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from functools import cache

# In both languages, \d, \w, \b and case folding are limited to ASCII, because the unicode flag is not set.
_FLAGS = {"": 0, "i": re.IGNORECASE, "g": 0, "gi": re.IGNORECASE}
_LINE_ENDS = r"\n\r\u2028\u2029"
# The white space and line terminators of ECMA-262, 12.2 and 12.3.
_SPACE = r"\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SAME_CLASSES = "dDwWbB"
_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<class>\[(?:\\.|[^\]\\])*\])|(?P<behind>\(\?<[=!])|(?P<any>\.)|(?P<end>\$)|(?P<rest>.)",
    re.DOTALL,
)
_IN_CLASS = re.compile(r"\\(.)|(.)", re.DOTALL)


def units_of(text: str) -> str:
    """Return the text with each character above U+FFFF replaced by a surrogate pair, as in JavaScript."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(map(chr, array("H", text.encode("utf-16", "surrogatepass")[2:])))


@cache
def compiled(source: str, flags: str) -> re.Pattern[str]:
    """Compile a Worker's pattern for text in UTF-16 units. Raises ValueError if the pattern cannot be translated."""
    try:
        if flags not in _FLAGS or not source.isascii():
            raise ValueError("unsupported flags or characters")
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
                parts.append(_lookbehind(_group(tokens), negative=text.endswith("!")))
            case "any":
                parts.append(f"[^{_LINE_ENDS}]")
            case "end":
                parts.append(r"\Z")
            case _:
                parts.append(text)
    return "".join(parts)


def _tokens(source: str) -> deque[tuple[str, str]]:
    return deque((str(match.lastgroup), match[0]) for match in _TOKEN.finditer(source))


def _group(tokens: deque[tuple[str, str]]) -> list[str]:
    """Consume the tokens up to the end of a group, and return the group's alternatives."""
    alternatives = [""]
    while tokens:
        _, text = tokens.popleft()
        if text == ")":
            return alternatives
        if text.startswith("("):
            raise ValueError("unsupported group in a lookbehind")
        if text == "|":
            alternatives.append("")
        else:
            alternatives[-1] += text
    raise ValueError("unterminated group")


def _escape(sign: str) -> str:
    if sign == "s":
        return f"[{_SPACE}]"
    if sign == "S":
        return f"[^{_SPACE}]"
    if sign.isalnum() and sign not in _SAME_CLASSES:
        raise ValueError(f"unsupported escape: \\{sign}")
    return "\\" + sign


def _class(inside: str) -> str:
    """Translate a character class, escaping characters that are special only in Python."""
    negated = inside.startswith("^")
    parts = ["[^" if negated else "["]
    after_class = False
    for escaped, plain in _IN_CLASS.findall(inside[negated:]):
        if escaped == "s":
            parts.append(_SPACE)
        elif escaped in ("d", "w", "t"):
            parts.append("\\" + escaped)
        elif escaped.isalnum():
            raise ValueError(f"unsupported escape: [\\{escaped}]")
        # in Python, a range cannot begin with a class
        elif escaped or plain in "[&~|" or (plain == "-" and after_class):
            parts.append("\\" + (escaped or plain))
        else:
            parts.append(plain)
        after_class = escaped in ("d", "w", "s") and escaped != ""
    return "".join([*parts, "]"])


def _lookbehind(alternatives: list[str], *, negative: bool) -> str:
    """Translate a lookbehind to one lookbehind per alternative, because Python requires a fixed length."""
    patterns = [_python(alternative) for alternative in alternatives]
    if negative:
        return "".join(f"(?<!{pattern})" for pattern in patterns)
    return f"(?:{'|'.join(f'(?<={pattern})' for pattern in patterns)})"
