"""`python -m tools.error_tables`: write the tables in docs/use/errors.md from the catalog in svc/errors.py.

A test checks that the page is up to date.
"""

from __future__ import annotations

from pathlib import Path

from svc.errors import CATALOGUE

PAGE = Path(__file__).parents[1] / "docs/use/errors.md"
BEGIN, END = "<!-- made by python -m tools.error_tables -->", "<!-- end -->"

_RESPONSES = ("| status | code | meaning | remedy |", "| --- | --- | --- | --- |")
_STORED = ("| code | meaning | remedy | error of a request |", "| --- | --- | --- | --- |")
_BETWEEN = """\
## Errors of accounts, operations, sites and link hosts

These codes appear in the `error` field of an object. If a request fails for one of these reasons, its error has the
code in the last column, and `details.reason` contains the code in the first column. The `error` field can also contain
codes from the table of [responses](#responses). Requests never fail with `route_conflict` or `route_not_ours`."""


def tables() -> str:
    """Return two tables: codes that appear in responses, and codes for which responses show another code."""
    responses, stored = list(_RESPONSES), list(_STORED)
    for code, meaning in CATALOGUE.items():
        remedy = f" {meaning.remedy} " if meaning.remedy else " "
        if meaning.shown_as is None:
            responses.append(f"| {meaning.status} | `{code}` | {meaning.message} |{remedy}|")
        else:
            stored.append(f"| `{code}` | {meaning.message} |{remedy}| {meaning.status} `{meaning.shown_as}` |")
    return "\n".join([*responses, "", _BETWEEN, "", *stored])


def page(text: str) -> str:
    """Return the page's text with updated tables."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
