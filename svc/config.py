"""All settings of the service: read from config.toml and the environment, validated, and immutable.

config.toml in the repository documents the settings. A test checks that it lists every setting with its default.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    model_validator,
)

from svc import addresses
from svc.clock import DAY_MS, day_of
from svc.ids import EDGE_ACCOUNT_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import ErrorDetails

    from svc.model import LimitedKind, Plan

# The largest accepted number of days. Larger values are almost certainly typos, and could exceed the range of dates and
# of 64-bit integers.
_MAX_DAYS = 3_650
_LARGEST = 10**12
# Patterns for the characters of a URL (RFC 3986, section 2), and for a host name or an IPv6 address.
_URL_CHARACTERS = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[0-9a-f:.]*:[0-9a-f:.]*")
_LONGEST_URL = 2_000
# The maximum length of the service's name. Longer names do not fit next to the navigation on a phone.
_LONGEST_NAME = 40
# Settings of earlier versions, by section. Operators' configuration files may still contain them.
_REMOVED = {
    "limits": {"exports_per_hour"},
    "timing": {
        "pending_ttl_s",
        "token_days",
        "expiry_warning_days",
        "notice_after_s",
        "previous_key_s",
        "refresh_days",
        "idempotency_s",
        "wave_s",
    },
}
_IN_PASSWORDS = (
    "in a user name or password, write / as %2F, ? as %3F, # as %23, @ as %40, : as %3A, [ as %5B, ] as %5D and % as"
    " %25"
)


class ConfigError(Exception):
    """The configuration is not valid. The message names the setting, the problem and the accepted values."""


def _split_url(url: str) -> SplitResult:
    """Split a URL. Raises ValueError if the URL or its port is not valid.

    The message does not quote the URL, because the invalid part may belong to a password.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(f"is not a valid URL; {_IN_PASSWORDS}") from None
    for host in parts.netloc.rpartition("@")[2].split(","):  # PostgreSQL accepts several hosts
        port = re.sub(r"^(\[.*\]|[^:]*)", "", host)
        if port and not (port[1:].isdecimal() and 0 < int(port[1:]) < 65_536):
            raise ValueError(f"has an invalid port; {_IN_PASSWORDS}")
    return parts


def _http_url(value: str) -> str:
    parts = _split_url(value)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError("must be an http or https URL")
    if not re.fullmatch(r"[!-~]*", value):
        raise ValueError("must contain only ASCII characters and no spaces; write non-ASCII host names as xn--…")
    if parts.username is not None or "?" in value or "#" in value:
        raise ValueError("must not contain a user name, a password, ? or #, because paths are appended to it")
    return value.rstrip("/")


def _store_url(value: SecretStr) -> SecretStr:
    parts = _split_url(value.get_secret_value())
    if parts.scheme == "sqlite" and parts.path in ("", "/"):
        raise ValueError("must name a file, e.g. sqlite:///var/svc.db")
    # The / or # may be part of a password.
    if parts.scheme != "sqlite" and ("@" in parts.path or parts.fragment):
        raise ValueError(f"has an @ or # after the host; {_IN_PASSWORDS}")
    return value


def _smtp_url(value: SecretStr) -> SecretStr:
    parts = _split_url(value.get_secret_value())
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"must end after the host and the port; {_IN_PASSWORDS}")
    return value


def _https_url(value: str) -> str:
    """Return the URL of a link in pages and emails. Raises ValueError if it is not an https URL."""
    if not value:
        return value
    if len(value) > _LONGEST_URL or not _URL_CHARACTERS.fullmatch(value):
        raise ValueError(
            f"must be a URL of at most {_LONGEST_URL:_} characters; percent-encode characters that RFC 3986 does not"
            " allow"
        )
    parts = _split_url(value)
    if parts.scheme != "https" or not _HOST.fullmatch(parts.hostname or ""):
        raise ValueError("must be an https URL, e.g. https://example.com/imprint")
    if parts.username is not None:
        raise ValueError("must not contain a user name or a password, because everyone can see the URL")
    return value


def _contact(value: str) -> str:
    """Return the operator's contact. Raises ValueError if it is neither an email address nor an https URL."""
    if not value:
        return value
    try:
        return _https_url(value) if "://" in value else addresses.parse_email(value)
    except ValueError:
        raise ValueError("must be an email address or an https URL, e.g. help@example.com") from None


