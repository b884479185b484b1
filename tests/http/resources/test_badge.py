"""Badges are well-formed SVG images without scripts, even with unusual texts."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.http.resources import badge

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_badge_shows_label_and_value():
    assert texts(badge.svg("views", "12,345")) == ["views", "12,345"]
    assert ET.fromstring(badge.svg("views", "1")).findtext(f"{SVG}title") == "views: 1"


@pytest.mark.rule("Y13")
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_escaped(label, value):
    root = ET.fromstring(badge.svg(label, value))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "title", "rect", "g", "text"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not any(name.lower().startswith("on") or "href" in name for name in names)
    for text in texts(badge.svg(label, value)):
        assert not set(text) & set("\x00\x1b\u202e\u2066\ufffe")


@pytest.mark.rule("Y13")
def test_markup_in_a_label_stays_text():
    label = "</text><script>alert(1)</script>\"'&amp;]]>"
    svg = badge.svg(label, "1")
    assert texts(svg)[0] == label
    assert "<script" not in svg


def test_width_grows_with_the_text():
    widths = [int(ET.fromstring(badge.svg("x" * n, "1")).attrib["width"]) for n in (0, 1, 10, 40)]
    assert widths == sorted(set(widths))
    wide = int(ET.fromstring(badge.svg("界" * 10, "1")).attrib["width"])
    assert wide > widths[2]
