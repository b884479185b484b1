"""The types of request and response fields, each with its validation and JSON schema.

Every valid value matches the pattern in its JSON schema. If a pattern cannot express all rules, the schema's `format`
names a format that defines the remaining rules.
"""

from __future__ import annotations

import base64
import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    SecretStr,
    WithJsonSchema,
)

from svc import addresses, model
from svc.api.ascii_forms import ascii_host, ascii_path, ascii_url
from svc.clock import day_number, day_of, day_text, epoch_ms, iso
from svc.ids import EDGE_ACCOUNT_ID
from svc.model import (
    MAX_CODE_CHARS,
    MAX_MONTHS_KEPT,
    MIN_CODE_CHARS,
    MIN_MONTHS_KEPT,
    NO_NUL,
    RESERVED_CODES,
)
from svc.security import password_policy
from svc.security.ip_networks import canonical_network

if TYPE_CHECKING:
    from svc.errors import ErrorNote, IssueCode
    from svc.model import ConfigState

T = TypeVar("T")

LONGEST_URL = 2048
_LONGEST_HOST = 253
_LONGEST_PREFIX = 1_000

_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# A host name. No top-level domain begins with a digit (RFC 3696, 2), so the pattern excludes IPv4 addresses.
_HOST = rf"^({_LABEL}\.)+[A-Za-z]([A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?\.?$"
# Characters that RFC 3986 allows in a URL; all others must be percent-encoded.
_UNRESERVED = r"A-Za-z0-9._~\-"
_SUB_DELIMS = r"!$&'()*+,;="
# A label of the host in a URL. This pattern is more permissive than _LABEL, because the labels of some hosts contain
# underscores, or begin or end with a hyphen. Percent signs are excluded, because an encoded host could be mistaken for
# a different host.
_URL_LABEL = r"[A-Za-z0-9_-]{1,63}"
_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_BYTE}(\.{_BYTE}){{3}}"


def _ipv6() -> str:
    """Return a pattern for IPv6 addresses as defined in RFC 3986, 3.2.2.

    An address has eight groups. `::` can replace one or more groups, and an IPv4 address can replace the last two.
    """
    group = "[0-9A-Fa-f]{1,4}"
    last_two = f"({group}:{group}|{_IPV4})"
    before = ["", f"({group})?", *(f"(({group}:){{0,{n}}}{group})?" for n in range(1, 5))]
    middle = [f"{start}::({group}:){{{5 - n}}}{last_two}" for n, start in enumerate(before)]
    ends = [f"(({group}:){{0,5}}{group})?::{group}", f"(({group}:){{0,6}}{group})?::"]
    return "|".join([f"({group}:){{6}}{last_two}", *middle, *ends])


_IPV6 = f"({_ipv6()})"
_PORT = r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_URL = (
    rf"^[Hh][Tt][Tt][Pp][Ss]://([{_UNRESERVED}{_SUB_DELIMS}:%]*@)?"
    rf"({_URL_LABEL}(\.{_URL_LABEL})*\.?|\[{_IPV6}\])(:{_PORT}?)?"
    rf"([/?#][{_UNRESERVED}{_SUB_DELIMS}:@%/?#\[\]]*)?$"
)
# An origin that may show a page in a frame. `http` is allowed only for development.
_ORIGIN = rf"^(https://({_LABEL}\.)+[A-Za-z]([A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?|http://localhost)(:{_PORT})?$"
# Hosts and URLs in requests may match the ASCII patterns above, or contain non-ASCII characters, which the service
# converts to ASCII.
_BEYOND_ASCII = r"[^\x00-\x7F]"
_HOST_TAKEN = rf"{_HOST}|^[A-Za-z0-9.-]*{_BEYOND_ASCII}([A-Za-z0-9.-]|{_BEYOND_ASCII})*$"
_URL_CHARS = rf"[{_UNRESERVED}{_SUB_DELIMS}:@%/?#\[\]]"
_URL_TAKEN = rf"{_URL}|^[Hh][Tt][Tt][Pp][Ss]://{_URL_CHARS}*{_BEYOND_ASCII}({_URL_CHARS}|{_BEYOND_ASCII})*$"
# The Worker compares prefixes with paths in the form in which browsers send them. A prefix with a backslash would never
# match, because browsers convert backslashes to slashes.
_PREFIX = r"^/[^\x00-\x1f\x7f?#\\]*$"
_NETWORK = rf"^({_IPV4}(/([12]?[0-9]|3[0-2]))?|{_IPV6}(/([1-9]?[0-9]|1[01][0-9]|12[0-8]))?)$"
_EMAIL = r"^[^@\s]{1,64}@[^@\s]+\.[^@\s]+$"
_EDGE_TOKEN = r"^[!-~]{1,1000}$"  # noqa: S105  # a pattern
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
# One line with at least one visible character.
_NAME = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
# One line with at least one visible character. Unicode's line separators and control characters are also excluded.
_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_INVISIBLE = rf"{_CONTROL}\x20\xa0\xad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u206f\u3000\ufeff"
_NOTE = rf"^[^{_CONTROL}]*[^{_INVISIBLE}][^{_CONTROL}]*$"
# A time in the format of RFC 3339. Python would also accept other ISO 8601 formats.
_TIME = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
    r"([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
