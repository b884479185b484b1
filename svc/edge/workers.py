"""Worker scripts with their bindings and cron triggers, and the account's workers.dev subdomain.

Cloudflare rejects scripts and cron triggers in an account without a subdomain. Sources: Cloudflare docs on multipart
upload metadata and on cron triggers. All functions raise EdgeRefused and EdgeUnavailable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.edge.responses import Shape, compact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.edge.access import Access

# Numeric codes of a 404 response that mean that the Worker does not exist (Cloudflare docs, Workers error codes).
_GONE = frozenset({10007, 10090})
# Cloudflare's code for a subdomain that is available (wrangler, registerSubdomain).
_FREE = frozenset({10032})


@dataclass(frozen=True)
class Binding:
    """A binding: the entry `name` in the script's `env`. The repr omits the value, which can be a secret."""

    type: str
    name: str
    holds: tuple[tuple[str, str], ...] = field(repr=False)

    def wire(self) -> dict[str, str]:
        """Return the binding in Cloudflare's format."""
        return {"type": self.type, "name": self.name, **dict(self.holds)}


@dataclass(frozen=True)
class Upload:
    """The content of a script: an ES module named `main_module`, with its bindings and settings."""

    module: bytes = field(repr=False)
    main_module: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """A script as listed by Cloudflare.

    `etag` changes with the script's code, and is None if Cloudflare did not report it.
    """

    name: str
    etag: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True)
class SeenBinding:
    """A binding as reported by Cloudflare. `text` is set for plain text bindings, `database_id` for D1 databases."""

    type: str
    name: str
    text: str | None
    database_id: str | None


class _Script(Shape):
    # Cloudflare's schema marks all fields as optional, so other scripts in the account may lack some of them.
    id: str | None = None
    etag: str | None = None
    tags: tuple[str, ...] | None = None


class _Subdomain(Shape):
    subdomain: str | None = None


class _Binding(Shape):
    type: str
    name: str
    text: str | None = None
    id: str | None = None
    database_id: str | None = None


class _Settings(Shape):
    bindings: tuple[_Binding, ...] = ()


class _Address(Shape):
    enabled: bool = False
    previews_enabled: bool = False


class _Schedule(Shape):
    cron: str


class _Schedules(Shape):
    schedules: tuple[_Schedule, ...] = ()


def database_binding(name: str, database_id: str) -> Binding:
    """Return a binding for a D1 database.

    The binding contains the id under two names: `id`, which wrangler sends, and `database_id`, which the API schema
    defines.
    """
    return Binding("d1", name, (("id", database_id), ("database_id", database_id)))


def text_binding(name: str, text: str) -> Binding:
    """Return a plain text binding."""
    return Binding("plain_text", name, (("text", text),))


def secret_binding(name: str, text: str) -> Binding:
    """Return a binding for a secret. Cloudflare never shows its value again."""
    return Binding("secret_text", name, (("text", text),))


def _path(access: Access, name: str) -> str:
    return f"{access.account_path}/workers/scripts/{name}"


async def has_subdomain(access: Access) -> bool:
    """Return True if the account has a workers.dev subdomain.

    Accounts that have never used Workers do not have a subdomain.
    """
    subdomain = await access.find(_Subdomain, f"{access.account_path}/workers/subdomain", _GONE)
    return subdomain is not None and bool(subdomain.subdomain)


async def register_subdomain(access: Access, name: str) -> None:
    """Register the account's workers.dev subdomain permanently.

    Raises EdgeRefused with name_taken if the name is in use.
    """
    await access.find(_Subdomain, f"{access.account_path}/workers/subdomains/{name}", _FREE)
    path, body = f"{access.account_path}/workers/subdomain", {"subdomain": name}
    await access.call(_Subdomain, "PUT", path, body=body, repeatable=True)


async def get_script(access: Access, name: str) -> Script | None:
    """Return the script, or None if it does not exist.

    The function reads the list of scripts, because no other endpoint returns the etag and tags without the code.
    """
    for script in await access.get(list[_Script], f"{access.account_path}/workers/scripts"):
        if script.id == name:
            return Script(name, script.etag, script.tags or ())
    return None


async def bindings(access: Access, name: str) -> dict[str, SeenBinding]:
    """Return the script's bindings by name, or an empty dict if the script does not exist."""
    settings = await access.find(_Settings, f"{_path(access, name)}/settings", _GONE)
    # wrangler reads the id of a database from `id`, but the API schema has `database_id`.
    return {
        binding.name: SeenBinding(binding.type, binding.name, binding.text, binding.database_id or binding.id)
        for binding in (settings.bindings if settings else ())
    }


async def text_bindings(access: Access, name: str) -> dict[str, str]:
    """Return the script's plain text bindings by name, or an empty dict if the script does not exist."""
    existing = await bindings(access, name)
    return {binding.name: binding.text or "" for binding in existing.values() if binding.type == "plain_text"}


async def upload(access: Access, name: str, content: Upload) -> None:
    """Upload and deploy a script. The call is idempotent.

    Cloudflare's response to the upload can omit the etag, so call `get_script` to get it. Raises EdgeRefused with
    subdomain_required if the account has no workers.dev subdomain.
    """
    metadata = {
        "main_module": content.main_module,
        "compatibility_date": content.compatibility_date,
        "compatibility_flags": list(content.compatibility_flags),
        "bindings": [binding.wire() for binding in content.bindings],
        "tags": list(content.tags),
        "observability": {"enabled": False},
    }
    await access.call(
        _Script,
        "PUT",
        _path(access, name),
        query={"excludeScript": "true", "bindings_inherit": "strict"},
        files={
            "metadata": (None, compact(metadata), "application/json"),
            content.main_module: (content.main_module, content.module, "application/javascript+module"),
        },
        repeatable=True,
    )


async def schedules(access: Access, name: str) -> set[str]:
    """Return the script's cron triggers, or an empty set if the script does not exist."""
    existing = await access.find(_Schedules, f"{_path(access, name)}/schedules", _GONE)
    return {schedule.cron for schedule in existing.schedules} if existing else set()


async def set_schedules(access: Access, name: str, crons: Sequence[str]) -> None:
    """Set the script's cron triggers.

    Raises EdgeRefused with cron_limit if the account has reached its limit of cron triggers, and with
    subdomain_required if the account has no workers.dev subdomain.
    """
    path = f"{_path(access, name)}/schedules"
    # Do not set unchanged triggers. If the account exceeds its limit of cron triggers, Cloudflare would reject even
    # existing triggers (workers-sdk #15194).
    result = await access.get(_Schedules, path)
    if {schedule.cron for schedule in result.schedules} != set(crons):
        await access.call(_Schedules, "PUT", path, body=[{"cron": cron} for cron in crons], repeatable=True)


async def is_on_workers_dev(access: Access, name: str) -> bool:
    """Return True if the script, or a preview of the script, is reachable on workers.dev."""
    address = await access.find(_Address, f"{_path(access, name)}/subdomain", _GONE)
    return address is not None and (address.enabled or address.previews_enabled)


async def disable_subdomain(access: Access, name: str) -> None:
    """Turn off the script's workers.dev address.

    The call is needed because Cloudflare does not document whether an upload turns this address on.
    """
    body = {"enabled": False, "previews_enabled": False}
    await access.call(Shape, "POST", f"{_path(access, name)}/subdomain", body=body, repeatable=True)


async def delete_script(access: Access, name: str) -> bool:
    """Delete the script with its cron triggers. Return False if the script did not exist."""
    return await access.delete(_path(access, name), _GONE)
