"""Tests of the daily totals that are read from each product's export."""

from __future__ import annotations

import codecs
import gzip
import io
import json

import pytest

from svc.clock import day_number
from svc.imports.reader import NotReadable
from svc.imports.totals.formats import read_totals
from svc.imports.totals.source import open_source
from svc.imports.totals.tally import LARGEST, Name, tally
from svc.model import Counts
from tests.imports.encodings import WRITTEN
from tests.imports.totals.files import (
    DASHBOARD,
    GOATCOUNTER_1,
    GOATCOUNTER_2,
    OWN,
    PLAUSIBLE,
    TODAY,
    UMAMI,
    days_of,
    hit,
    read,
    zipped,
)

pytestmark = pytest.mark.rule("X4")

D1, D2 = "2019-06-18", "2019-06-19"


def test_goatcounter_csv_has_one_row_per_hit(tmp_path):
    text = GOATCOUNTER_2 + "".join(
        [
            hit(f"{D1}T00:00:00Z", "aa"),
            hit(f"{D1}T10:00:00Z", "aa", path="/b", title='He said ""no"",\ntwice'),
            hit(f"{D1}T23:59:59Z", "bb"),
            hit(f"{D2}T00:00:00Z", "bb"),  # a session that spans midnight counts as a visitor on both days
            hit(f"{D1}T12:00:00Z", "cc", event="1"),
            hit(f"{D1}T12:00:00Z", "cc", event="true"),
            hit(f"{D2} 05:00:00", "dd"),
            hit("2019-06-20T01:00:00+02:00", "dd"),
            hit(f"{D2}T06:00:00Z", ""),
            hit(f"{D2}T06:00:00Z", "ee", bot="7"),
        ]
    )
    wanted = {D1: (3, 0, 2), D2: (4, 1, 2)}
    assert days_of(tmp_path, text) == wanted
    assert days_of(tmp_path, gzip.compress(text.encode())) == wanted
    assert days_of(tmp_path, zipped({"goatcounter-export.csv": text})) == wanted
    assert "version 2" in read(tmp_path, text)[0].product


def test_goatcounter_version_1_has_other_columns_and_bots(tmp_path):
    row = "/,T,{},{},{},true,,o,Firefox,1024,DE,{}T04:00:00Z\n"
    text = GOATCOUNTER_1 + row.format("false", 0, "u1", D1) + row.format("false", 150, "u2", D1)
    text += row.format("true", 0, "u3", D1) + row.format("false", 0, 0, D1)
    assert days_of(tmp_path, text) == {D1: (2, 1, 1)}


def test_goatcounter_json_has_visits_by_hour_and_page(tmp_path):
    paths = '{"id":1,"path":"/"}\n{"id":2,"path":"click","event":true}\n{"id":3,"path":"/b","event":false}\n'
    hits = [("00", 1, 5), ("23", 3, 2), ("04", 2, 90)]
    stats = "".join(f'{{"hour":"{D1}T{hour}:00:00Z","path_id":{of},"ref_id":1,"count":{n}}}\n' for hour, of, n in hits)
    stats += f'\n{{"hour":"{D2} 04:00:00","path_id":1,"ref_id":1,"count":7}}\n'
    content = zipped({"x/info.json": "{}", "x/paths.jsonl": paths, "x/hit_stats.jsonl": stats, "x/refs.jsonl": ""})
    reading, _, _ = read(tmp_path, content)
    assert days_of(tmp_path, content) == {D1: (7, 0, 0), D2: (7, 0, 0)}
    assert any("no visitors" in note for note in reading.notes)


def test_plausible_export_has_one_row_per_day(tmp_path):
    text = f'{PLAUSIBLE}"{D1}",5,12,1,6,300\n"{D2}",0,0,0,0,0\n"2019-06-21",\\N,3,0,0,0\n'
    wanted = {D1: (12, 0, 5), D2: (0, 0, 0), "2019-06-21": (3, 0, 0)}
    pages = '"date","hostname","page","visits","visitors","pageviews"\n'
    assert days_of(tmp_path, text) == wanted
    files = {"imported_pages_20190618_20190621.csv": pages, "imported_visitors_20190618_20190621.csv": text}
    assert days_of(tmp_path, zipped({**files, "__MACOSX/._imported_visitors_1.csv": "x"})) == wanted
    assert any("time zone" in note for note in read(tmp_path, text)[0].notes)