def _service_name(value: str) -> str:
    """Return the service's name for pages and email headers. Raises ValueError if the name is not valid."""
    name = value.strip()
    # Mail programs would decode =?…?= in the sender's name, even in quotation marks.
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable() or "=?" in name:
        raise ValueError(f"must have 1 to {_LONGEST_NAME} characters, without line breaks, control characters or =?")
    return name


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise ValueError(f"{value!r} is not an IP address or network, e.g. 10.0.0.0/8") from None
    return value


def _bind(value: str) -> str:
    addresses.parse_bind(value)
    return value


def _edge_account_id(value: str) -> str:
    if re.fullmatch(EDGE_ACCOUNT_ID, value) is None:
        raise ValueError(f"{value!r} is not a Cloudflare account id (32 hexadecimal digits in lower case)")
    return value


def _not_bool(value: object) -> object:
    """Return the value. Raises ValueError for true and false, which pydantic would otherwise accept as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")  # noqa: TRY004  # pydantic expects this class
    return value


_NotBool = BeforeValidator(_not_bool)
Number = Annotated[PositiveInt, Field(le=_LARGEST), _NotBool]
Limit = Annotated[NonNegativeInt, Field(le=_LARGEST), _NotBool]
Seconds = Annotated[PositiveFloat, Field(le=_MAX_DAYS * 86_400), _NotBool]
Days = Annotated[PositiveFloat, Field(le=_MAX_DAYS), _NotBool]
# How long hourly totals are kept: at least two days. Reports show the hours of the current UTC day, and the second day
# allows for clock differences.
HourDays = Annotated[float, Field(ge=2, le=_MAX_DAYS), _NotBool]
Bind = Annotated[str, AfterValidator(_bind)]
BindOrOff = Annotated[str, AfterValidator(lambda value: value and _bind(value))]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
HttpsUrl = Annotated[str, AfterValidator(_https_url)]
Network = Annotated[str, AfterValidator(_network)]
EdgeAccountId = Annotated[str, AfterValidator(_edge_account_id)]
SignUpMode = Literal["open", "invite", "closed"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class HttpConfig(_Section):
    """Settings of the HTTP server."""

    bind: Bind = addresses.DEFAULT_BIND
    base_url: HttpUrl = ""
    trusted_proxies: tuple[Network, ...] = ()
    connections: Number = 1_000
    max_body_bytes: Number = 1_048_576
    graceful_s: Seconds = 35
    access_log: bool = True

    @property
    def link_url(self) -> str:
        """The base of links that commands print: the public URL, or this host's URL if there is none.

        Raises ConfigError if `bind` has port 0, so that this host's URL is not known.
        """
        try:
            return self.base_url or addresses.local_url(self.bind)
        except ValueError:
            raise ConfigError("The port in [http] bind is 0, so set [http] base_url to print links") from None


class StoreConfig(_Section):
    """Settings of the store. The URL is treated as a secret, because it may contain a password."""

    url: Annotated[SecretStr, AfterValidator(_store_url)] = SecretStr("sqlite:///var/svc.db")
    pool_size: Number = 10
    copies: str = "var"

    @property
    def engine(self) -> Literal["sqlite", "postgres"]:
        """The store's database engine. Raises ConfigError if the URL's scheme is not supported."""
        url = self.url.get_secret_value()
        if url.startswith("sqlite:///"):
            return "sqlite"
        if url.startswith(("postgresql://", "postgres://")):
            return "postgres"
        raise ConfigError("The setting [store] url must begin with sqlite:/// or postgresql://")

    @property
    def path(self) -> Path:
        """The path of the SQLite database file.

        Symbolic links are resolved, because SQLite creates its write-ahead log next to the real file.
        """
        return Path(self.url.get_secret_value().removeprefix("sqlite:///")).resolve()

    @property
    def location(self) -> str:
        """The path of the database file, or the PostgreSQL URL without user name and password."""
        url = self.url.get_secret_value()
        if self.engine == "sqlite":
            return str(Path(url.removeprefix("sqlite:///")).absolute())
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class EdgeConfig(_Section):
    """Settings for calls to Cloudflare's API."""

    api_base_url: HttpUrl = "https://api.cloudflare.com/client/v4"
    timeout_s: Seconds = 15
    connect_s: Seconds = 30
    settling_s: Seconds = 60
    settling_in_connect_s: Seconds = 10
    report_read_s: Seconds = 5
    concurrency: Number = 64
    concurrency_per_user: Number = 6
    concurrency_per_account: Number = 4
    calls_per_token: Number = 1_150
    calls_per_second: Number = 180
    retries: Limit = 3
    emulated_edge: HttpUrl = ""


