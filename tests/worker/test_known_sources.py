"""Tests of the names and channels of sources."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from svc.worker.known_sources import APPS, SITES, Channel, channel_of, channels, known_source


@pytest.mark.parametrize(
    ("source", "channel"),
    [
        ("", "direct"),
        ("(internal)", "internal"),
        ("(other)", "(other)"),
        ("google.de", "search"),
        ("google.co.uk", "search"),
        ("news.google.com", "search"),
        ("mail.google.com", "email"),
        ("gemini.google.com", "ai"),
        ("l.instagram.com", "social"),
        ("com.google.android.gm", "email"),
        ("chatgpt.com", "ai"),
        ("mail.yahoo.com", "email"),
        ("de.search.yahoo.com", "search"),
        ("github.com", "referral"),
        ("notgoogle.com", "referral"),
        ("google.com.evil.example", "referral"),
        ("shop.example", "referral"),
        ("[2001:db8::1]", "referral"),
        ("newsletter", "campaign"),
        ("spring sale", "campaign"),
        ("a.b/c", "campaign"),
        ("constructor", "campaign"),
        (".", "campaign"),
        ("." * 100, "campaign"),
        ("grüße", "campaign"),
    ],
)
def test_channel_of_a_source(source, channel):
    for of_link in (False, True):
        assert channel_of(source, of_link=of_link) == channel


def test_only_on_a_link_qr_is_a_scan():
    assert channel_of("qr", of_link=True) == "qr"
    assert channel_of("qr", of_link=False) == "campaign"


def test_channels_have_all_counts_of_the_sources():
    sources = {"": 5, "google.de": 3, "bing.com": 2, "qr": 4, "(other)": 1}
    assert channels(sources, of_link=True) == {"direct": 5, "search": 5, "qr": 4, "(other)": 1}
    assert channels({}, of_link=True) == {}


def test_table_has_sources_as_the_worker_stores_them():
    for host, known in SITES.items():
        assert re.fullmatch(r"([a-z0-9-]+\.)+[a-z]+", host), host
        assert not host.startswith("www."), host
        assert known_source(host) == known == known_source(f"a.b.{host}")
    for app, known in APPS.items():
        assert known_source(app) == known
    for table in (SITES, APPS):
        assert {known.channel for known in table.values()} <= set(get_args(Channel))
