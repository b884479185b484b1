"""Exports as the products write them, and as spreadsheets spoil them."""

from __future__ import annotations

import codecs

import pytest

from svc.link_import.table import NotATable, Row, read_table

A, B = "https://example.com/a?x=1,2", "https://example.org/ü"
EXPORTS = {
    "our own": f'code,url\none,"{A}"\ntwo,{B}\n',
    "yourls": f'keyword,url,title,timestamp,ip,clicks\none,"{A}",T,2020-01-01 00:00:00,192.0.2.1,3\ntwo,{B},,,,0\n',
    "kutt": f'id,address,target,description,visit_count\n1,one,"{A}",,5\n2,two,{B},,0\n',
    "shlink": f'createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits\n,,one,https://s.test/one,"{A}",,,1\n'
    f",,two,https://s.test/two,{B},,,2\n",
    "shlink csv": f"Long URL;Tags;Domain;Short code;Title\n{A};a|b;;one;\n{B};;;two;\n",
    "dub": f'Short link,Destination URL,Clicks,Created at\nhttps://dub.sh/one,"{A}",1,x\nhttps://dub.sh/two?a=b,{B},2,y\n',
    "bitly with back-halves": f'Title,Long URL,Link,Custom back-half\nT,"{A}",bit.ly/3xYz,one\n,{B},https://bit.ly/two,\n',
    "bitly": f'"created_at","id","link","custom_bitlinks","long_url","title"\n'
    f'"","bit.ly/one","https://bit.ly/one","","{A}",""\n"","bit.ly/two","https://bit.ly/two","","{B}",""\n',
}


@pytest.mark.rule("X2")
@pytest.mark.parametrize("text", EXPORTS.values(), ids=list(EXPORTS))
@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.encode(),
        lambda text: codecs.BOM_UTF8 + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("cp1252"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace("\n", "\n\n").encode(),
    ],
    ids=["utf-8", "utf-8 bom", "utf-16", "utf-16 be", "no bom", "no bom be", "1252", "crlf", "cr", "blank lines"],
)
def test_codes_and_addresses_are_found(text, written):
    rows = read_table(written(text)).rows
    assert [(row.code, row.url) for row in rows] == [("one", A), ("two", B)]


@pytest.mark.rule("X2")
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_or_told(delimiter):
    text = f"code{delimiter}url\nabc{delimiter}https://a.test/\n"
    assert read_table(text.encode()).rows == (Row(2, "abc", "https://a.test/"),)
    assert read_table(f"sep={delimiter}\n{text}".encode()).rows == (Row(3, "abc", "https://a.test/"),)


@pytest.mark.rule("X2")
def test_a_row_is_told_by_the_line_on_which_it_begins():
    text = 'code,url,title\na,b,"two\nlines"\n\nc\nd,e,f,g\n'
    assert read_table(text.encode()).rows == (Row(2, "a", "b"), Row(5, "c", ""), Row(6, "d", "e"))


@pytest.mark.rule("X2")
@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("https://s.test/a/b", "a/b"),
        ("s.test/abc#x", "abc"),
        ("https://s.test", "s.test"),
        ("https://s.test/", ""),
        ("abc", "abc"),
        ("", ""),
    ],
)
def test_a_code_is_what_stands_behind_the_host(address, code):
    assert read_table(f"short url,long url\n{address},x\n".encode()).rows[0].code == code


@pytest.mark.rule("X2")
@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "none"),
        (b"a,b\n1,2\n", "first line: a, b"),
        (b"url,title\n", "code,url"),
        (b'code,url\na,"b', "line 2"),
        (b'code,url\na,b\nc,"d\ne,f\ng,h\n', "begins in line 3 is no CSV"),
        (b'code,url\na,b\nc,"d\ne,f\ng,"h"\n', "begins in line 3 is no CSV"),
        (b'sep=,\ncode,"url\na,b\n', "begins in line 2 is no CSV"),
        (b"\x00", "line 1 holds a NUL"),
        (b"code,url\na,b\nc,d\x00\n", "line 3 holds a NUL"),
        (b"code,url\na,b\n\x00c,d\n", "line 3 holds a NUL"),
        (b"\x00\x01\x02", "no text"),
        (b"PK\x03\x04\x00\x00\x81", "no text"),
        (b"code,url\na," + b"x" * 200_000, "line 2"),
    ],
)
def test_what_is_no_export_is_refused_with_the_reason(raw, why):
    with pytest.raises(NotATable, match=why):
        read_table(raw)
