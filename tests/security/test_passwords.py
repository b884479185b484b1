"""Passwords: which may be chosen, and that what is one text to a person is one password."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from argon2 import PasswordHasher, Type, extract_parameters, profiles

from svc.security.password_policy import common_passwords, fault_for, fault_of
from svc.security.passwords import hash_password, nobodys, verify_password
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
        "\N{FULLWIDTH LATIN SMALL LETTER P}assword",  # wide letters are letters
        "dragonfly",  # a word
        "svc-edge",
        "Short-Links 2026!",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "xXxXxXxXxX",
        "          ",
        "ä" * 12,
        "seven77",
        unicodedata.normalize("NFD", "äöüäöü"),  # twelve code points, six letters
        "",
    ],
)
def test_what_is_guessed_first_or_short_may_not_be_chosen(password):
    assert fault_of(password) is not None


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
def test_any_other_text_may_be(password):
    assert fault_of(password) is None


def test_the_list_is_large_and_the_package_stays_out_of_memory():
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
def test_nobody_may_take_their_own_address_or_name(password, refused):
    assert (fault_for("ann.smith@example.com", password) is not None) is refused


def test_a_name_of_two_letters_does_not_forbid_digits():
    assert fault_for("jo@example.com", "jo8274910385") is None
    assert fault_for("12345679@example.com", "12345679") is not None


def test_one_text_written_in_two_ways_is_one_password():
    one, two = (unicodedata.normalize(form, "Käsebrötchen № ²") for form in ("NFC", "NFD"))
    assert one != two
    stored = hash_password(one)
    assert verify_password(stored, two)
    assert not verify_password(stored, one.lower())
    assert not verify_password(stored, one + " ")


def test_a_password_costs_what_is_recommended_and_that_of_an_unknown_address_as_much(monkeypatch):
    """The rest of the tests hash cheaply."""
    assert (AS_IT_IS.memory_cost, AS_IT_IS.time_cost, AS_IT_IS.type) == (64 * 1024, 3, Type.ID)
    for hasher in (AS_IT_IS, PasswordHasher.from_parameters(profiles.CHEAPEST)):
        monkeypatch.setattr("svc.security.passwords._HASHER", hasher)
        assert extract_parameters(nobodys()) == extract_parameters(hash_password("correct horse"))
        assert not verify_password(None, "correct horse")
        assert not verify_password("", "correct horse")
        assert nobodys() != nobodys()