class WorkerConfig(_Section):
    """Settings for installed Workers and for rollouts of new versions."""

    push_url: HttpUrl = ""
    allow_local_push: bool = False
    auto_update: bool = True
    canary: tuple[EdgeAccountId, ...] = ()
    canary_wait_s: Seconds = 7200
    spread_s: Seconds = 3600
    updates_at_once: Number = 8


class VaultConfig(_Section):
    """Settings for the key file. Its keys encrypt the accounts' working tokens and the URLs of shares."""

    key_file: Path = Path("var/vault.key")
    lost_tokens: Literal["refuse", "accept"] = "refuse"


class MailConfig(_Section):
    """Settings for sending email."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)

    transport: Literal["smtp", "file"] = "file"
    sender: Annotated[str, AfterValidator(addresses.parse_sender)] = Field(default="svc@localhost", alias="from")
    smtp_url: Annotated[SecretStr, AfterValidator(_smtp_url)] = SecretStr("")
    folder: Path = Path("var/mail")

    @model_validator(mode="after")
    def _smtp_needs_address(self) -> MailConfig:
        parts = urlsplit(self.smtp_url.get_secret_value())
        if self.transport == "smtp" and (parts.scheme not in ("smtp", "smtps") or not parts.hostname):
            raise ValueError("transport smtp needs smtp_url, e.g. smtp://user:password@host:587")
        return self


class AuthConfig(_Section):
    """Settings for sign-up. `invite` means that only invited addresses can sign up."""

    sign_up: SignUpMode = "open"


class MetricsConfig(_Section):
    """Settings of the metrics endpoint. An empty `bind` turns the endpoint off."""

    bind: BindOrOff = ""


class WebConfig(_Section):
    """Settings of the web application, and the operator's identity for pages and emails."""

    name: Annotated[str, AfterValidator(_service_name)] = "svc"
    logo: str = ""
    contact: Annotated[str, AfterValidator(_contact)] = ""
    imprint_url: HttpsUrl = ""
    privacy_url: HttpsUrl = ""
    terms_url: HttpsUrl = ""
    demonstration: str = ""


class LimitsConfig(_Section):
    """Quotas and rate limits."""

    accounts_total: Number = 10_000
    accounts: Limit = 10
    sites: Limit = 100
    links: Limit = 10_000
    keys_free: Limit = 1
    keys_api: Limit = 5
    requests_per_minute: Number = 120
    report_reads_per_minute: Number = 30
    pushes_per_minute: Number = 60
    kept_answers_bytes: Number = 33_554_432
    sign_ins_per_minute: Number = 10
    refreshes_per_minute: Number = 60
    wrong_passwords_per_hour: Number = 20
    mailbox_depth: Number = 16

    def keys_of(self, plan: Plan) -> int:
        """Return the maximum number of API keys for this plan."""
        return self.keys_api if plan == "api" else self.keys_free

    def per_user(self, plan: Plan) -> dict[LimitedKind, int]:
        """Return the maximum number of objects that a user can have, by kind.

        The operator can replace these limits for individual users.
        """
        return {"accounts": self.accounts, "sites": self.sites, "links": self.links, "keys": self.keys_of(plan)}


class LinksConfig(_Section):
    """Settings for links."""

    check_targets: bool = True


