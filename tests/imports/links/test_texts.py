"""Tests of the titles, notes and tags in exports of other products."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.api.links import LinkRow
from svc.api.shape import parsed
from svc.imports.links.texts import NO_TEXTS, Texts, read_texts
from tests.imports.links.imported import rows_in

URL = "https://a.example/"
# Each export has the link `one` with these texts.
EXPORTS = {
    "our own": (f"code,url,title,note,tags\none,{URL},Sale,Flyer,autumn\n", Texts("Sale", "Flyer", ("autumn",))),
    "yourls": (f"keyword,url,title,clicks\none,{URL},Sale,3\n", Texts("Sale")),
    "yourls from mysql": (f"keyword\turl\ttitle\none\t{URL}\tNULL\n", NO_TEXTS),
    "kutt": (f"address,target,description,banned\none,{URL},Flyer,f\n", Texts(None, "Flyer")),
    "kutt from psql": (f"address,target,description\none,{URL},\\N\n", NO_TEXTS),
    "shlink": (
        f"shortCode,longUrl,title,tags,visits\none,{URL},Sale,Autumn|New York,1\n",
        Texts("Sale", None, ("autumn", "new-york")),
    ),
    "shlink csv": (f"Long URL;Tags;Short code;Title\n{URL};a|b;one;Sale\n", Texts("Sale", None, ("a", "b"))),
    "dub": (
        f'Short link,Destination URL,Comments,Title,Description,Tags\ndub.sh/one,{URL},Flyer,Sale,Preview,"A, b"\n',
        Texts("Sale", "Flyer", ("a", "b")),
    ),
    "dub api": (
        f'key,url,tags,comments\none,{URL},"[{{""id"":""1"",""name"":""A""}},{{""name"":""b""}}]",\n',
        Texts(None, None, ("a", "b")),
    ),
    "bitly": (
        f'"link","long_url","title","tags"\n"bit.ly/one","{URL}","Sale","a;b"\n',
        Texts("Sale", None, ("a", "b")),
    ),
    "sink": (f"slug,url,title,description,comment\none,{URL},Sale,Preview,Flyer\n", Texts("Sale", "Flyer")),
}


@pytest.mark.rule("X2")
@pytest.mark.parametrize(("text", "texts"), EXPORTS.values(), ids=list(EXPORTS))
def test_titles_notes_and_tags_are_found(text, texts):
    [row] = rows_in(text.encode())
    assert (row.code, row.url, row.texts) == ("one", URL, texts)


@pytest.mark.rule("X2")
@pytest.mark.parametrize(
    ("title", "note", "tags", "texts"),
    [
        (None, None, None, NO_TEXTS),
        ("", " ", " , |", NO_TEXTS),
        ("two\r\nlines\x00 <b>", "two\r\nlines\x1b[31m", None, Texts("two lines <b>", "two\nlines [31m")),
        (None, None, '["a, b","c/d"]', Texts(tags=("a-b", "c-d"))),
        (None, None, "[broken", Texts()),
        (None, None, "b|a|A|a ", Texts(tags=("a", "b"))),
        (None, None, "a\\b", Texts(tags=("a-b",))),
        (None, None, "..|ok", Texts(tags=("ok",), shortened=True)),
        (None, None, "x" * 41, Texts(tags=("x" * 40,), shortened=True)),
        (None, None, "|".join("kjihgfedcba"), Texts(tags=tuple("bcdefghijk"), shortened=True)),
        ("x" * 201, None, None, Texts("x" * 199 + "…", shortened=True)),
        (None, "x" * 2_001, None, Texts(None, "x" * 1_999 + "…", shortened=True)),
        ("\u202eאבג", None, "\u202eאבג", Texts("\u202eאבג", None, ("אבג",))),
    ],
)
def test_texts_are_brought_into_the_stored_form(title, note, tags, texts):
    assert read_texts(title, note, tags) == texts


@given(st.text(max_size=300), st.text(max_size=300), st.text(st.sampled_from('aB,|;[]"/.\\ \n\u202eİß'), max_size=120))
def test_any_texts_become_texts_that_the_api_accepts(title, note, tags):
    texts = read_texts(title, note, tags)
    link = parsed(LinkRow, url=URL, title=texts.title, note=texts.note, tags=list(texts.tags)).to_model()
    assert (link.title, link.note, link.tags) == (texts.title, texts.note, texts.tags)
