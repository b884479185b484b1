"""Tests with exports, either as products write them or after a spreadsheet has changed them."""

from __future__ import annotations

import pytest

from svc.clock import iso
from svc.imports.links.table import Row
from svc.imports.reader import MAX_ROW_CHARS, NotReadable
from tests.imports.encodings import WRITTEN
from tests.imports.links.imported import rows_in

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
    "short.io": f'path,originalURL,archived\none,"{A}",false\ntwo,{B},false\n',
    "rebrandly": f'slashtag,destination,shortUrl\none,"{A}",go.test/one\ntwo,{B},go.test/two\n',
    "bitly": f'"created_at","id","link","custom_bitlinks","long_url","title"\n'
    f'"","bit.ly/one","https://bit.ly/one","","{A}",""\n"","bit.ly/two","https://bit.ly/two","","{B}",""\n',
}


@pytest.mark.rule("X2")
@pytest.mark.parametrize("text", EXPORTS.values(), ids=list(EXPORTS))
@pytest.mark.parametrize("written", WRITTEN.values(), ids=list(WRITTEN))
def test_codes_and_destinations_are_found(text, written):
    rows = rows_in(written(text))
    assert [(row.code, row.url) for row in rows] == [("one", A), ("two", B)]


@pytest.mark.rule("X2")
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_detected_or_read_from_sep_line(delimiter):
    text = f"code{delimiter}url\nabc{delimiter}https://a.test/\n"
    assert rows_in(text.encode()) == [Row(2, "abc", "https://a.test/")]
    assert rows_in(f"sep={delimiter}\n{text}".encode()) == [Row(3, "abc", "https://a.test/")]


@pytest.mark.rule("X2")
def test_column_name_that_starts_like_sep_line_is_a_column():
    assert rows_in(b"sep=;code;url\n1;abc;https://a.test/\n") == [Row(2, "abc", "https://a.test/")]


def test_row_has_number_of_its_first_line():
    text = 'code,url,title\na,b,"two\nlines"\n\nc\nd,e,f,g\n'
    rows = rows_in(text.encode())
    assert [(row.line, row.code, row.url) for row in rows] == [(2, "a", "b"), (5, "c", ""), (6, "d", "e")]


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
def test_code_is_path_of_short_url(address, code):
    assert rows_in(f"short url,long url\n{address},x\n".encode())[0].code == code


@pytest.mark.rule("X2")
@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "none"),
        (b"a,b\n1,2\n", "destinations: a, b"),
        (b"url,title\n", "Name the two columns `code` and `url`"),
        (b'code,url\na,"b', "line 2"),
        (b'code,url\na,b\nc,"d\ne,f\ng,h\n', "starts in line 3 is not valid CSV"),
        (b'code,url\na,b\nc,"d\ne,f\ng,"h"\n', "starts in line 3 is not valid CSV"),
        (b'sep=,\ncode,"url\na,b\n', "starts in line 2 is not valid CSV"),
        (b"sep=;", "column"),
        (b"sep=;\n", "column"),
        (b"sep=;code;urls", "column"),
        (b"\x00", "line 1 contains a NUL"),
        (b"code,url\na,b\nc,d\x00\n", "line 3 contains a NUL"),
        (b"code,url\na,b\n\x00c,d\n", "line 3 contains a NUL"),
        (b"\x00\x01\x02", "not text"),
        (b"\x81\x81\x00", "not text"),
        (b"PK\x03\x04\x00\x00\x81", "a spreadsheet or compressed"),
        (b"\x1f\x8b\x08", "a spreadsheet or compressed"),
        (b' {"links": []}', "the file is JSON, but must be CSV"),
        (b'code,url\na,"' + b"x" * MAX_ROW_CHARS, "line 2 belongs to a row of more than 1048576 characters"),
        (b'code,url\na,"b\n' + b"x" * MAX_ROW_CHARS + b'"\n', "line 3 belongs to a row"),
    ],
)
def test_invalid_export_is_rejected_with_reason(raw, why):
    with pytest.raises(NotReadable, match=why):
        rows_in(raw)


@pytest.mark.rule("X2")
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("sep", [False, True])
def test_unknown_columns_are_listed_for_all_delimiters_and_quotes(delimiter, quote, sep):
    """With quoted column names, each wrong delimiter that is tried first causes a CSV error."""

    def text(*rows: tuple[str, ...]) -> bytes:
        lines = [delimiter.join(f"{quote}{field}{quote}" for field in row) for row in rows]
        return "".join(f"{line}\n" for line in ([f"sep={delimiter}"] if sep else []) + lines).encode()

    with pytest.raises(NotReadable, match=r"destinations: Slug id, Long link\. Name the two columns"):
        rows_in(text(("Slug id", "Long link"), ("abcd", "https://example.com/")))
    with pytest.raises(NotReadable, match=r"contains a link: abcd, https://example\.com/, 3\. Export .*phpMyAdmin"):
        rows_in(text(("abcd", "https://example.com/", "3"), ("efgh", "https://example.org/", "4")))