_FIRST_NOTE_DAY, _LAST_NOTE_DAY = "2000-01-01", "2099-12-31"
_COLOR = r"#?([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})"
_TRANSPARENT = "transparent"
# Header values and query strings: no control characters, except tabs in headers.
_HEADER = r"^[^\x00-\x08\x0a-\x1f\x7f]*$"
_QUERY = r"^[^\x00-\x1f\x7f]*$"
_LANGUAGE = r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"
# The decoded name or value of a query parameter.
_PARAMETER = _QUERY
# Maximum length of a header or query string, in characters. Cloudflare accepts URLs of up to 16 kB, and the Worker
# reads only part of a long header.
_LONGEST_SENT = 16_000
_ASCII_FORM = "ASCII form (xn--…)"


class Wrong(ValueError):
    """The error for an invalid value. The message is for users, and the code is for API clients; see `errors.Issue`."""

    def __init__(self, message: str, code: IssueCode, limit: int | None = None) -> None:
        super().__init__(message)
        self.code: IssueCode = code
        self.limit = limit


def _text(value: str) -> str:
    if "\x00" in value:  # PostgreSQL cannot store NUL
        raise Wrong("must not contain a NUL character", "wrong_form")
    return value


def _host(value: str) -> str:
    try:
        host = ascii_host(value)
    except ValueError:
        raise Wrong(f"must be a valid host name, or its {_ASCII_FORM}", "not_host") from None
    if len(host) > _LONGEST_HOST or not _fits(_HOST, host):
        raise Wrong("must be a host name, e.g. shop.example.com", "not_host")
    return host.lower().removesuffix(".")


def _https_url(value: str) -> str:
    if len(value) > LONGEST_URL:
        raise Wrong(f"must have at most {LONGEST_URL} characters", "too_long", LONGEST_URL)
    try:
        url = ascii_url(value)
    except ValueError:
        raise Wrong(
            f"must have a valid host name; give the host in its {_ASCII_FORM}",
            "not_https",
        ) from None
    if len(url) > LONGEST_URL:
        raise Wrong(f"must have at most {LONGEST_URL} characters after percent-encoding", "too_long", LONGEST_URL)
    if not _fits(_URL, url):
        raise Wrong(
            "must be a URL that begins with https:// and has a host and, optionally, a port from 1 to 65535;"
            " percent-encode spaces and other ASCII characters that RFC 3986 does not allow",
            "not_https",
        )
    return url


def _url_or_nothing(value: str) -> str:
    return _https_url(value) if value else ""


def _link_code(value: str) -> str:
    asker = RESERVED_CODES.get(value)
    if asker is not None:
        raise Wrong(
            f"is reserved: {asker} request this path automatically, so each request would count as a click",
            "reserved_code",
        )
    return value


def _prefix(value: str) -> str:
    if not value.startswith("/"):
        raise Wrong("must begin with /", "not_path")
    if "?" in value or "#" in value:
        raise Wrong(
            "must not contain ? or #: views are counted by path, without query and fragment",
            "not_path",
        )
    if not _fits(_PREFIX, value):
        raise Wrong("must not contain control characters or backslashes", "not_path")
    path = ascii_path(value)
    if len(path) > _LONGEST_PREFIX:
        raise Wrong(
            f"must have at most {_LONGEST_PREFIX} characters after percent-encoding", "too_long", _LONGEST_PREFIX
        )
    return path


def _network(value: str) -> str:
    if not _fits(_NETWORK, value):
        raise Wrong("must be an IP address or range, e.g. 192.0.2.7 or 2001:db8::/32", "not_network")
    return value


