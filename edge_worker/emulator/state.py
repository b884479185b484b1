"""State of the emulated platform: plain data, which is stored in a JSON file if the emulator has a state folder."""

from __future__ import annotations

import ipaddress
import secrets
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from pathlib import Path

DAY_MS = 86_400_000
ADDRESS_TYPES = frozenset({"A", "AAAA", "CNAME"})


def new_hex() -> str:
    """Generate a platform id: 32 hex digits (accounts, zones, tokens, records, routes, script tags)."""
    return secrets.token_hex(16)


def new_uuid() -> str:
    """Generate a UUID for a database, version or deployment."""
    return str(uuid.uuid4())


def iso(at: int) -> str:
    """Format epoch ms as the platform does: in UTC, to the second, with `Z`."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_micro(at: int) -> str:
    """Format epoch ms with microseconds, as in scripts, zones and records."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def epoch_ms(text: str) -> int:
    """Parse an ISO 8601 time with a time zone into epoch ms. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("the time must have a time zone")
    return int(moment.timestamp() * 1000)


class Limits(BaseModel):
    """An account's limits; None: no limit. Cloudflare docs of 2026: workers/platform/limits, d1/platform/limits."""

    requests: int | None = 100_000
    rows_read: int | None = 5_000_000
    rows_written: int | None = 100_000
    db_bytes: int | None = 500_000_000
    databases: int = 10
    crons: int = 5
    scripts: int = 100
    tokens: int = 500
    d1_queries: int = 50


FREE = Limits()
PAID = Limits(
    requests=None, rows_read=None, rows_written=None, db_bytes=10_000_000_000,
    databases=50_000, crons=250, scripts=500, d1_queries=1000,
)  # fmt: skip


class Usage(BaseModel):
    """Usage of an account on one UTC day of the emulated clock."""

    requests: int = 0
    rows_read: int = 0
    rows_written: int = 0
    read_queries: int = 0
    write_queries: int = 0
    # requests to Pages Functions, set through the control interface; they also count toward the limit
    pages_requests: int = 0
    size: int | None = None  # of the account's first database in bytes, set through the control interface
    measured_sizes: dict[str, int] = Field(default_factory=dict)  # database → its real size when last measured
    # host → page views and visits in Web Analytics, set through the control interface
    web_views: dict[str, tuple[int, int]] = Field(default_factory=dict)
    sample_interval: float = Field(default=1, ge=1)  # 10 means that analytics contain one in ten events of the day
    scripts: dict[str, dict[str, int]] = Field(default_factory=dict)  # name → requests, errors, subrequests


class Token(BaseModel):
    """An account-owned API token. `value` is the secret: only create and roll return it, and no log contains it."""

    id: str
    name: str
    value: str = Field(repr=False)
    status: str = "active"
    policies: list[dict[str, Any]]
    condition: dict[str, Any] | None = None
    issued_at: int
    modified_at: int
    last_used_at: int | None = None
    expires_at: int | None = None
    not_before_at: int | None = None
    live_at: int = 0  # real epoch ms at which the platform begins to accept the value
    bootstrap: bool = False  # created through the control interface and not through the API


class DnsRecord(BaseModel):
    """A zone's DNS record."""

    id: str
    type: str
    name: str
    content: str
    proxied: bool
    ttl: int = 1
    created_at: int = 0

    def backend(self) -> str:
        """Return `past` if the record is not proxied, `nothing` if its address is not public, otherwise `origin`."""
        if not self.proxied:
            return "past"
        try:
            return "origin" if ipaddress.ip_address(self.content).is_global else "nothing"
        except ValueError:
            return "origin"  # the record points to another name


class Route(BaseModel):
    """A Worker route of a zone. If `script` is None, matching requests bypass Workers."""

    id: str
    pattern: str
    script: str | None = None
    request_limit_fail_open: bool = False


class FrontRule(BaseModel):
    """A rule of a zone that answers all requests to a host before they reach a Worker.

    `redirect` answers with the status 302 and `location`. `challenge` and `block` answer with Cloudflare's pages.
    `page` answers with the status 200, as a different Worker or a Cloudflare snippet would.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["redirect", "challenge", "block", "page"]
    location: str = ""


class Zone(BaseModel):
    """A zone (domain) of an account. `front_rules`: by host."""

    id: str
    name: str
    status: str = "active"
    paused: bool = False
    type: str = "full"
    created_at: int
    dns: list[DnsRecord] = Field(default_factory=list)
    routes: list[Route] = Field(default_factory=list)
    front_rules: dict[str, FrontRule] = Field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        """True if the platform serves the zone's hosts."""
        return self.status == "active" and not self.paused

    def has_certificate(self, host: str) -> bool:
        """Return True if the free certificate covers the host (Cloudflare docs: ssl/universal-ssl/limitations).

        In a full zone, the certificate covers the apex and one label below. A partial zone has a certificate for each
        host.
        """
        return self.type == "partial" or host.removesuffix(self.name).rstrip(".").count(".") == 0

    def hosts(self) -> dict[str, str]:
        """Return the backend of each name that has addresses (see `DnsRecord.backend`)."""
        met: dict[str, set[str]] = {}
        for record in self.dns:
            if record.type in ADDRESS_TYPES:
                met.setdefault(record.name, set()).add(record.backend())
        return {name: next(end for end in ("origin", "nothing", "past") if end in ends) for name, ends in met.items()}