@pytest.mark.rule("X2")
def test_long_field_is_read_and_too_long_row_is_rejected_alone():
    long, longer = "x" * 200_000, "x" * MAX_ROW_CHARS
    rows = rows_in(f'code,url,title\na,b,{long}\nc,d,"{long}\n{long}"\ne,"f",{longer}\r\ng,h,\n'.encode())
    assert [(row.line, row.code, row.url) for row in rows] == [(2, "a", "b"), (3, "c", "d"), (5, "", ""), (6, "g", "h")]
    assert [row.fault for row in rows] == ["", "", "the row has more than 1048576 characters", ""]


@pytest.mark.rule("X2")
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("id,address,banned,password,expire_in,target\n1,abc,t,,,https://a.example/\n", ("banned",)),
        ("id,address,banned,password,expire_in,target\n1,abc,0,NULL,NULL,https://a.example/\n", ()),
        (r"address,banned,password,expire_in,target" + "\n" + r"abc,f,\N,\N,https://a.example/", ()),
        ("address,banned,password,expire_in,target\nabc,f,$2a$,2020-01-01 00:00:00.5+00,b\n", ("expired", "password")),
        ("Short link,Destination URL,Archived\nhttps://dub.sh/abc,https://a.example/,true\n", ("archived",)),
        (
            "short_code,long_url,valid_until,max_visits,valid_since\nabc,b,,100,2098-01-01\n",
            ("visit-limit",),
        ),
        ("slug,url,expiration,password,unsafe\nabc,b,1500000000,,true\n", ("banned", "expired")),
        ("slug,url,is_blocked,is_trashed\nabc,b,1,true\n", ("banned", "deleted")),
        ("slug,url,is_password_protected\nabc,b,yes\n", ("password",)),
        ("slug,url,is_blocked,is_trashed,is_password_protected\nabc,b,0,false,no\n", ()),
        ("slug,url,expiresAt\nabc,b,1500000000000\n", ("expired",)),
        ("slug,url,active,status\nabc,b,false,\n", ("disabled",)),
        ("slug,url,active,status\nabc,b,,301\n", ()),
        ("code,url,ends_at\nabc,b,2020-01-01\n", ("expired",)),
    ],
)
def test_restrictions_are_read_in_formats_of_products(text, kinds):
    [row] = rows_in(text.encode())
    assert row.restricted.kinds == kinds
    assert row.restricted.unreadable is None


@pytest.mark.rule("X2")
@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("address,target,expire_in\nabc,b,2098-01-01 00:00:00.5+00\n", (None, "2098-01-01T00:00:00.500Z")),
        (
            "Short code,Long URL,Valid since,Valid until\nabc,b,2097-12-31T23:30:00+01:00,2098-01-01T00:00:00-05:00\n",
            ("2097-12-31T22:30:00.000Z", "2098-01-01T05:00:00.000Z"),
        ),
        ("key,url,expiresAt\nabc,b,2098-01-01T12:00:00.000Z\n", (None, "2098-01-01T12:00:00.000Z")),
        ("slug,url,expiration\nabc,b,4070908800\n", (None, "2099-01-01T00:00:00.000Z")),
        ("path,originalURL,expiresAt\nabc,b,4070908800000\n", (None, "2099-01-01T00:00:00.000Z")),
        (
            "code,url,starts_at,ends_at\nabc,b,2097-01-01,2098-01-01\n",
            tuple(f"{y}-01-01T00:00:00.000Z" for y in (2097, 2098)),
        ),
        ("code,url,starts_at,ends_at\nabc,b,2020-01-01,\n", (None, None)),
        ("code,url,expires,validUntil\nabc,b,2098-01-01,2097-01-01\n", (None, "2097-01-01T00:00:00.000Z")),
        ("code,url,expires\nabc,b,9999-12-31\n", (None, None)),
        ("code,url,expires\nabc,b,2100-01-01\n", (None, None)),
        ("code,url,expires\nabc,b,2099-12-31T23:59:59Z\n", (None, "2099-12-31T23:59:59.000Z")),
    ],
)
def test_dates_in_the_future_are_the_period_of_the_link(text, period):
    [row] = rows_in(text.encode())
    assert tuple(None if at is None else iso(at) for at in row.restricted[1:3]) == period
    assert (row.restricted.kinds, row.restricted.unreadable) == ((), None)
