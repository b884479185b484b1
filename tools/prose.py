"""`make prose`: find words that docs/develop/writing.md says to avoid, and docstrings with an incorrect beginning.

In Python and JavaScript files, the program checks docstrings, comments and string literals. It checks Markdown, TOML
and shell files as a whole. `python -m tools.prose PATH…` checks only these files or folders. The exit status is 1 if
there are problems.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).parents[1]

# Patterns to avoid, with their replacements.
WORDS: Sequence[tuple[str, str]] = (
    (r"mend(?:s|ed|ing)?", "fix, repair"),
    (r"told|tells?|telling", "show, report, log, notify"),
    (r"look(?:s|ed|ing)?(?! ?up\b)", "check, poll, inspect, query"),
    (r"troubles?", "problem, error"),
    (r"go(?:es)? on|going on|went on", "continue, keep running"),
    (r"by (?:it|them)sel(?:f|ves)", "automatically"),
    (r"whoever|whomever|whom", "the user, the caller, any client that"),
    (r"nobody(?:'s)?", "no user, unassigned, nothing"),
    (r"needs? a hand", "needs attention"),
    (r"be alive", "still be valid"),
    (r"life|lives|moods?", "run, mode"),
    (r"rooms?|houses?", "package, module"),
    (r"left ?overs?|what is left", "remaining resources"),
    (r"stands?(?! (?:in|ins|by|alone)\b)", "is, exists, is stored"),
    (r"for good", "permanently"),
    (r"hears?(?: of)?", "is notified of"),
    (r"so many|so much", "n"),
    (r"of (?:its|their) own", "separate, its own"),
    (r"cut short", "interrupted"),
    (r"pieces?", "part, chunk, step"),
    (r"at once", "immediately, or at the same time"),
    (r"from nothing", "from a clean checkout"),
    (r"meanwhile", "in the meantime, since then, or name the time"),
    (r"in vain", "without effect"),
    (r"some seconds|some minutes", "a few seconds"),
    (r"(?<!there )is no(?= (?!longer\b|more\b|less\b|other\b|one\b|such\b))", "is not a"),
    (r"not of the form", "is not a valid"),
    (r"the time is over|time was over|is over(?! \d)", "has expired, has ended"),
    (r"the wish|wishes", "request"),
    (r"(?-i:[eE]-mails?)", "email"),
    (r"beside", "next to"),
    (
        r"(?:an?|the|each|every|earlier|interrupted|pending|failed) connects?(?=[.,;:)]| (?:is|was|has|that)\b)",
        "connect operation",
    ),
    (r"hitherto|so to speak|count audits?", "until now, or the established term"),
    (r"thereby|thereof|therein|whence|hence|whilst", "a plainer word"),
    (r"(?:behavi|col|fav)our\w*|centres?|labelled|(?:recogn|organ|normal|serial)is(?:e|ed|es)", "American spelling"),
)
# The word boundary precedes the alternatives, so that the alternatives are not tried within words.
_ALTERNATIVES = "|".join(f"(?P<w{i}>{word})" for i, (word, _) in enumerate(WORDS))
_PATTERN = re.compile(rf"\b(?:{_ALTERNATIVES})(?!\w)", re.IGNORECASE)
# The same pattern for text in lower case. It takes only a fifth of the time.
_IN_LOWER_CASE = re.compile(rf"\b(?:{_ALTERNATIVES})(?!\w)")
# Words with which a docstring must not begin, because they start a noun clause or the answer to a question that is not
# asked.
_CLAUSES = frozenset(
    {"who", "whom", "whose", "of", "as", "that", "what", "whether", "how", "where", "why", "which", "whoever"}
)
# A possible docstring with an incorrect beginning, in the format of ruff. Only sources with a match are parsed.
_BEGINNING = rf"(?:[a-z]|(?i:{'|'.join(sorted(_CLAUSES))})\b)"
_SUSPECT = re.compile(rf'^ *[rR]?""" *{_BEGINNING}|(?:\A|:[^\n]*\n) *[rR]?"""\s*{_BEGINNING}', re.MULTILINE)
_PROSE = {".md", ".toml", ".sh", ".yaml", ".yml", ".service", ".socket", ".timer"}
_JAVASCRIPT = {".js", ".jsx", ".mjs"}
# Files to skip: other people's texts, recorded responses, and the word lists themselves.
_NOT_OURS = re.compile(
    r"node_modules|/dist/|\.lock$|package-lock|LICENSE|tests/store/released|tools/prose\.py"
    r"|svc/web/src/words/de|svc/german/|svc/mail/german\.py|docs/develop/writing\.md|docs/plan\.md|\.png$"
)
_CODE_BLOCK = re.compile(r"^(?:```.*?^```|(?: {4}|\t)(?!\s*[-*\d]).*?$)", re.MULTILINE | re.DOTALL)


class Text(NamedTuple):
    """A passage of text. `line` is the number of its first line."""

    line: int
    text: str


class Problem(NamedTuple):
    """A passage to rewrite. `found` is the current text, and `instead` a hint."""

    path: str
    line: int
    found: str
    instead: str


def python_texts(source: str) -> Iterator[Text]:
    """Yield the comments and string literals of a Python source, including docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.COMMENT, tokenize.STRING} or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield Text(token.start[0], _without_names(token.string))