def _origin(value: str) -> str:
    if not _fits(_ORIGIN, value):
        raise Wrong("must be an origin without a path, e.g. https://www.example.com", "wrong_form")
    return value.lower().removesuffix(":443" if value.startswith("https:") else ":80")


def _color(value: str) -> str:
    """Return a color as `#rrggbb`."""
    if not _fits(_COLOR, value):
        raise Wrong("must be a color with 3 or 6 hexadecimal digits, e.g. 1a5fb4", "wrong_form")
    digits = value.removeprefix("#").lower()
    return f"#{digits if len(digits) == 6 else ''.join(2 * digit for digit in digits)}"


def _color_or_transparent(value: str) -> str:
    return value if value == _TRANSPARENT else _color(value)


def without_duplicates(values: tuple[T, ...]) -> tuple[T, ...]:
    """Return the values without repetitions, in their original order."""
    return tuple(dict.fromkeys(values))


def _email(value: str) -> str:
    try:
        return addresses.parse_email(value)
    except ValueError as error:
        raise Wrong(str(error), "not_email") from None


def _months_kept(value: object) -> model.MonthsKept:
    if value == "forever":
        return "forever"
    if not isinstance(value, int) or isinstance(value, bool):
        raise Wrong('must be a whole number, or "forever"', "not_integer")
    if value < MIN_MONTHS_KEPT:
        raise Wrong(f"must be at least {MIN_MONTHS_KEPT}", "too_small", MIN_MONTHS_KEPT)
    if value > MAX_MONTHS_KEPT:
        raise Wrong(f"must be at most {MAX_MONTHS_KEPT}", "too_large", MAX_MONTHS_KEPT)
    return value