class TimingConfig(_Section):
    """Intervals and lifetimes. Short values speed up tests and demonstrations."""

    silent_after_s: Seconds = 93_600
    selfcheck_window_s: Seconds = 900
    commands_every_s: Seconds = 15
    sync_retry_s: Seconds = 5
    route_retry_s: Seconds = 300
    health_every_s: Seconds = 3600
    health_well_every_s: Seconds = 86_400
    recheck_s: Seconds = 60
    rollout_every_s: Seconds = 15
    retiring_days: Days = 30
    session_s: Seconds = 3600
    mail_token_s: Seconds = 86_400
    report_cache_s: Seconds = 300
    hours_kept_days: HourDays = 40
    drain_s: Seconds = 10
    crash_backoff_s: Seconds = 1

    def hours_from(self, now: int) -> int:
        """Return the first day whose hours are all stored. Some hours of the day before may already be deleted."""
        return day_of(now - int(self.hours_kept_days * DAY_MS)) + 1


class Config(_Section):
    """The whole configuration."""

    http: HttpConfig = HttpConfig()
    store: StoreConfig = StoreConfig()
    edge: EdgeConfig = EdgeConfig()
    worker: WorkerConfig = WorkerConfig()
    vault: VaultConfig = VaultConfig()
    mail: MailConfig = MailConfig()
    auth: AuthConfig = AuthConfig()
    metrics: MetricsConfig = MetricsConfig()
    web: WebConfig = WebConfig()
    links: LinksConfig = LinksConfig()
    limits: LimitsConfig = LimitsConfig()
    timing: TimingConfig = TimingConfig()

    @model_validator(mode="after")
    def _sections_agree(self) -> Config:
        problems = []
        if self.http.graceful_s <= self.edge.connect_s:
            problems.append("[http] graceful_s must be above [edge] connect_s, or shutdowns interrupt requests")
        if self.metrics.bind == self.http.bind and not self.metrics.bind.endswith(":0"):
            problems.append("[metrics] bind must differ from [http] bind, which users can reach")
        if problems:
            raise ValueError("\n  ".join(problems))
        return self

    def push_url(self, base_url: str) -> str:
        """Return the URL that Workers push to.

        This is [worker] push_url if set, otherwise a path below `base_url`. If both are empty, the result is "".
        """
        return self.worker.push_url or (base_url and f"{base_url}/edge/push")

    def push_url_problem(self, push_url: str) -> str | None:
        """Return the reason why Workers cannot push to `push_url`, or None if no reason is known.

        Workers can send requests only to host names in public DNS, and not to IP addresses
        (developers.cloudflare.com/workers/platform/known-issues).
        """
        if self.worker.allow_local_push:
            return None
        problem = public_url_problem(push_url)
        if problem is None:
            return None
        return f"Workers cannot push to {push_url!r}: {problem}; set [http] base_url or [worker] push_url"


def public_url_problem(url: str) -> str | None:
    """Return the reason why Cloudflare and clients cannot use this URL of the service; None if no reason is known."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    if not host:
        return "the URL is not set"
    if parts.scheme != "https":
        return "the URL is not https, so the Worker's key would be sent unencrypted"
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "the host is not a public name" if addresses.is_private_name(host) else None
    return "the host is an IP address"


def load(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Read the configuration from the file `path` and from the environment variables SVC_<SECTION>_<KEY>.

    The variables take precedence over the file. If `path` is None, no file is read. Raises ConfigError if the file
    cannot be read, or if settings are unknown or invalid. The message lists all such settings.
    """
    settings = _read(path) if path is not None else {}
    unknown: list[str] = []
    variables: dict[tuple[str, str], str] = {}
    for name, value in environ.items():
        section, key = _setting(name)
        if section and section not in Config.model_fields:
            unknown.append(f"{name}: {_no_section(section)}")
        elif section and not key:
            unknown.append(f"{name}: names a section but no setting")
        elif key:
            variables[section, key] = name
            if isinstance(of_section := settings.setdefault(section, {}), dict):
                of_section[key] = _items(value) if _is_list(section, key) else value
    return _validated(settings, unknown, variables)


def made(settings: Mapping[str, object]) -> Config:
    """Return the configuration with these settings, grouped by section.

    Raises ConfigError. Its message lists all problems.
    """
    return _validated(settings, [], {})


def _validated(settings: Mapping[str, object], problems: list[str], variables: Mapping[tuple[str, str], str]) -> Config:
    """Return the validated configuration. Raises ConfigError.

    `problems`: the problems found so far. `variables`: the environment variable for each (section, key).
    """
    try:
        config = Config.model_validate(settings)
    except ValidationError as error:
        problems = [*problems, *(_problem(issue, variables) for issue in error.errors())]
    if problems:
        raise ConfigError("The configuration is not valid:\n" + "\n".join(f"  {problem}" for problem in problems))
    return config


