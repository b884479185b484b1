"""The lists in a site's export from Plausible, added up by month."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.clock import day_number, month_of
from svc.imports.reader import NotReadable
from svc.imports.totals import upload
from svc.imports.totals.tally import Name
from svc.imports.totals.upload import read_upload
from tests.imports.totals.files import PLAUSIBLE, TODAY, zipped

if TYPE_CHECKING:
    from svc.imports.totals.month_lists import Lists

JUNE, JULY = (month_of(day_number(f"2026-0{month}-01")) for month in (6, 7))
VISITORS = f'{PLAUSIBLE}"2026-06-18",5,12,1,6,300\n"2026-07-01",1,3,0,1,9\n'
PAGES = '"date","hostname","page","visits","visitors","pageviews"\n'
SOURCES = (
    '"date","source","referrer","utm_source","utm_medium","utm_campaign","utm_content","utm_term","pageviews",'
    '"visitors","visits","visit_duration","bounces"\n'
)
SITE = Name("site", "shop.example")


def read(files: dict[str, str], name: Name = SITE) -> upload.Uploaded:
    """Read an archive with VISITORS and these files. The file names are completed with the export's dates."""
    named = {f"imported_{begin}_20260618_20260701.csv": text for begin, text in files.items()}
    return read_upload(zipped({"imported_visitors_20260618_20260701.csv": VISITORS, **named}), name, TODAY, None)


def lists(files: dict[str, str]) -> dict[int, Lists]:
    found = read(files)
    assert found.refused.first == []
    return found.months


def source(
    day: str, *, source: str = "", referrer: str = "", named: str = "", campaign: str = "", views: int, visits: int
) -> str:
    return f'"{day}","{source}","{referrer}","{named}","","{campaign}","","",{views},{visits},{visits},1,0\n'


def test_pages_are_added_up_by_month_without_their_query():
    rows = '"2026-06-18","h","/a",1,1,7\n"2026-06-30","h","/a?x=1#y",1,1,2\n"2026-06-30","h","/b",1,1,1\n'
    found = lists({"pages": f'{PAGES}{rows}"2026-07-01","h","/a",1,1,3\n'})
    assert found == {JUNE: {"pages": {"/a": 9, "/b": 1}}, JULY: {"pages": {"/a": 3}}}


def test_sources_are_counted_as_by_the_worker():
    """Only the first view of a visit counts for its source, and later views count as internal. `utm_source` takes
    precedence over the referrer.
    """
    rows = [
        source("2026-06-18", source="Google", referrer="www.google.com/search", views=10, visits=4),
        source("2026-06-18", source="Newsletter", named="Newsletter", campaign="Summer", views=2, visits=2),
        source("2026-06-19", source="News", referrer="https://news.example/x", named="rss", views=1, visits=1),
        source("2026-06-20", referrer="android-app://com.google.android.gm/", views=1, visits=1),
        source("2026-06-21", source="Direct / None", views=5, visits=3),
        source("2026-06-22", named="anna@mail.example", campaign="anna@mail.example", views=1, visits=1),
        source("2026-06-23", named="anna%40mail.example", campaign="anna%2540mail.example", views=1, visits=1),
    ]
    found = lists({"sources": SOURCES + "".join(rows)})[JUNE]
    assert found["sources"] == {
        "google.com": 4, "(internal)": 8, "newsletter": 2, "rss": 1, "com.google.android.gm": 1, "": 5,
    }  # fmt: skip
    assert found["campaigns"] == {"summer": 2}
    assert sum(found["sources"].values()) == 21  # the sum equals the page views of all rows


