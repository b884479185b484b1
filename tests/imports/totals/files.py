"""Exports in the formats of other products, created by hand."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from svc.clock import day_number
from svc.imports.totals.formats import read_totals
from svc.imports.totals.source import open_source
from svc.imports.totals.tally import tally
from svc.model import Counts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from svc.imports.totals.reading import Reading
    from svc.imports.totals.tally import Name, Refused

TODAY = day_number("2026-11-21")
Days = dict[int, Counts]

GOATCOUNTER_2 = (
    "2Path,Title,Event,UserAgent,Browser,System,Session,Bot,Referrer,Referrer scheme,Screen size,Location,"
    "FirstVisit,Date\n"
)
GOATCOUNTER_1 = "1Path,Title,Event,Bot,Session,FirstVisit,Referrer,Referrer scheme,Browser,Screen size,Location,Date\n"
PLAUSIBLE = '"date","visitors","pageviews","bounces","visits","visit_duration"\n'
DASHBOARD = "date,visitors,pageviews,visits,views_per_visit,bounce_rate,visit_duration\r\n"
OWN = "target,kind,edge_account_id,name,day,views,bots,visitors,final,imported\n"
UMAMI = "website_id,session_id,visit_id,event_id,hostname,url_path,page_title,event_type,event_name,created_at\n"


def hit(at: str, session: str = "aa", *, path: str = "/", title: str = "T", event: str = "0", bot: str = "0") -> str:
    """Return a row in version 2 of GoatCounter's format."""
    return f'{path},"{title}",{event},,Firefox 80,Linux,{session},{bot},,o,"1024,0,1",DE,1,{at}\n'


def zipped(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP archive with these files."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return raw.getvalue()


def read(
    folder: Path, content: str | bytes, website: str | None = None
) -> tuple[Reading, Refused, dict[Name | None, dict[str, Days]]]:
    """Read a file with this content. Return how the file was read, its invalid lines, and its totals by target."""
    path = folder / "export"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with path.open("rb") as file, open_source(file) as source, tally(TODAY) as found:
        reading = read_totals(source, found, website)
        return reading, found.refused, dict(found.targets())


def days_of(folder: Path, content: str | bytes, website: str | None = None) -> dict[str, tuple[int, int, int]]:
    """Return views, bots and visitors by day. The file must be valid and must not name targets."""
    _, refused, targets = read(folder, content, website)
    assert refused.first == []
    if not targets:
        return {}
    from svc.clock import day_text

    return {day_text(day): (one.views, one.bots, one.visitors) for day, one in targets[None][""].items()}
