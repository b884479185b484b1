"""Tests of the normal forms of titles, notes and tags."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from svc.api.link_texts import LinkNote, LinkTitle, Tag, Tags
from svc.model.link_texts import MAX_TAG_CHARS, folded

TAG: TypeAdapter[str] = TypeAdapter(Tag)
TAGS: TypeAdapter[tuple[str, ...]] = TypeAdapter(Tags)
TITLE: TypeAdapter[str] = TypeAdapter(LinkTitle)
NOTE: TypeAdapter[str] = TypeAdapter(LinkNote)

odd = st.text(
    st.sampled_from(
        "aZ09-_. \t,/\\%#ßÜéİIΣςⅧ例א❤"
        "\N{LATIN SMALL LETTER DOTLESS I}\N{LATIN SMALL LETTER LONG S}"
        "\N{COMBINING DOT ABOVE}\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}"
        "\N{ZERO WIDTH JOINER}\N{NO-BREAK SPACE}\N{RIGHT-TO-LEFT OVERRIDE}\n\x00"
    ),
    max_size=45,
)


def accepts(adapter: TypeAdapter[str], text: str) -> bool:
    try:
        adapter.validate_python(text)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("Spring Sale", "spring-sale"),
        ("  Spring\N{NO-BREAK SPACE} \N{IDEOGRAPHIC SPACE}sale ", "spring-sale"),
        ("Cafe\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}zmir", "izmir"),
        ("I\N{COMBINING DOT ABOVE}zmir", "izmir"),
        ("STRASSE", "strasse"),
        ("Straße", "straße"),
        ("ΟΔΟΣ", "οδος"),
        ("مرحبا", "مرحبا"),
        ("\U0001f469\N{ZERO WIDTH JOINER}\U0001f4bb", "\U0001f469\N{ZERO WIDTH JOINER}\U0001f4bb"),
        ("c++", "c++"),
        ("50%_off", "50%_off"),
        ("bulk", "bulk"),
        ("x" * 40, "x" * 40),
    ],
)
def test_tag_is_stored_in_its_normal_form(sent, stored):
    assert TAG.validate_python(sent) == stored


@pytest.mark.parametrize(
    "sent",
    [
        "",
        " ",
        ".",
        "..",
        "-",
        "_",
        "a,b",
        "a/b",
        "a\\b",
        "a\nb",
        "a\n",
        "a\x00",
        "a\u202eb",
        "\u200b",
        "\u2028a",
        "x" * 41,
    ],
)
def test_tag_that_cannot_be_in_a_list_or_path_is_refused(sent):
    assert not accepts(TAG, sent)


def test_tags_are_sorted_without_duplicates_after_normalization():
    assert TAGS.validate_python(("b", "A", "a ", "B", "c d", "C\N{NO-BREAK SPACE}D")) == ("a", "b", "c-d")


@given(odd | st.text(max_size=45))
def test_any_tag_is_refused_or_stored_in_a_form_that_is_accepted_unchanged(text):
    if accepts(TAG, text):
        kept = TAG.validate_python(text)
        assert TAG.validate_python(kept) == kept
        assert 1 <= len(kept) <= MAX_TAG_CHARS
        assert len(f" {kept} ".split()) == 1
        assert unicodedata.is_normalized("NFC", kept)
        for shown in (text, kept):
            assert re.search(TAG.json_schema()["pattern"], shown)


@given(odd | st.text(max_size=45))
def test_any_title_and_note_is_refused_or_stored_in_a_form_that_is_accepted_unchanged(text):
    for adapter in (TITLE, NOTE):
        if accepts(adapter, text):
            kept = adapter.validate_python(text)
            assert adapter.validate_python(kept) == kept == kept.strip()
            assert re.search(adapter.json_schema()["pattern"], text)


@given(odd | st.text(max_size=45))
def test_folded_text_does_not_depend_on_composition(text):
    for one, other in pairwise((text, unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text))):
        assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (" Sale ", "Sale"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("", ""),
        (" \N{ZERO WIDTH SPACE}\N{RIGHT-TO-LEFT MARK} ", ""),
        ("עברית 50%", "עברית 50%"),
        ("\U0001f469" * 200, "\U0001f469" * 200),
    ],
)
def test_title_is_one_trimmed_line(sent, stored):
    assert TITLE.validate_python(sent) == stored


def test_title_and_note_limits():
    for refused in ("a\nb", "a\x00", "a\N{LINE SEPARATOR}b", "\x1b[31m", "x" * 201):
        assert not accepts(TITLE, refused)
    assert NOTE.validate_python(" one\r\ntwo\rthree\tx\n") == "one\ntwo\nthree\tx"
    assert len(NOTE.validate_python("\U0001f469" * 2_000)) == 2_000
    for refused in ("a\x00", "a\x1b", "x" * 2_001):
        assert not accepts(NOTE, refused)


def test_titles_are_compared_regardless_of_case_and_composition():
    assert folded("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}STANBUL") == folded("istanbul")
    assert folded("STRASSE") == folded("Straße")
    assert folded("CAFE\N{COMBINING ACUTE ACCENT}") == folded("caf\N{LATIN SMALL LETTER E WITH ACUTE}")