def test_places_devices_browsers_and_systems_get_the_names_of_the_worker():
    rest = "visitors,visits,visit_duration,bounces,pageviews\n"
    found = lists(
        {
            "locations": f"date,country,region,city,{rest}2026-06-18,DE,DE-BE,1,1,1,1,0,5\n2026-06-18,DE,,0,1,1,1,0,1\n"
            "2026-06-18,Germany,,0,1,1,1,0,1\n",
            "devices": f"date,device,{rest}2026-06-18,Laptop,1,1,1,0,2\n2026-06-18,Desktop,1,1,1,0,1\n"
            "2026-06-18,Mobile,1,1,1,0,4\n2026-06-18,,1,1,1,0,1\n",
            "browsers": f"date,browser,browser_version,{rest}2026-06-18,Microsoft Edge,1,1,1,1,0,2\n"
            "2026-06-18,Microsoft Edge,2,1,1,1,0,1\n2026-06-18,(not set),,1,1,1,0,1\n2026-06-18,Ladybird,1,1,1,1,0,1\n",
            "operating_systems": f"date,operating_system,operating_system_version,{rest}2026-06-18,Mac,14,1,1,1,0,3\n"
            "2026-06-18,GNU/Linux,,1,1,1,0,1\n2026-06-18,iOS,,1,1,1,0,1\n",
            "entry_pages": "date,entry_page,visitors,entrances,visit_duration,bounces,pageviews\n"
            "2026-06-18,/a,1,4,1,0,9\n",
            "exit_pages": "date,exit_page,visitors\n2026-06-18,/z,1\n",
            "custom_events": "date,name,link_url,path,visitors,events\n2026-06-18,signup,,,1,1\n",
        }
    )
    assert found == {
        JUNE: {
            "countries": {"DE": 6, "XX": 1},
            "devices": {"desktop": 3, "mobile": 4, "other": 1},
            "browsers": {"Edge": 3, "Other": 1, "Ladybird": 1},
            "os": {"macOS": 3, "Linux": 1, "iOS": 1},
            "entries": {"/a": 4},
        }
    }


def test_exports_without_page_views_use_visits():
    found = lists({"devices": "date,device,visitors,visits,visit_duration,bounces\n2026-06-18,Mobile,1,6,1,0\n"})
    assert found == {JUNE: {"devices": {"mobile": 6}}}


def test_only_the_largest_keys_of_a_month_are_kept_and_the_sum_is_exact():
    rows = "".join(f'"2026-06-18","h","/p{n}",1,1,{n + 1}\n' for n in range(300))
    pages = lists({"pages": PAGES + rows})[JUNE]["pages"]
    assert len(pages) == 101
    assert pages["/p299"] == 300
    assert sum(pages.values()) == sum(range(1, 301))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('"2026-06-31","h","/a",1,1,7', "is not a date"),
        ('"2026-06-18","h","a",1,1,7', "does not begin with /"),
        ('"2026-06-18","h","/a",1,1,-7', "must be a whole number"),
        ('"2026-06-18","h","/a",1,1,1000000000000\n"2026-06-18","h","/a",1,1,1', "above 1000000000000"),
        ('"2026-06-18"', "does not begin with /"),
    ],
)
def test_invalid_rows_are_named_and_do_not_stop_the_import(row, reason):
    found = read({"pages": f"{PAGES}{row}\n"})
    [(line, why)] = found.refused.first
    assert (line, why.startswith("imported_pages: "), reason in why) == (2 + row.count("\n"), True, True)
    assert len(found.days_of[""]) == 2


def test_file_without_the_expected_columns_is_named():
    found = read({"pages": "date,page\n2026-06-18,/a\n"})
    assert found.refused.first == [(2, "imported_pages: none of the columns pageviews, visits, visitors exists")]


def test_lists_that_are_too_large_or_damaged_do_not_stop_the_import(monkeypatch):
    row = '"2026-06-18","h","/a",1,1,7\n'
    monkeypatch.setattr(upload, "MAX_ROWS", 5)
    found = read({"pages": PAGES + 6 * row})
    assert (found.months, found.reading.notes[-1]) == (
        {},
        "the lists are not imported, because they have more than 5 rows",
    )
    assert len(found.days_of[""]) == 2
    found = read({"pages": f'{PAGES}"{"x" * 2_000_000}"\n'})
    assert found.months == {}
    assert found.reading.notes[-1].startswith("the lists are not imported: ")


def test_links_and_files_without_lists_have_no_months():
    pages = f'{PAGES}"2026-06-18","h","/a",1,1,7\n'
    assert read({"pages": pages}, Name("link", "abc")).months == {}
    assert read({}).months == {}
    assert read_upload(VISITORS.encode(), SITE, TODAY, None).months == {}
    with pytest.raises(NotReadable):
        read_upload(zipped({"imported_pages_1.csv": pages, "imported_exit_pages_1.csv": ""}), SITE, TODAY, None)