# The service's messages by the prefix of pydantic's error type. The values in {…} come from the error's context.
_MESSAGES = {
    "int_": "must be a whole number",
    "float_": "must be a number",
    "finite_number": "must be a number",
    "bool_": "must be true or false",
    "string_": "must be text, in quotation marks",
    "path_": "must be text, in quotation marks",
    "tuple_": "must be a list: values in [ ], separated by commas",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge:_.0f}",
    "greater_than": "must be above {gt:_.0f}",
    "less_than_equal": "must be at most {le:_.0f}",
    "model_": "is a section, not a setting; put its settings on the lines below it",
}


def _problem(issue: ErrorDetails, variables: Mapping[tuple[str, str], str]) -> str:
    """Return the error message for a setting, in the terms of the configuration file and not of pydantic."""
    location = [str(part) for part in issue["loc"]]
    kind = issue["type"]
    if kind == "extra_forbidden":
        text = _unknown(*location)
    elif kind == "value_error":
        text = issue["msg"].removeprefix("Value error, ")
    else:
        message = next((text for prefix, text in _MESSAGES.items() if kind.startswith(prefix)), issue["msg"])
        text = message.format(**issue.get("ctx", {}))
    variable = variables.get((location[0], location[1])) if len(location) > 1 else None
    return f"{_place(location)}{text}" + (f" (set by {variable})" if variable else "")


def _place(location: list[str]) -> str:
    """Return a prefix such as `[http] bind: ` or `[http] trusted_proxies.1: `, or "" if the problem has no location."""
    if not location:
        return ""
    section, *rest = location
    return " ".join([f"[{section}]", ".".join(rest)]).rstrip() + ": "


def _unknown(section: str, key: str | None = None) -> str:
    """Return the message for an unknown section or setting, with a suggestion."""
    if key is None:
        homes = [f"[{name}]" for name in Config.model_fields if section in _names(name)]
        if homes:
            return f"is not a section; the setting {section} belongs below the line {' or '.join(homes)}"
        return _no_section(section)
    if key in _REMOVED.get(section, ()):
        return "is no longer a setting; remove it"
    homes = [f"[{name}]" for name in Config.model_fields if key in _names(name)]
    if homes:
        return f"there is no such setting here; it belongs to {' or '.join(homes)}"
    similar = get_close_matches(key, _names(section), n=1)
    if similar:
        return f"there is no such setting; did you mean {similar[0]}?"
    return f"there is no such setting; the settings of this section are {', '.join(_names(section))}"


def _no_section(section: str) -> str:
    similar = get_close_matches(section, Config.model_fields, n=1)
    return f"there is no section [{section}]; " + (
        f"did you mean [{similar[0]}]?" if similar else f"the sections are {', '.join(Config.model_fields)}"
    )


def _names(section: str) -> list[str]:
    """Return the names of a section's settings, as written in the configuration file."""
    fields = type(getattr(Config(), section)).model_fields
    return [field.alias or name for name, field in fields.items()]


def _read(path: Path) -> dict[str, dict[str, object]]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))  # some editors write a byte order mark
    except OSError as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The configuration file {path} is not in UTF-8; save it in this encoding.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not valid TOML: {error}.") from None


def _setting(name: str) -> tuple[str, str]:
    """Return the section and key that an environment variable sets, such as ("http", "base_url") for SVC_HTTP_BASE_URL.

    Returns ("", "") if the variable is not a setting. Variables that begin with SVC_TEST_ belong to the tests. All
    other SVC_ variables count as settings, so that typos are reported.
    """
    prefix, _, rest = name.partition("_")
    section, _, key = rest.lower().partition("_")
    if prefix != "SVC" or section == "test":
        return "", ""
    return section, key


def _items(value: str) -> list[str]:
    """Return the items of a list in an environment variable. They are separated by commas."""
    return [item.strip() for item in value.split(",") if item.strip()]


def _is_list(section: str, key: str) -> bool:
    return (section, key) in {("http", "trusted_proxies"), ("worker", "canary")}