def test_plausible_dashboard_is_accepted_if_rows_are_days(tmp_path):
    text = f"{DASHBOARD}{D1},5,12,6,2.0,30,60\r\n{D2},1,1,1,1.0,100,0\r\n"
    assert days_of(tmp_path, zipped({"visitors.csv": text, "pages.csv": "x"})) == {D1: (12, 0, 5), D2: (1, 0, 1)}
    old = f"date,visitors,pageviews,bounce_rate,visit_duration\n{D1},5,12,30,60\n{D2},1,1,100,0\n"
    assert days_of(tmp_path, old) == {D1: (12, 0, 5), D2: (1, 0, 1)}
    for rows in (
        "2019-06-01,5,12,6,2,30,60\r\n2019-07-01,5,12,6,2,30,60\r\n",
        "2019-06-03,5,12,6,2,30,60\r\n2019-06-10,5,12,6,2,30,60\r\n",
        f"{D1} 00:00:00,5,12,6,2,30,60\r\n{D1} 01:00:00,5,12,6,2,30,60\r\n",
        f"{D1},5,12,6,2,30,60\r\n",
        "",
    ):
        with pytest.raises(NotReadable, match="not consecutive days"):
            read(tmp_path, DASHBOARD + rows)


def umami(at: str, session: str = "s1", kind: str = "1", website: str = "w1") -> str:
    return f"{website},{session},v,e,example.com,/,Title,{kind},,{at}\n"


def test_umami_events_are_counted_as_in_umami(tmp_path):
    text = UMAMI + umami(f"{D1} 23:59:59.123+00") + umami(f"{D1} 04:00:00", "s2") + umami(f"{D1}T04:00:00.1Z", "s2")
    text += umami(f"{D1} 04:00:00", "s3", kind="2") + umami(f"{D1} 04:00:00", "s3", kind="5")
    text += umami(f"{D2} 04:00:00", "s4", kind="3") + umami(f"{D2} 01:00:00+02", "s5")
    assert days_of(tmp_path, text) == {D1: (4, 0, 3), D2: (1, 0, 1)}
    old = f"view_id,website_id,session_id,created_at,url,referrer\n1,1,9,{D1} 04:00:00.5+00,/,\n"
    assert days_of(tmp_path, old) == {D1: (1, 0, 1)}


def test_website_must_be_selected_if_umami_events_have_several(tmp_path):
    text = UMAMI + umami(f"{D1} 04:00:00", website="w1") + umami(f"{D1} 04:00:00", website="w2")
    with pytest.raises(NotReadable, match=r"\(w1 and w2\); select one with --website"):
        read(tmp_path, text)
    assert days_of(tmp_path, text, "W2") == {D1: (1, 0, 1)}
    with pytest.raises(NotReadable, match="no events of the website w3"):
        read(tmp_path, text, "w3")


@pytest.mark.parametrize("end", ["", "T00:00:00Z", " 00:00:00"])
def test_umami_response_has_days_of_views_and_sessions(tmp_path, end):
    for at in ("x", "t"):
        response = {
            "pageviews": [{at: f"{D1}{end}", "y": 12}, {at: f"{D2}{end}", "y": "3"}],
            "sessions": [{at: f"{D1}{end}", "y": 5}],
        }
        wanted = {D1: (12, 0, 5), D2: (3, 0, 0)}
        assert days_of(tmp_path, json.dumps(response)) == wanted
        assert days_of(tmp_path, codecs.BOM_UTF8 + json.dumps(response, indent=1).encode()) == wanted


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ([{"x": f"{D1}T04:00:00Z", "y": 1}], "is not a day; request unit=day"),
        ([{"x": "2019-06-01", "y": 1}, {"x": "2019-07-01", "y": 1}], "the first of a month"),
        ([{"x": D1, "y": -1}], "must be a whole number"),
        ([{"x": D1, "y": 1.5}], "must be a whole number"),
        ([{"y": 1}], "missing is not a date"),
        ([None], "is not valid"),
        (None, "not a response of Umami's"),
    ],
)
def test_umami_response_without_days_is_rejected(tmp_path, points, why):
    with pytest.raises(NotReadable, match=why):
        read(tmp_path, json.dumps({"pageviews": points, "sessions": []}))


