"""Tests of the catalog of error codes, and of its copy in the documentation."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from svc.errors import CATALOGUE, Code, EdgeRefused, ErrorNote, ServiceError, with_remedy
from tools.error_tables import PAGE, page


def test_catalogue_has_all_codes_and_unknown_codes_are_errors():
    assert set(CATALOGUE) == set(get_args(Code))
    with pytest.raises(KeyError):
        ServiceError("zone_not_fuond")  # type: ignore[arg-type]


def test_error_tables_of_the_documentation_are_up_to_date():
    text = PAGE.read_text()
    assert text == page(text), "run python -m tools.error_tables"


@pytest.mark.rule("G8")
def test_stored_codes_are_shown_under_their_response_code():
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


def test_stored_error_keeps_its_code_and_gets_the_remedy_when_shown():
    note = EdgeRefused("revoked", "The working token has expired.").to_note()
    assert note == ErrorNote("revoked", "The working token has expired.")
    assert with_remedy(note)["details"] == {"remedy": CATALOGUE["revoked"].remedy}
    assert with_remedy(ErrorNote("site_not_active", "m")) == {"code": "site_not_active", "message": "m"}