# Names of columns, keys and fields are not prose. They occur in SQL, one-word literals, paths, and code in backticks.
_SQL = re.compile(r"""^[bfrt]*["'\s]*(?:select|insert|update|delete|create|set|from|where|and|on|, ?[a-z_]+ =)\b""")
_ONE_WORD = re.compile(r"""^[bfrt]*(["'`])[\w.@/*:-]*\1$""")


def _without_names(text: str) -> str:
    if _SQL.match(text) or _ONE_WORD.match(text):
        return ""
    return re.sub(r"`[^`\n]*`", "``", text)


_JS_TEXT = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`", re.DOTALL
)  # fmt: skip


def javascript_texts(source: str) -> Iterator[Text]:
    """Yield the comments and strings in a JavaScript source that a regular expression can find."""
    for match in _JS_TEXT.finditer(source):
        text = match.group()
        yield Text(source.count("\n", 0, match.start()) + 1, "" if _ONE_WORD.match(text) else text)


def prose_texts(source: str) -> Iterator[Text]:
    """Yield the lines of a document, without code blocks."""
    without = _CODE_BLOCK.sub(lambda match: "\n" * match.group().count("\n"), source)
    for number, line in enumerate(without.splitlines(), 1):
        yield Text(number, re.sub(r"`[^`]*`", "``", line))


def docstrings(source: str) -> Iterator[Text]:
    """Yield every docstring of a Python source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield Text(node.body[0].lineno, text)


def word_problems(path: str, texts: Iterable[Text]) -> Iterator[Problem]:
    """Yield the occurrences of the patterns in WORDS."""
    for text in texts:
        for match in _PATTERN.finditer(text.text):
            line = text.line + text.text.count("\n", 0, match.start())
            yield Problem(path, line, match.group(), WORDS[int((match.lastgroup or "w0")[1:])][1])


def docstring_problems(path: str, source: str) -> Iterator[Problem]:
    """Yield the docstrings that start with a noun clause or a lower-case word."""
    for line, text in docstrings(source):
        first = re.split(r"[\s,:.]", text, maxsplit=1)[0]
        if first.lower() in _CLAUSES or (first.isalpha() and first.islower()):
            yield Problem(path, line, f'docstring "{text.splitlines()[0][:60]}"', "begin with a noun phrase or a verb")


def problems_of(path: Path) -> Iterator[Problem]:
    """Yield all problems in a file. The suffix of the file determines the checks."""
    name = str(path.relative_to(ROOT))
    source = path.read_text()
    if path.suffix == ".py":
        # Most files contain no match. This check is faster than extracting their texts.
        if _IN_LOWER_CASE.search(source.lower()):
            yield from word_problems(name, python_texts(source))
        if _SUSPECT.search(source):
            yield from docstring_problems(name, source)
    elif path.suffix in _JAVASCRIPT:
        yield from word_problems(name, javascript_texts(source))
    elif path.suffix in _PROSE or path.name in {"Makefile", "Dockerfile"}:
        yield from word_problems(name, prose_texts(source))


def files(paths: Sequence[str]) -> list[Path]:
    """Return the tracked and new files in these paths that contain our own texts."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return [ROOT / name for name in sorted(set(listed)) if not _NOT_OURS.search(name) and (ROOT / name).is_file()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the problems. Return 1 if there are any, otherwise 0."""
    found = 0
    for path in files(sys.argv[1:] if arguments is None else arguments):
        for problem in problems_of(path):
            found += 1
            sys.stdout.write(f"{problem.path}:{problem.line}: {problem.found} → {problem.instead}\n")
    sys.stdout.write(f"{found} problems\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