def test_own_export_names_its_targets(tmp_path):
    edge = "a" * 32
    text = (
        f"{OWN}site_1,site,{edge},shop.example.com,{D1},5,1,4,1,0\nsite_1,site,{edge},shop.example.com,{D2},6,0,5,0,1\n"
        f"lnk_1,link,{edge},'-sale,{D1},3,0,2,1,0\nsite_2,site,{edge},shop.example.com,{D2},1,0,1,1,0\n"
    )
    d1, d2 = day_number(D1), day_number(D2)
    wanted = {
        Name("link", "-sale", edge): {"lnk_1": {d1: Counts(3, 0, 2)}},
        Name("site", "shop.example.com", edge): {
            "site_1": {d1: Counts(5, 1, 4), d2: Counts(6, 0, 5)},
            "site_2": {d2: Counts(1, 0, 1)},
        },
    }
    for content in (text, zipped({"README.txt": "x", "daily_totals.csv": text, "hourly_totals.csv": "x"})):
        reading, refused, targets = read(tmp_path, content)
        assert (targets, refused.count) == (wanted, 0)
        assert reading.notes == ("days that were incomplete when they were exported: 1",)
    # Exports of earlier versions do not have the column `estimated`.
    header, *lines = text.splitlines()
    marked = "\n".join([f"{header},estimated", *(f"{line},{int('site_2' in line)}" for line in lines)])
    with open_source(io.BytesIO(marked.encode())) as source, tally(TODAY) as found:
        read_totals(source, found)
        assert dict(found.targets()) == wanted
        estimates = [found.estimates(name) for name in (*wanted, None)]
        assert estimates == [frozenset(), {d2}, frozenset()]
    wrong = (
        f"x,page,{edge},a.example,{D1},1,1,1,1,0\nx,site,{edge},,{D1},1,1,1,1,0\nx\0,site,,a.example,{D1},1,1,1,1,0\n"
    )
    _, refused, targets = read(tmp_path, OWN + wrong)
    assert [line for line, _ in refused.first] == [2, 3, 4]
    assert targets == {}


@pytest.mark.parametrize(
    "text",
    ["day,views\n{},5\n", "Day;Views;Visitors;Bots\n{};5;;\n", "views\tday\n5\t{}\n", "sep=|\nbots|day|views\n|{}|5\n"],
)
def test_custom_table(tmp_path, text):
    assert days_of(tmp_path, text.format(D1)) == {D1: (5, 0, 0)}


@pytest.mark.parametrize(
    "written",
    [*WRITTEN.values(), lambda text: gzip.compress(text.encode("utf-16"))],
    ids=[*WRITTEN, "gzip"],
)
def test_all_encodings_and_line_endings_are_read(tmp_path, written):
    text = f"day,views,bots,visitors,märk\n{D1},5,1,4,ü\n{D2},6,0,5,ß\n"
    assert days_of(tmp_path, written(text)) == {D1: (5, 1, 4), D2: (6, 0, 5)}


def test_invalid_lines_are_reported_and_others_imported(tmp_path):
    rows = [
        (f"{D1},5", None),
        ("", None),
        (f"{D2},-5", "views is `-5`"),
        (f"{D2},{LARGEST + 1}", "must be a whole number"),
        (f"{D2},{'9' * 5_000}", "must be a whole number"),
        (f"{D2},1.5", "must be a whole number"),
        (f'{D2},"1,000"', "must be a whole number"),
        (f"{D2},\u0665", "must be a whole number"),
        (f"{D2},", "views is missing"),
        ("2019-02-29,5", "is not a date"),
        ("20190618,5", "is not a date"),
        ("1969-12-31,5", "before 1970"),
        ("2026-11-22,5", "is in the future"),
        (f"{D1},5", None),
        (f"{D1},6", "line 2 has the same day with different numbers"),
        (f"{D2},7,9", "bots is `9x`"),
    ]
    text = "day,views,bots\n" + "".join(f"{row}\n" for row, _ in rows).replace("7,9", "7,9x")
    _, refused, targets = read(tmp_path, text)
    assert targets == {None: {"": {day_number(D1): Counts(5)}}}
    wanted = [(line, why) for line, (_, why) in enumerate(rows, 2) if why is not None]
    assert [line for line, _ in refused.first] == [line for line, _ in wanted]
    for (_, reason), (_, why) in zip(refused.first, wanted, strict=True):
        assert why in reason
    assert days_of(tmp_path, f"day,views\n1970-01-01,{LARGEST}\n2026-11-21,0\n") == {
        "1970-01-01": (LARGEST, 0, 0),
        "2026-11-21": (0, 0, 0),
    }


def test_only_first_hundred_invalid_lines_are_kept(tmp_path):
    _, refused, targets = read(tmp_path, GOATCOUNTER_2 + hit("never") * 5_000 + hit("0001-01-01T00:00:00+05:00"))
    assert (refused.count, len(refused.first), targets) == (5_001, 100, {})


def test_session_is_counted_once_per_day(tmp_path):
    """The file has more sessions than fit into the memory buffer, and their rows are not in order."""
    rows = "".join(
        hit(f"2019-{month:02}-18T04:00:00Z", f"s{number}")
        for _ in range(2)
        for number in range(6_000)
        for month in (1, 2)
    )
    assert days_of(tmp_path, GOATCOUNTER_2 + rows) == {
        "2019-01-18": (12_000, 0, 6_000),
        "2019-02-18": (12_000, 0, 6_000),
    }
