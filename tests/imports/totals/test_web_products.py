"""Tests of the daily totals that are read from Matomo, Google Analytics 4 and Counterscale."""

from __future__ import annotations

import gzip
import json

import pytest

from svc.imports.reader import NotReadable
from tests.imports.totals.files import days_of, read, zipped

pytestmark = pytest.mark.rule("X4")

D1, D2 = "2019-06-18", "2019-06-19"
COMMENTS = (
    '# ----------------------------------------\n# Free form 1\n# Account: Shop, Ltd.\n# Property: "Shop"\n'
    "# ----------------------------------------\n# \n# All Users\n# Start date: 20190618\n# End date: 20190620\n"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_matomo_report_has_page_views_and_unique_visitors(tmp_path, encoding):
    text = (
        "date,nb_uniq_visitors,nb_users,nb_visits,nb_actions,nb_pageviews,bounce_rate\n"
        f"{D1},5,0,6,20,12,33%\n{D2},0,0,0,0,0,0%\n"
    )
    wanted = {D1: (12, 0, 5), D2: (0, 0, 0)}
    content = text.encode(encoding)
    assert days_of(tmp_path, content) == wanted
    assert days_of(tmp_path, gzip.compress(content)) == wanted
    assert days_of(tmp_path, zipped({"Export _ API.csv": content})) == wanted
    reading, _, _ = read(tmp_path, text)
    assert reading.columns == ("date", "nb_pageviews", "nb_uniq_visitors")
    assert not any("actions are imported" in note for note in reading.notes)


def test_matomo_report_without_page_views_or_visitors_says_so(tmp_path):
    summary = f"Date,Unique visitors,Users,Visits,Actions,Bounce Rate\n{D1},5,0,6,20,33%\n"
    assert days_of(tmp_path, summary) == {D1: (20, 0, 5)}
    assert any("actions are imported" in note for note in read(tmp_path, summary)[0].notes)
    visits = f"date,nb_visits,nb_actions\n{D1},6,20\n"
    assert days_of(tmp_path, visits) == {D1: (20, 0, 6)}
    assert any("visits are imported as visitors" in note for note in read(tmp_path, visits)[0].notes)
    pages = f"date,nb_pageviews,nb_uniq_pageviews\n{D1},12,9\n"
    assert days_of(tmp_path, pages) == {D1: (12, 0, 0)}
    assert any("number is 0" in note for note in read(tmp_path, pages)[0].notes)


def test_matomo_report_of_other_periods_or_several_websites_is_rejected(tmp_path):
    weeks = 'date,nb_pageviews,nb_uniq_visitors\n"2019-06-17,2019-06-23",5,1\n2019-06,7,1\n2019,9,1\n'
    _, refused, targets = read(tmp_path, weeks)
    assert (refused.count, targets) == (3, {})
    with pytest.raises(NotReadable, match="several websites"):
        read(tmp_path, f"idSite,date,nb_visits\n1,{D1},5\n")
    with pytest.raises(NotReadable, match="no page views"):
        read(tmp_path, f"date,nb_uniq_visitors,nb_visits\n{D1},5,6\n")


@pytest.mark.parametrize("before", [COMMENTS, COMMENTS + "\n", ""])
@pytest.mark.parametrize(
    "header", ["Date,Views,Total users,Active users", "date,screenPageViews,totalUsers,activeUsers"]
)
@pytest.mark.parametrize("end", ["", ",22,9,7\n", "Grand total,22,9,7\n"])
def test_google_analytics_table_has_one_row_per_date(tmp_path, before, header, end):
    text = f"{before}{header}\n20190619,10,4,3\n20190618,12,5,4\n{end}"
    wanted = {D1: (12, 0, 5), D2: (10, 0, 4)}
    assert days_of(tmp_path, text) == wanted
    assert days_of(tmp_path, text.replace("\n", "\r\n").encode("utf-8-sig")) == wanted
    assert "Google Analytics 4" in read(tmp_path, text)[0].product


def test_google_analytics_table_without_total_users_has_active_users(tmp_path):
    assert days_of(tmp_path, f"{COMMENTS}Date,Views,Active users\n20190618,12,5\n") == {D1: (12, 0, 5)}
    assert days_of(tmp_path, f"Date;Views;Active users\n{D1};12;5\n") == {D1: (12, 0, 5)}
    only_views = f"{COMMENTS}Date,Event count,Views\n20190618,99,12\n"
    assert days_of(tmp_path, only_views) == {D1: (12, 0, 0)}
    assert any("no users" in note for note in read(tmp_path, only_views)[0].notes)


def test_google_analytics_charts_count_days_from_the_start_date(tmp_path):
    text = (
        f"{COMMENTS}Nth day,Active users\n0000,5\n0001,4\n\n"
        f'{COMMENTS}Page title,Views\n"A ""page"",\nwith two lines",7\n\n'
        f"{COMMENTS}Nth day,Views\n0000,12\n0001,10\n0002,3\n\n{COMMENTS}Nth day,Views\n0000,12\n0001,10\n0002,3\n"
    )
    assert days_of(tmp_path, text) == {D1: (12, 0, 5), D2: (10, 0, 4), "2019-06-20": (3, 0, 0)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (COMMENTS, "no views by day"),
        (f"{COMMENTS}Page path,Views\n/,5\n", "no views by day"),
        (f"{COMMENTS}Nth day,Active users\n0000,5\n", "no views by day"),
        ("# Shop\nNth day,Views\n0000,5\n", "line 3: the file does not contain the start date"),
        ("# Start date: 20191399\nNth day,Views\n0000,5\n", "line 1: `2019-13-99` is not a date"),
        (f"{COMMENTS}Date,Country,Views\n20190618,DE,5\n20190618,FR,6\n", "several rows for 2019-06-18"),
        (f"{COMMENTS}Date,Country,Views\n20190618,DE,5\n20190618,FR,5\n", "several rows for 2019-06-18"),
        ("Date,Country,Views,Users\n20190618,DE,5,1\n20190618,FR,5,1\n", "several rows for 2019-06-18"),
        (f"{COMMENTS}Content group,Date,Views\na,20190618,5\n", "several rows for a day"),
        (f"{COMMENTS}Nth day,Views\n0,5\n\n{COMMENTS}Nth day,Views\n0,6\n", "several rows for 2019-06-18"),
        (f'{COMMENTS}Date,Views\n"20190618"x,5\n', "not valid CSV"),
    ],
)
def test_google_analytics_file_without_one_number_per_day_is_rejected(tmp_path, text, why):
    with pytest.raises(NotReadable, match=why):
        read(tmp_path, text)


