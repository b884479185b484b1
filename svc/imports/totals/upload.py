"""Reads a file with daily totals that a user uploads for one site or link."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from svc.imports.reader import NotReadable
from svc.imports.totals.formats import read_totals
from svc.imports.totals.month_lists import TooManyRows, month_lists
from svc.imports.totals.plausible import read_lists
from svc.imports.totals.source import open_source
from svc.imports.totals.tally import tally

if TYPE_CHECKING:
    from collections.abc import Set

    from svc.imports.totals.month_lists import Lists
    from svc.imports.totals.reading import Reading
    from svc.imports.totals.source import Source
    from svc.imports.totals.tally import Name, Refused
    from svc.model import Counts

# The maximum size of a file after decompression. Reading such a file takes a few seconds, at about 10 µs per page view.
MAX_MIB = 32
# The maximum number of daily totals in a file, which is enough for a hundred links and ten years. Each total takes
# about 20 µs.
MAX_ROWS = 400_000


@dataclass(frozen=True)
class Uploaded:
    """The content of an uploaded file.

    `days_of`: the days by the id that the site or link has in the file ("" if the file has no ids). `estimates`: the
    days whose counts are estimates. `months`: the lists of pages, sources and others by month (the number of months
    since the year 0), for a site.
    """

    reading: Reading
    refused: Refused
    days_of: dict[str, dict[int, Counts]]
    estimates: Set[int] = frozenset()
    months: dict[int, Lists] = field(default_factory=dict)


def read_upload(data: bytes, name: Name, today: int, website: str | None) -> Uploaded:
    """Return the totals for the site or link with this name. Blocks for several seconds if the file is large.

    If the file contains names, only the totals under this name are returned. If it contains Cloudflare account ids, the
    account id must also match, as in `svc import totals`. `today`: the last valid day (epoch day). `website`: the id of
    the website to read, for an Umami export with several websites. Raises NotReadable or CannotWrite.
    """
    with open_source(io.BytesIO(data), MAX_MIB << 20) as source, tally(today, MAX_ROWS) as found:
        reading = read_totals(source, found, website)
        days_of: dict[str, dict[int, Counts]] = {}
        estimates: set[int] = set()
        for of_file, days_by_target in found.targets():
            if of_file is None or of_file in (name, name._replace(edge_account_id="")):
                for target, days in days_by_target.items():
                    days_of.setdefault(target, {}).update(days)
                estimates |= found.estimates(of_file)
        if not days_of and any(found.names()):
            raise NotReadable(f"the file has no totals of the {name.kind} {name.name}")
        months: dict[int, Lists] = {}
        if name.kind == "site":
            months, problem = _read_months(source, found.refused)
            reading = replace(reading, notes=(*reading.notes, *problem))
        return Uploaded(reading, found.refused, days_of, estimates, months)


def _read_months(source: Source, refused: Refused) -> tuple[dict[int, Lists], tuple[str, ...]]:
    """Return the lists in the file by month. If the lists cannot be read, return no lists, and the reason as a note."""
    with month_lists(MAX_ROWS) as lists:
        try:
            read_lists(source, lists, refused)
        except TooManyRows:
            return {}, (f"the lists are not imported, because they have more than {MAX_ROWS:,} rows",)
        except NotReadable as error:
            return {}, (f"the lists are not imported: {error}",)
        return lists.months(), ()
