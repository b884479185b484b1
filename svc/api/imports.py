"""POST …/totals: import daily totals from another product into a site or a link."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from svc.api.bulk import BULK_BYTES
from svc.api.endpoint import Endpoint
from svc.api.fields import Base64, Count, Day, Id
from svc.api.shape import Body, ResponseBody

_FILE = (
    "The export in base64: CSV, JSON, or a ZIP archive, optionally compressed with gzip. After decompression, a file"
    " can be at most 32 MiB."
)


class _Totals(Body):
    """The options of an import."""

    most_bytes: ClassVar[int] = BULK_BYTES

    website: Id | None = Field(
        None, description="The id of the website to import, if the file is an Umami export with several websites."
    )
    replace: bool = Field(
        False, description="Overwrite days for which an earlier import added different numbers. Default: false."
    )
    dry_run: bool = Field(False, description="Only return what the import would do. Default: false.")


class TotalsFile(_Totals):
    """A file with daily totals."""

    file: Base64 = Field(description=_FILE)


class SiteTotals(_Totals):
    """A file with daily totals, or the product from which the service reads them."""

    breakdowns: bool = Field(
        True,
        description="If the file is a ZIP archive from Plausible, also import its breakdowns, added up by month."
        " Default: true.",
    )
    file: Base64 | None = Field(None, description=f"{_FILE} Required without `source`.")
    source: Literal["cloudflare"] | None = Field(
        None,
        description="The product from which the service reads the totals, if the request has no `file`. `cloudflare`"
        " is Cloudflare Web Analytics: the service reads the page views of the site's host with the account's working"
        " token. Cloudflare keeps page views for 26 weeks. The numbers can be estimates, because Cloudflare may count"
        " only a sample.",
    )


class RejectedLine(ResponseBody):
    """A line that cannot be imported. `line` is 0 if its number is unknown."""

    line: Count
    reason: str


class ImportedTotals(ResponseBody):
    """The result of an import or a dry run. Each day in the file is included in exactly one of the day counts."""

    dry_run: bool
    product: str = Field(description="The product that created the file, as detected from the file's format.")
    columns: tuple[str, ...] = Field(description="The columns that were read.")
    notes: tuple[str, ...] = Field(description="Remarks, for example on how the other product's counting differs.")
    added: Count = Field(
        description="The number of days that were added. In a dry run, the number of days that an import would add."
    )
    first_day: Day | None = Field(description="The first day that was added. Null if no day was added.")
    last_day: Day | None = Field(description="The last day that was added. Null if no day was added.")
    views: Count = Field(description="The total number of views on the added days.")
    breakdown_months: Count = Field(
        description="The number of months whose breakdowns were imported, or would be imported. This number includes"
        " only months before the month in which the site was added, and only months that the account's `months_kept`"
        " covers. Unless `replace` is true, it excludes months with days that are counted in `different`."
    )
    unchanged: Count = Field(description="The number of days that already had the same numbers from an earlier import.")
    different: Count = Field(
        description="The number of days for which an earlier import added different numbers. The service overwrites"
        " them only if `replace` is true."
    )
    counted_here: Count = Field(
        description="The number of days that were skipped, because this service has its own counts for these days."
    )
    rejected: Count = Field(description="The number of lines that cannot be imported.")
    rejected_lines: tuple[RejectedLine, ...] = Field(
        description="The first 100 lines that cannot be imported.", json_schema_extra={"maxItems": 100}
    )


class TotalsImport(ResponseBody):
    """The result of an import."""

    result: ImportedTotals


_DESCRIPTION = (
    "The service imports only UTC days before the day on which the site or link was added. It detects the product from"
    " the file: GoatCounter, Plausible, Umami, Matomo, Google Analytics 4, Counterscale, an export of this service, or"
    " a table with the columns `day` and `views`. If the file names several sites and links, the service imports only"
    " the totals of the site or link in the URL. All days are written in one transaction. The body can be at most 1"
    " MiB, so compress larger files with gzip."
)
_EXAMPLE = {"file": "ZGF5LHZpZXdzCjIwMjYtMDEtMDEsMTIK", "dry_run": True}
SITE = Endpoint(
    method="POST",
    path="/v1/sites/{site_id}/totals",
    tag="reports",
    addition=True,
    action="totals.import",
    summary="Import daily totals of a site from another product",
    description=f"{_DESCRIPTION} Each read of Cloudflare Web Analytics counts as one of the user's 30 report reads per"
    " minute. The service stores breakdowns in the Worker's database. If it cannot store them, it imports nothing.",
    scopes=("sites",),
    codes=("account_not_ready", "cloudflare_unavailable"),
    body=SiteTotals,
    response=TotalsImport,
    example=_EXAMPLE,
)
LINK = Endpoint(
    method="POST",
    path="/v1/links/{link_id}/totals",
    tag="reports",
    addition=True,
    action="totals.import",
    summary="Import daily totals of a link from another product",
    description=_DESCRIPTION,
    scopes=("links",),
    body=TotalsFile,
    response=TotalsImport,
    example=_EXAMPLE,
)

ENDPOINTS = (SITE, LINK)
