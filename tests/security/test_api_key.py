"""API keys are random and end with a checksum. Other programs can verify it as docs/use/keys.md describes."""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from svc.security.api_key import PATTERN, SHOWN_CHARS, is_api_key, new_api_key

DOCS = (Path(__file__).parents[2] / "docs/use/keys.md").read_text()
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def documented(language: str) -> str:
    """Return the documentation's code block in this language."""
    found = re.search(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)
    assert found
    return found[1]


def documented_check() -> Callable[[str], bool]:
    names: dict[str, Any] = {}
    exec(documented("python"), names)  # this code is from the project's documentation
    check: Callable[[str], bool] = names["is_key"]
    return check


def number_of(digits: str) -> int:
    """Return the value of a number in base 62."""
    number = 0
    for digit in digits:
        number = number * 62 + BASE62.index(digit)
    return number


def test_new_key_is_random_word_with_valid_checksum():
    values = {new_api_key() for _ in range(1_000)}
    assert len({value[:SHOWN_CHARS] for value in values}) == 1_000
    check = documented_check()
    for value in values:
        assert re.fullmatch(r"\w{40}", value, re.ASCII)
        assert re.fullmatch(PATTERN, value)
        assert number_of(value[34:]) == zlib.crc32(value[4:34].encode())
        assert is_api_key(value)
        assert check(value)
    # The probability that any of the 62 characters is missing among 30,000 random ones is 10^-210.
    assert {char for value in values for char in value[4:34]} == set(BASE62)


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        # a key whose checksum was computed with another program, Perl's Compress::Zlib
        ("svc_ABCDEFGHIJKLMNOPQRSTUVWXYZ01234KGnwg", True),
        ("svc_00000000000000000000000000040500azb7", True),  # checksum with leading zeros
        ("svc_000000000000000000000000000405azb7", False),
        ("svc_00000000000000000000000000040500azb7\n", False),
        ("SVC_00000000000000000000000000040500azb7", False),
        ("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", False),
        ("svc_ABCDEFGHIJKLMNOPQRSTUVWXYZ012340000000", False),
        ("svc_ABCDEFGHIJKLMNOPQRSTUVWXYZ01234kGNWG", False),
        (f"svc_{'٣' * 36}", False),
        (f"svc_{'0' * 36}", False),
        ("svc_", False),
        ("", False),
    ],
)
def test_known_values(value, valid):
    assert is_api_key(value) is valid
    assert documented_check()(value) is valid


@given(st.integers(0, 39), st.sampled_from([*BASE62, "_", "-", " ", "\n", "\x00", "é", "", "00"]))
def test_one_wrong_character_is_detected(place, char):
    value = new_api_key()
    wrong = value[:place] + char + value[place + 1 :]
    assert is_api_key(wrong) is (wrong == value)


@pytest.mark.parametrize("text", ["key = '{}'", "{}", "Bearer {}\n", "https://x.example/?key={}&a=1", '{{"key":"{}"}}'])
def test_documented_scanner_rules_match_exact_keys(text):
    [rule] = tomllib.loads(documented("toml"))["rules"]
    [detector] = yaml.safe_load(documented("yaml"))["detectors"]
    value = new_api_key()
    for pattern, keywords in ((rule["regex"], rule["keywords"]), (detector["regex"]["key"], detector["keywords"])):
        assert re.findall(pattern, text.format(value)) == [value]
        assert keywords == ["svc_"]
        assert not re.findall(pattern, text.format(value + "0"))
        assert not re.findall(pattern, text.format("x" + value))
