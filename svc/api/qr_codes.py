"""QR codes of links: one as SVG or PNG, and several in a ZIP file or on a printable page."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from svc.api.ascii_forms import search_forms
from svc.api.endpoint import HTML_TYPE, ID_PREFIXES, Endpoint
from svc.api.export import ZIP_TYPE
from svc.api.fields import DIGITS, Color, ColorOrTransparent, Id, ShortSearch, Wrong
from svc.api.link_texts import Tag
from svc.api.shape import Query, optional_field
from svc.ids import ID_PATTERN, is_id

SVG_TYPE, PNG_TYPE = "image/svg+xml", "image/png"
MAX_IDS = 200
MAX_IN_ZIP = 500
MAX_ON_SHEET = 200
_MAX_MARGIN = 20
# The minimum image size in a ZIP file, in pixels. The largest QR code with the widest margin is 129 modules wide, and
# each module is at least 2 pixels wide.
_MIN_SIZE_IN_ZIP = 300
_DEFAULT_PNG_SIZE = 1024
_PREFIX = ID_PREFIXES["link_id"]


def _ids(value: object) -> tuple[str, ...]:
    ids = tuple(dict.fromkeys(value.split(","))) if isinstance(value, str) else ()
    if not ids or not all(is_id(_PREFIX, each) for each in ids):
        raise Wrong("must be ids of links, separated by commas", "wrong_form")
    if len(ids) > MAX_IDS:
        raise Wrong(f"must have at most {MAX_IDS} items", "too_many", MAX_IDS)
    return ids


_AN_ID = f"{_PREFIX}_{ID_PATTERN}"
Ids = Annotated[
    tuple[str, ...],
    BeforeValidator(_ids),
    WithJsonSchema({"type": "string", "pattern": f"^{_AN_ID}(,{_AN_ID}){{0,{MAX_IDS - 1}}}$"}),
]


class StyleQuery(Query):
    """The appearance of a QR code."""

    dark: Color = Field(
        "#000000",
        description="The color of the modules, with 3 or 6 hexadecimal digits. `#` is optional. In a URL, write `#` as"
        " `%23`. The brightness of this color must be at least 50 percentage points lower than that of `light`, so"
        " that scanners can read the QR code.",
    )
    light: ColorOrTransparent = Field(
        "#ffffff",
        description="The color of the background, or `transparent`, which counts as white.",
    )
    logo: Literal["1"] | None = optional_field(
        "With `1`, the operator's logo is in the center, and the QR code uses error correction level H instead of M."
    )
    margin: Annotated[int, Field(ge=0, le=_MAX_MARGIN), DIGITS] = Field(
        4,
        description="The width of the margin in modules. Scanners need a light margin of 4 modules. With a smaller"
        " margin, place the image on a light background.",
    )


class SvgQuery(StyleQuery):
    """The size and the appearance of an SVG image."""

    size: Annotated[int, Field(ge=64, le=9999), DIGITS] | None = optional_field(
        "Width and height in pixels. By default, the image scales to its container."
    )


class PngQuery(StyleQuery):
    """The size and the appearance of a PNG image."""

    size: Annotated[int, Field(ge=64, le=4096), DIGITS] = Field(
        _DEFAULT_PNG_SIZE,
        description="Width and height of the image in pixels. Every module, which is one square of the QR code, has"
        " the same width: a whole number of pixels, at least 2. The pixels that remain are added to the margin.",
    )


class SelectionQuery(StyleQuery):
    """Several links, and the appearance of their QR codes."""

    most_chars: ClassVar[int] = 6_000  # 200 ids have 5,000 characters

    ids: Ids | None = optional_field(
        f"The ids of up to {MAX_IDS} links, separated by commas. The QR codes have the same order as the ids. Cannot be"
        " combined with `account_id`, `q`, `tag` or `order`."
    )
    account_id: Id | None = optional_field("Only links of this account.")
    q: ShortSearch = Field("", description="Only links whose code, URL or title contains this text. Case is ignored.")
    tag: Tag | None = optional_field("Only links with this tag.")
    order: Literal["oldest", "newest", "code"] = Field(
        "oldest", description="The order of the QR codes: by the creation time of the links, or by code."
    )

    @property
    def contains(self) -> tuple[str, ...]:
        """The forms of `q` to search for in the store."""
        return search_forms(self.q)


class ZipQuery(SelectionQuery):
    """The links, and the format of the images."""

    format: Literal["svg", "png"] = Field("svg", description="The format of the images.")
    size: Annotated[int, Field(ge=_MIN_SIZE_IN_ZIP, le=2048), DIGITS] = Field(
        _DEFAULT_PNG_SIZE,
        description="Width and height of PNG images in pixels, as in `qr.png`. SVG images scale to their container.",
    )


class SheetQuery(SelectionQuery):
    """The links, and the size of the paper."""

    paper: Literal["a4", "letter"] = Field("a4", description="The size of the paper.")


_STYLED = (
    "The QR code contains the short URL with `?q`, so that scans are counted with the source `qr`. If the"
    " colors do not have enough contrast, the request fails with the issue `low_contrast`. A request with `logo=1`"
    " fails with the issue `not_offered` if the service has no logo{more}."
)
SVG = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/qr.svg",
    tag="links",
    summary="Get the link's QR code as SVG",
    description=_STYLED.format(more=""),
    scopes=("links",),
    query=SvgQuery,
    response=None,
    media_types=(SVG_TYPE,),
    codes=("link_host_required",),
)
PNG = Endpoint(
    method="GET",
    path="/v1/links/{link_id}/qr.png",
    tag="links",
    addition=True,
    summary="Get the link's QR code as PNG",
    description=_STYLED.format(more=", or if the logo is not a PNG file that the service can draw")
    + " A user can request 30 images per minute.",
    scopes=("links",),
    query=PngQuery,
    response=None,
    media_types=(PNG_TYPE,),
    codes=("link_host_required",),
)
_SELECTED = (
    "Select the links by `ids`, or with filters as in `GET /v1/links`. If one of the `ids` does not belong to an"
    " active link, or if no link matches the filter, the response is `not_found`. If more than {most} links match, the"
    " response is `invalid_request` with the issue `too_many`. "
)
_LIMITED = "A user can request 20 ZIP files and printable pages per hour in total."
ZIP = Endpoint(
    method="GET",
    path="/v1/links/qr.zip",
    tag="links",
    addition=True,
    summary="Get the QR codes of several links as a ZIP file",
    description=_SELECTED.format(most=MAX_IN_ZIP)
    + "The names of the files contain the codes of the links, such as `qr-spring-sale.svg`. If two names are equal or"
    " differ only in case, the service adds a number to the second one. If an error occurs while the service"
    f" streams the ZIP file, the connection closes early. {_LIMITED}",
    scopes=("links",),
    query=ZipQuery,
    response=None,
    media_types=(ZIP_TYPE,),
    codes=("not_found", "link_host_required"),
)
SHEET = Endpoint(
    method="GET",
    path="/v1/links/qr.html",
    tag="links",
    addition=True,
    summary="Get a printable page with the QR codes of several links",
    description=_SELECTED.format(most=MAX_ON_SHEET)
    + "The page is a single HTML file without scripts. A row has three QR codes, and a printed page has four rows."
    f" Below each QR code are the link's title (or the short code, if there is no title) and the short URL. {_LIMITED}",
    scopes=("links",),
    query=SheetQuery,
    response=None,
    media_types=(HTML_TYPE,),
    codes=("not_found", "link_host_required"),
)

ENDPOINTS = (SVG, PNG, ZIP, SHEET)
