"""The catalogue of errors: complete, presented in one way, and the same in the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from svc.errors import CATALOGUE, Code, EdgeRefused, ErrorNote, ServiceError, with_remedy

API = Path(__file__).parents[1] / "docs" / "api.md"


def test_every_code_is_in_the_catalogue_and_a_typing_error_is_not_an_answer():
    assert set(CATALOGUE) == set(get_args(Code))
    with pytest.raises(KeyError):
        ServiceError("zone_not_fuond")  # type: ignore[arg-type]  # the point


def test_the_documentation_tells_the_catalogue():
    rows = [line for line in API.read_text().splitlines() if line.startswith("|") and "`" in line]
    expected = []
    for code, meaning in CATALOGUE.items():
        remedy = f" {meaning.remedy} " if meaning.remedy else " "
        if meaning.shown_as is None:
            expected.append(f"| {meaning.status} | `{code}` | {meaning.message} |{remedy}|")
        else:
            expected.append(f"| `{code}` | {meaning.message} |{remedy}| {meaning.status} `{meaning.shown_as}` |")
    assert rows[-len(expected) :] == expected


@pytest.mark.rule("G8")
def test_what_an_account_keeps_is_shown_to_a_request_as_a_code_that_it_knows():
    shown = {code: meaning for code, meaning in CATALOGUE.items() if meaning.shown_as is not None}
    for code, meaning in shown.items():
        error: Any = ServiceError(code, details={"edge_code": 10000}).body()["error"]
        assert error["code"] == meaning.shown_as
        assert error["details"]["reason"] == code
        assert error["details"]["remedy"] == meaning.remedy
        assert error["details"]["edge_code"] == 10000
        as_shown = CATALOGUE[error["code"]]
        assert (as_shown.shown_as, as_shown.status) == (None, meaning.status)
    assert not {code for code in CATALOGUE if CATALOGUE[code].status == 500} - {"internal"}


def test_what_is_kept_has_its_own_code_and_its_remedy_is_added_when_it_is_shown():
    note = EdgeRefused("revoked", "The working token has expired.").note()
    assert note == ErrorNote("revoked", "The working token has expired.")
    assert with_remedy(note)["details"] == {"remedy": CATALOGUE["revoked"].remedy}
    assert with_remedy(ErrorNote("site_not_active", "m")) == {"code": "site_not_active", "message": "m"}