def test_invalid_lines_of_google_analytics_are_reported(tmp_path):
    rows = ["20190618,12,5", "20190619,1.5,4", "(other),7,7", "20991231,1,1", "19691231,1,1", "20190620"]
    _, refused, targets = read(tmp_path, "Date,Views,Total users\n" + "\n".join(rows) + "\n")
    assert [line for line, _ in refused.first] == [3, 4, 5, 6, 7]
    assert {day: one.views for day, one in targets[None][""].items()} == {18065: 12}
    _, refused, _ = read(tmp_path, f"{COMMENTS}Nth day,Views\n0,5\n-1,5\n9999999,5\n")
    assert [line for line, _ in refused.first] == [12, 13]


def analytics_engine(*rows: object) -> str:
    meta = [{"name": "bucket", "type": "DateTime"}, {"name": "isVisitor", "type": "Float64"}]
    return json.dumps({"meta": meta, "data": rows, "rows": len(rows), "rows_before_limit_at_least": len(rows)})


def test_counterscale_rows_are_summed_by_day(tmp_path):
    text = analytics_engine(
        {"bucket": f"{D1} 00:00:00", "isVisitor": 1, "count": "5"},
        {"bucket": f"{D1} 00:00:00", "isVisitor": 0, "count": "7"},
        {"bucket": f"{D2} 00:00:00", "isVisitor": 0.0, "count": 3.0},
    )
    assert days_of(tmp_path, text) == {D1: (12, 0, 5), D2: (3, 0, 0)}
    assert any("estimates" in note for note in read(tmp_path, text)[0].notes)
    assert days_of(tmp_path, analytics_engine()) == {}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"bucket": f"{D1} 01:00:00", "isVisitor": 1, "count": 5}, "row 1 .* is not the start of a UTC day"),
        ({"isVisitor": 1, "count": 5}, "missing is not a date"),
        ({"bucket": D1, "isVisitor": 1}, "count is missing"),
        ({"bucket": D1, "isVisitor": 1, "count": 1.5}, "whole number"),
        ({"bucket": D1, "isVisitor": 1, "count": 1e300}, "whole number"),
        ({"bucket": D1, "isVisitor": 1, "count": float("inf")}, "whole number"),
        ({"bucket": D1, "count": 1}, "isVisitor is missing"),
        ({"bucket": D1, "isVisitor": [], "count": {}}, "whole number"),
        (None, "row 1 .* is not valid"),
    ],
)
def test_counterscale_response_without_days_is_rejected(tmp_path, row, why):
    with pytest.raises(NotReadable, match=why):
        read(tmp_path, analytics_engine(row))


def test_sums_above_the_limit_are_reported(tmp_path):
    rows = [{"bucket": D1, "isVisitor": 0, "count": 10**12}] * 2
    _, refused, targets = read(tmp_path, analytics_engine(*rows))
    assert (refused.count, targets) == (1, {})