class Module(BaseModel):
    """An uploaded module. `body` is base64."""

    name: str
    content_type: str
    body: str


class Version(BaseModel):
    """One upload of a script: code, bindings (including the values of secrets) and compatibility."""

    id: str
    number: int
    created_at: int
    etag: str
    main_module: str
    modules: list[Module]
    bindings: list[dict[str, Any]] = Field(repr=False)
    compatibility_date: str
    compatibility_flags: list[str] = Field(default_factory=list)
    annotations: dict[str, str] = Field(default_factory=dict)
    source: str = "api"
    handlers: list[str] = Field(default_factory=list)
    usage_model: str = "standard"


class Deployment(BaseModel):
    """A deployment: a version of a script, and the time when the script began to run it."""

    id: str
    created_at: int
    version_id: str
    source: str = "api"
    annotations: dict[str, str] = Field(default_factory=dict)


class Schedule(BaseModel):
    """One cron trigger of a script."""

    cron: str
    created_at: int
    modified_at: int
    begins_at: int = 0  # epoch ms; before this time, the cron does not fire automatically


class Script(BaseModel):
    """A Worker: its versions, its deployments, and settings stored outside versions."""

    name: str
    tag: str
    created_at: int
    modified_at: int
    versions: list[Version] = Field(default_factory=list)
    deployments: list[Deployment] = Field(default_factory=list)  # newest first; the first is the active one
    schedules: list[Schedule] = Field(default_factory=list)
    # Cloudflare may leave the address enabled after an upload through the API, so clients must disable it
    subdomain_enabled: bool = True
    previews_enabled: bool = True
    tags: list[str] = Field(default_factory=list)
    logpush: bool = False
    observability: dict[str, Any] | None = None
    tail_consumers: list[dict[str, Any]] = Field(default_factory=list)

    def version(self, version_id: str) -> Version | None:
        """Return the version with that id, or None."""
        return next((version for version in self.versions if version.id == version_id), None)

    @property
    def active(self) -> Version | None:
        """Return the deployed version, or None."""
        return self.version(self.deployments[0].version_id) if self.deployments else None


class Database(BaseModel):
    """A D1 database. Its rows are in workerd's files."""

    uuid: str
    name: str
    created_at: int
    jurisdiction: str | None = None
    location_hint: str | None = None


class Account(BaseModel):
    """A customer's account with all of its resources."""

    id: str
    name: str
    plan: str = "free"
    created_at: int
    limits: Limits
    subdomain: str | None = None  # its workers.dev subdomain, if one is registered
    tokens: dict[str, Token] = Field(default_factory=dict)
    zones: dict[str, Zone] = Field(default_factory=dict)
    scripts: dict[str, Script] = Field(default_factory=dict)
    databases: dict[str, Database] = Field(default_factory=dict)
    usage: dict[int, Usage] = Field(default_factory=dict)  # by epoch day

    def day(self, day: int) -> Usage:
        """Return the usage of an epoch day, and create it if it is missing."""
        return self.usage.setdefault(day, Usage())


class World(BaseModel):
    """The whole platform. `offset_s`: the offset of the emulated clock from the real clock."""

    offset_s: float = 0
    accounts: dict[str, Account] = Field(default_factory=dict)

    def zone(self, zone_id: str) -> tuple[Account, Zone] | None:
        """Return the zone with that id and its account, or None."""
        for account in self.accounts.values():
            if zone_id in account.zones:
                return account, account.zones[zone_id]
        return None

    def zone_named(self, name: str) -> tuple[Account, Zone] | None:
        """Return the zone with that name and its account, or None."""
        for account in self.accounts.values():
            for zone in account.zones.values():
                if zone.name == name:
                    return account, zone
        return None


def load(path: Path) -> World:
    """Read the world stored in `path`, or return an empty one if the file does not exist."""
    return World.model_validate_json(path.read_text()) if path.exists() else World()


def save(world: World, path: Path) -> None:
    """Write the world to `path` atomically."""
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)  # the file contains the tokens' values
    fresh.write_text(world.model_dump_json())
    fresh.replace(path)