def _digits(value: object) -> int:
    """Parse an integer query parameter. Unlike `int()`, reject forms such as ` 5`, `+5` and `5_0`."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,18}", value):
        raise Wrong("must be a whole number (digits only)", "not_integer")
    return int(value)


def _base64(value: object) -> bytes:
    if not isinstance(value, str):
        raise Wrong("must be a string", "not_text")
    if not value:
        raise Wrong("must not be empty", "too_short", 4)
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise Wrong("must be base64 with padding (RFC 4648, section 4)", "wrong_form") from None


def _day(value: object) -> int:
    """Parse a day (YYYY-MM-DD) in a query and return its epoch day. Reject other forms, even if Python accepts them."""
    wrong = Wrong("must be a date, e.g. 2026-11-21", "not_day")
    if not isinstance(value, str) or not re.fullmatch(_DAY, value):
        raise wrong
    try:
        return day_number(value)
    except ValueError:
        raise wrong from None


def _time(value: object) -> int:
    """Parse a time in RFC 3339 format and return epoch ms."""
    wrong = Wrong("must be a time, e.g. 2026-11-21T04:00:00Z", "wrong_form")
    if not isinstance(value, str) or not _fits(_TIME, value):
        raise wrong
    try:
        at = epoch_ms(datetime.fromisoformat(value.upper()))
    except (ValueError, OverflowError):
        raise wrong from None
    if not day_number(_FIRST_NOTE_DAY) <= day_of(at) <= day_number(_LAST_NOTE_DAY):
        raise Wrong(f"must be a time from {_FIRST_NOTE_DAY} to {_LAST_NOTE_DAY}", "wrong_form")
    return at


def _time_or_nothing(value: object) -> int | Literal[""]:
    return "" if value == "" else _time(value)


def _note_day(value: object) -> int:
    day = _day(value)
    if not day_number(_FIRST_NOTE_DAY) <= day <= day_number(_LAST_NOTE_DAY):
        raise Wrong(f"must be a date from {_FIRST_NOTE_DAY} to {_LAST_NOTE_DAY}", "not_day")
    return day


def _new_password(value: SecretStr) -> SecretStr:
    fault = password_policy.password_problem(_password(value).get_secret_value())
    if fault is not None:
        raise Wrong(fault, "weak_password")
    return value


def _password(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) > password_policy.LONGEST:
        raise Wrong(f"must have at most {password_policy.LONGEST} characters", "too_long", password_policy.LONGEST)
    return value


def _edge_token(value: SecretStr) -> SecretStr:
    """Check that a Cloudflare API token has only visible ASCII characters, because it is sent in a header."""
    if not _fits(_EDGE_TOKEN, value.get_secret_value()):
        raise Wrong("must be an API token", "not_token")
    return value


def _fits(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value) is not None and not value.endswith("\n")


def _string(**more: object) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", **more})


def _secret(**more: object) -> WithJsonSchema:
    return _string(format="password", writeOnly=True, **more)


# ------------------------------------------------------------------------------------------------------ request fields

Text = Annotated[str, AfterValidator(_text)]
Id = Annotated[Text, Field(max_length=100), _string(maxLength=100, pattern=NO_NUL)]
Search = Annotated[Text, Field(max_length=200), _string(maxLength=200, pattern=NO_NUL, examples=["shop"])]
# Short, because the percent-encoded text and the link list's other parameters must fit into the longest allowed query
# string.
ShortSearch = Annotated[Text, Field(max_length=50), _string(maxLength=50, pattern=NO_NUL)]
Label = Annotated[Text, Field(max_length=40), _string(maxLength=40, pattern=NO_NUL, examples=["visits"])]
Cursor = Annotated[Text, Field(max_length=200), _string(maxLength=200, pattern=NO_NUL)]
Host = Annotated[
    str,
    Field(max_length=_LONGEST_HOST),
    AfterValidator(_host),
    _string(
        format="idn-hostname",
        pattern=_HOST_TAKEN,
        maxLength=_LONGEST_HOST,
        examples=["shop.example.com", "münchen.example"],
    ),
]
HttpsUrl = Annotated[
    str,
    AfterValidator(_https_url),
    _string(format="iri", pattern=_URL_TAKEN, maxLength=LONGEST_URL, examples=["https://example.com/spring?ref=mail"]),
]
# In a change, "" removes the URL or the time.
OptionalUrl = Annotated[
    str,
    AfterValidator(_url_or_nothing),
    _string(pattern=rf"{_URL_TAKEN}|^$", maxLength=LONGEST_URL, examples=["https://example.com/over"]),
]
Time = Annotated[int, PlainValidator(_time), _string(format="date-time", pattern=_TIME)]
OptionalTime = Annotated[
    int | Literal[""],
    PlainValidator(_time_or_nothing),
    _string(pattern=rf"{_TIME}|^$", examples=["2026-11-21T04:00:00Z"]),
]
PathPrefix = Annotated[
    str,
    Field(max_length=_LONGEST_PREFIX),
    AfterValidator(_prefix),
    _string(pattern=_PREFIX, maxLength=_LONGEST_PREFIX, examples=["/admin/", "/über uns"]),
]
# A name that users give to an account or a key.
Name = Annotated[
    str,
    Field(min_length=1, max_length=100, pattern=_NAME),
    _string(minLength=1, maxLength=100, pattern=_NAME, examples=["Shop"]),
]
NoteText = Annotated[
    str,
    Field(min_length=1, max_length=500, pattern=_NOTE),
    _string(minLength=1, maxLength=500, pattern=_NOTE, examples=["Newsletter sent"]),
]
NoteDay = Annotated[int, BeforeValidator(_note_day), _string(format="date", examples=["2026-11-21"])]
Origin = Annotated[
    str,
    Field(max_length=_LONGEST_HOST + 14),
    AfterValidator(_origin),
    _string(pattern=_ORIGIN, maxLength=_LONGEST_HOST + 14, examples=["https://www.example.com"]),
]
Origins = Annotated[tuple[Origin, ...], Field(max_length=10, fail_fast=True), AfterValidator(without_duplicates)]
EdgeAccountId = Annotated[str, Field(pattern=f"^{EDGE_ACCOUNT_ID}$", examples=["023e105f4ecef8ad9ca31a8372d0c353"])]
Network = Annotated[
    str, AfterValidator(_network), _string(format="cidr", pattern=_NETWORK, examples=["192.0.2.7", "2001:db8::/32"])
]
Email = Annotated[
    str,
    Field(max_length=addresses.LONGEST_EMAIL),
    AfterValidator(_email),
    _string(format="email", pattern=_EMAIL, maxLength=addresses.LONGEST_EMAIL, examples=["ann@example.com"]),
]
NewPassword = Annotated[
    SecretStr,
    AfterValidator(_new_password),
    _secret(minLength=password_policy.SHORTEST, maxLength=password_policy.LONGEST),
]
Password = Annotated[SecretStr, AfterValidator(_password), _secret(maxLength=password_policy.LONGEST)]
EdgeToken = Annotated[SecretStr, AfterValidator(_edge_token), _secret(pattern=_EDGE_TOKEN)]
MailToken = Annotated[SecretStr, Field(max_length=200), _secret(maxLength=200)]
# The content of a file. Only the maximum size of the body limits its length.
Base64 = Annotated[
    bytes,
    BeforeValidator(_base64),
    _string(
        contentEncoding="base64",
        minLength=4,
        pattern=r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    ),
]
Country = Annotated[str, Field(pattern=r"^[A-Z]{2}$", examples=["DE"])]
# A visitor's country as Cloudflare reports it. It can be a special code such as T1.
EdgeCountry = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9]$", examples=["DE"])]
# A language tag (RFC 5646) without `*`. Longer tags do not occur in practice.
Language = Annotated[
    str,
    Field(pattern=_LANGUAGE, max_length=35),
    AfterValidator(str.lower),
    _string(pattern=_LANGUAGE, maxLength=35, examples=["de", "pt-BR"]),
]
ParameterName = Annotated[str, Field(min_length=1, max_length=100, pattern=_PARAMETER)]
ParameterValue = Annotated[str, Field(max_length=200, pattern=_PARAMETER)]
Color = Annotated[str, AfterValidator(_color), _string(pattern=f"^{_COLOR}$", examples=["1a5fb4"])]
ColorOrTransparent = Annotated[
    str,
    AfterValidator(_color_or_transparent),
    _string(pattern=f"^({_TRANSPARENT}|{_COLOR})$", examples=["f6f5f4", _TRANSPARENT]),
]
HeaderText = Annotated[str, Field(max_length=_LONGEST_SENT, pattern=_HEADER)]
QueryText = Annotated[str, Field(max_length=_LONGEST_SENT, pattern=_QUERY)]
LinkCode = Annotated[
    str,
    Field(
        pattern=f"^[A-Za-z0-9_-]{{{MIN_CODE_CHARS},{MAX_CODE_CHARS}}}$",
        examples=["spring-sale"],
        json_schema_extra={"not": {"enum": sorted(RESERVED_CODES)}},
    ),
    AfterValidator(_link_code),
]
# One validator for both types, because pydantic would report the errors of a union under two paths.
MonthsKept = Annotated[
    model.MonthsKept,
    PlainValidator(_months_kept),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": MIN_MONTHS_KEPT, "maximum": MAX_MONTHS_KEPT},
                {"const": "forever", "type": "string"},
            ],
            "examples": [24, "forever"],
        }
    ),
]
# Write this after the bounds of an integer in a query: `Annotated[int, Field(ge=1), DIGITS]`.
DIGITS = BeforeValidator(_digits)
QueryDay = Annotated[int, BeforeValidator(_day), _string(format="date", examples=["2026-11-21"])]
ExcludedPaths = Annotated[tuple[PathPrefix, ...], Field(max_length=50, fail_fast=True)]
CanonicalNetwork = Annotated[Network, AfterValidator(canonical_network)]
ExcludedNetworks = Annotated[
    tuple[CanonicalNetwork, ...], Field(max_length=20, fail_fast=True), AfterValidator(without_duplicates)
]
ExcludedCountries = Annotated[
    tuple[Country, ...], Field(max_length=50, fail_fast=True), AfterValidator(without_duplicates)
]
# An autonomous system number has 32 bits (RFC 6793). The number 0 is reserved (RFC 7607).
Asn = Annotated[int, Field(ge=1, le=2**32 - 1, examples=[64496])]
ExcludedAsns = Annotated[tuple[Asn, ...], Field(max_length=20, fail_fast=True), AfterValidator(without_duplicates)]

# ----------------------------------------------------------------------------------------------------- response fields

# A time, stored as epoch ms. In JSON, it is an ISO 8601 string in UTC.
Moment = Annotated[
    int, PlainSerializer(iso, return_type=str), _string(format="date-time", examples=["2026-11-21T04:00:00.000Z"])
]
# A day, stored as an epoch day. In JSON, it is a string in the format YYYY-MM-DD.
Day = Annotated[int, PlainSerializer(day_text, return_type=str), _string(format="date", examples=["2026-11-21"])]
Count = Annotated[int, Field(ge=0)]


def config_state(version: int, synced_version: int, error: ErrorNote | None = None) -> ConfigState:
    """Return "synced" if the Worker has this configuration version and `error` is None, otherwise "pending".

    `error`: the reason why this version could not be synced, or None.
    """
    return "synced" if version <= synced_version and error is None else "pending"
