"""Tests of the password rules, and of different Unicode forms of the same password."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from argon2 import PasswordHasher, Type, extract_parameters, profiles

from svc.security.password_policy import common_passwords, password_problem, password_problem_for_user
from svc.security.passwords import dummy_hash, hash_password, verify_password
from tests.cheap_passwords import AS_IT_IS


@pytest.mark.parametrize(
    "password",
    [
        "password",
        "Password1",
        "PASSWORD123",
        "12345678",
        "1qaz2wsx",
        "qwertyuiop",
        "\N{FULLWIDTH LATIN SMALL LETTER P}assword",  # full-width letters count as letters
        "dragonfly",  # a common word
        "svc-edge",
        "Short-Links 2026!",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "xXxXxXxXxX",
        "          ",
        "ä" * 12,
        "seven77",
        unicodedata.normalize("NFD", "äöüäöü"),  # twelve code points, but only six characters
        "",
    ],
)
def test_common_and_short_passwords_are_rejected(password):
    assert password_problem(password) is not None


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery staple",
        "correct horse",
        " spaces count ",
        "passwordpasswordpassword of mine",
        "\N{SNOWMAN}\N{PILE OF POO}\N{SNOWMAN}\N{PILE OF POO}\N{SNOWMAN}\N{PILE OF POO}\N{SNOWMAN}!",
        "пароль никто не знает",
        "password\npassword",
        "a" * 100 + "b" * 100,
    ],
)
def test_other_passwords_are_accepted(password):
    assert password_problem(password) is None


def test_common_passwords_are_loaded_without_importing_package():
    assert common_passwords().count("\n") > 20_000
    assert "zxcvbn" not in sys.modules


@pytest.mark.parametrize(
    ("password", "refused"),
    [
        ("ann.smith@example.com", True),
        ("Ann.Smith", True),
        ("annsmith1990", True),
        ("ann-smith-!!", True),
        ("ann.smith@example.com2", True),
        ("ann and smith went away", False),
        ("correct horse", False),
    ],
)
def test_own_address_or_name_is_rejected(password, refused):
    assert (password_problem_for_user("ann.smith@example.com", password) is not None) is refused


def test_two_letter_name_does_not_forbid_digits():
    assert password_problem_for_user("jo@example.com", "jo8274910385") is None
    assert password_problem_for_user("12345679@example.com", "12345679") is not None


def test_unicode_forms_of_one_password_match():
    one, two = (unicodedata.normalize(form, "Käsebrötchen № ²") for form in ("NFC", "NFD"))
    assert one != two
    stored = hash_password(one)
    assert verify_password(stored, two)
    assert not verify_password(stored, one.lower())
    assert not verify_password(stored, one + " ")


def test_hash_has_recommended_cost_also_for_unknown_address(monkeypatch):
    """Other tests do not check the cost of a hash, because most of them use a cheap hash."""
    assert (AS_IT_IS.memory_cost, AS_IT_IS.time_cost, AS_IT_IS.type) == (64 * 1024, 3, Type.ID)
    for hasher in (AS_IT_IS, PasswordHasher.from_parameters(profiles.CHEAPEST)):
        monkeypatch.setattr("svc.security.passwords._HASHER", hasher)
        assert extract_parameters(dummy_hash()) == extract_parameters(hash_password("correct horse"))
        assert not verify_password(None, "correct horse")
        assert not verify_password("", "correct horse")
        assert dummy_hash() != dummy_hash()
