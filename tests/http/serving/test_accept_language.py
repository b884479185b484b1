"""Tests of the language chosen from Accept-Language, including malformed and hostile headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.http.serving.accept_language import preferred_language
from svc.model import LANGUAGES


@pytest.mark.parametrize(
    ("header", "language"),
    [
        # as browsers send it
        ("de", "de"),
        ("de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7", "de"),
        ("de,en-US;q=0.7,en;q=0.3", "de"),
        ("en-GB,en;q=0.5", "en"),
        ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "en"),
        ("fr,de-AT;q=0.2", "de"),
        # weights
        ("en;q=0.1,de;q=0.11", "de"),
        ("en;q=0.5,de;q=0.5", "en"),
        ("de;q=0.5,en;q=0.5", "de"),
        ("en;q=0.2,de;q=0.1,en-US;q=0.05", "en"),
        ("en;q=0.1,de;q=0.5,en-US;q=1.000", "en"),
        ("de;q=0,en;q=0.001", "en"),
        ("en;q=0.9 , de ; q=1", "de"),
        ("EN;Q=0.1,\tDE-de;Q=0.2\t", "de"),
        ("en;q=0.5,de;q=1.", "de"),
        # regions, scripts and extended ranges
        ("de-Latn-CH-1996", "de"),
        ("de-*", "de"),
        ("de-u-co-phonebk", "de"),
        # no supported language
        ("", None),
        ("*", None),
        ("fr", None),
        ("de;q=0", None),
        ("de;q=0.000,en;q=0", None),
        ("den", None),
        ("e", None),
        # malformed ranges are ignored
        ("de;q=2,en;q=0.1", "en"),
        ("de;q=-1,en;q=0.1", "en"),
        ("de;q=0.1234,en;q=0.1", "en"),
        ("de;q=1.1,en;q=0.1", "en"),
        ("de;q=nan,en;q=0.1", "en"),
        ("de;q=1e3,en;q=0.1", "en"),
        ("de;q=\u0661,en;q=0.1", "en"),
        ("de;q=,en;q=0.1", "en"),
        ("de;q,en;q=0.1", "en"),
        ("de;level=1,en;q=0.1", "en"),
        ("de_DE,en;q=0.1", "en"),
        ("de-,en;q=0.1", "en"),
        ("de-abcdefghi,en;q=0.1", "en"),
        ("de en,en;q=0.1", "en"),
        ("de\x00,en;q=0.1", "en"),
        ('"de",en;q=0.1', "en"),
        (",,;,;q=1,de", "de"),
        ("\xa0de\xa0", None),
    ],
)
def test_supported_language_with_the_highest_weight_is_preferred(header, language):
    assert preferred_language(header) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("x," * 400 + "de", "de"),
        ("x," * 600 + "de", None),  # the language comes after the length limit
        ("de," + "x," * 100_000, "de"),
        ("d" * 1_000_000, None),
        ("de" + "-a" * 500_000, None),
        ("de;" + " " * 1_000_000 + "q=0.5", None),
        ("fr," * 332 + "de-" + "a" * 8, None),  # truncation must not shorten the last range to a valid one
        ("en;q=0.1," + "x" * 985 + ",de;q=0.05", "en"),
    ],
)
def test_rest_of_a_long_header_is_ignored(header, language):
    assert preferred_language(header) == language


@given(st.text(st.characters(max_codepoint=255)))
def test_any_header_is_accepted(header):
    assert preferred_language(header) in (*LANGUAGES, None)


@given(st.lists(st.tuples(st.sampled_from(["de", "en", "fr", "*"]), st.integers(0, 1000)), max_size=8))
def test_result_has_the_highest_weight_of_all_supported_languages(ranges):
    header = ",".join(f"{tag};q={weight / 1000:.3f}" for tag, weight in ranges)
    weights = {language: max((w for tag, w in ranges if tag == language), default=0) for language in LANGUAGES}
    found = preferred_language(header)
    if found is None:
        assert set(weights.values()) == {0}
    else:
        assert weights[found] == max(weights.values()) > 0
