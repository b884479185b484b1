"""Tests with damaged, large and unknown files: errors are clear, and little memory is used."""

from __future__ import annotations

import gzip
import tracemalloc
import zipfile

import pytest

from svc.imports.reader import NotReadable
from svc.imports.totals.tally import Name
from tests.imports.totals.files import GOATCOUNTER_2, PLAUSIBLE, days_of, hit, read, zipped

pytestmark = pytest.mark.rule("X4")

DAYS = "day,views\n2019-06-18,5\n"


def damaged(raw: bytes) -> bytes:
    return raw[:60] + b"\xff\xff\xff" + raw[63:]


def misplaced(raw: bytes) -> bytes:
    """Return the ZIP archive with a negative offset for its central directory."""
    return raw[:-6] + b"\xff\xff\xff\x7f" + raw[-2:]


NOISE = "".join(f"2019-06-{1 + n % 30:02},{n * 7919 % 1000}\n" for n in range(5_000))
LONG = f"day,views\n{NOISE}"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"a,b\n1,2\n", "known product: a, b"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not those of a known product"),
        (b"3Path,Title,Date\n", "version 3 of GoatCounter's export is not supported"),
        (b'day,views\n"2019-06-18,5\n', "the row that starts in line 2 is not valid CSV"),
        (b'day,views\n2019-06-18,5\n2019-06-19,"5"x\n', "the row that starts in line 3 is not valid CSV"),
        (b"[1]", "not a response of Umami's"),
        (b'{"pageviews": [', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (gzip.compress(LONG.encode())[:-2000], "damaged or incomplete"),
        (damaged(gzip.compress(LONG.encode())), "damaged or incomplete"),
        (b"\x1f\x8b", "damaged or incomplete"),
        (zipped({"daily.csv": LONG})[:-2000], "damaged or incomplete"),
        (damaged(zipped({"daily.csv": LONG})), "damaged or incomplete"),
        (b"\0", "known product: \0"),
        (damaged(zipped({"daily.csv": LONG}, zipfile.ZIP_BZIP2)), "damaged or incomplete"),
        (damaged(zipped({"daily.csv": LONG}, zipfile.ZIP_LZMA)), "damaged or incomplete"),
        (zipped({"daily.csv": LONG}).replace(b"PK\x01\x02", b"PK\x01\x03"), "damaged or incomplete"),
        (misplaced(zipped({"daily.csv": LONG})), "damaged or incomplete"),
        (zipped({"d.csv": LONG}).replace(b"d.csv", b"\xaa.csv", 1), "damaged or incomplete"),
        (zipped({}), "no known file with daily totals"),
        (zipped({"a/": "", "__MACOSX/x.csv": DAYS}), "no known file with daily totals"),
        (zipped({"a.csv": DAYS, "b.csv": DAYS}), "no known file with daily totals"),
        (
            zipped({"events.csv": "x", "pages.csv": "x", "os.csv": "x"}),
            "Umami's export of a website has no daily totals",
        ),
        (zipped({"imported_visitors_1.csv": PLAUSIBLE, "imported_visitors_2.csv": PLAUSIBLE}), "several files"),
        (zipped({"hit_stats.jsonl": "{]\n"}), "line 1 is not a JSON object"),
        (zipped({"hit_stats.jsonl": "\n[]\n"}), "line 2 is not a JSON object"),
        (zipped({"hit_stats.jsonl": "{}", "paths.jsonl": '{"id": []}'}), "line 1 contains nested JSON"),
    ],
)
def test_unreadable_file_is_rejected_with_reason(tmp_path, content, why):
    with pytest.raises(NotReadable, match=why):
        read(tmp_path, content)


def test_encrypted_zip_is_rejected(tmp_path):
    raw = bytearray(zipped({"daily.csv": DAYS}))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + flags] |= 1
    with pytest.raises(NotReadable, match=r"cannot be extracted: .*encrypted"):
        read(tmp_path, bytes(raw))


def test_unsafe_names_in_zip_are_not_extracted(tmp_path):
    for name in ("../../etc/passwd", "/abs/x.csv", "C:\\x.csv", "a\nb", "ü/daily_totals.csv"):
        content = zipped({name: "target,kind,edge_account_id,name,day,views\n,site,,a.example,2019-06-18,5\n"})
        [(name_of, days)] = read(tmp_path, content)[2].items()
        assert (name_of, list(days)) == (Name("site", "a.example"), [""])
        assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_many_sessions_need_little_memory(tmp_path):
    row = hit("2019-06-18T04:00:00Z", "session-{0}")
    content = gzip.compress((GOATCOUNTER_2 + "".join(row.format(number) for number in range(50_000))).encode(), 1)
    tracemalloc.start()
    try:
        assert days_of(tmp_path, content) == {"2019-06-18": (50_000, 0, 50_000)}
        assert tracemalloc.get_traced_memory()[1] < 6_000_000  # all sessions in memory would take 10 MB
    finally:
        tracemalloc.stop()


def test_long_session_ids_need_little_memory(tmp_path):
    rows = "".join(hit("2019-06-18T04:00:00Z", f"{number}{'x' * 100_000}") for number in range(400))
    content = gzip.compress((GOATCOUNTER_2 + rows).encode(), 1)
    del rows
    tracemalloc.start()
    try:
        assert days_of(tmp_path, content) == {"2019-06-18": (400, 0, 400)}
        assert tracemalloc.get_traced_memory()[1] < 20_000_000  # all ids in memory would take 40 MB
    finally:
        tracemalloc.stop()


def test_long_field_is_accepted(tmp_path):
    content = f"day,views,title\n2019-06-18,5,{'x' * 200_000}\n2019-06-19,6,\n"
    assert days_of(tmp_path, content.encode()) == {"2019-06-18": (5, 0, 0), "2019-06-19": (6, 0, 0)}


def test_endless_row_needs_little_memory(tmp_path):
    """The endless row is a single line, has many lines, or is JSON, which is read as a whole."""
    bombs = {
        "day,views\n" + "0" * 30_000_000: "a row of more than",
        'day,views\n"' + '\n","' * 6_000_000: "a row of more than",
        "{" + " " * 30_000_000: "more than",
    }
    for text, why in bombs.items():
        bomb = gzip.compress(text.encode(), 1)
        del text
        tracemalloc.start()
        try:
            with pytest.raises(NotReadable, match=why):
                read(tmp_path, bomb)
            assert tracemalloc.get_traced_memory()[1] < 30_000_000
        finally:
            tracemalloc.stop()
