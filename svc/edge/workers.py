"""Scripts: upload, tags, cron, deletion (platform docs: multipart upload metadata, cron triggers); the account's name
on workers.dev, without which the platform takes neither a script nor a cron.

Every function raises EdgeRefused, EdgeUnavailable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.edge.answers import Shape, compact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.edge.access import Access

# Numeric codes of a 404. Platform docs, Workers error codes: there is no such worker, no such service.
_GONE = frozenset({10007, 10090})
# wrangler, registerSubdomain: the name on workers.dev is free.
_FREE = frozenset({10032})


@dataclass(frozen=True)
class Binding:
    """What the script finds in its `env` under `name`. What it holds may be a secret: its repr does not show it."""

    type: str
    name: str
    holds: tuple[tuple[str, str], ...] = field(repr=False)

    def wire(self) -> dict[str, str]:
        """The platform's form."""
        return {"type": self.type, "name": self.name, **dict(self.holds)}


@dataclass(frozen=True)
class Upload:
    """What a script is made of: one ES module, named `main_module`, and what it finds around it."""

    module: bytes = field(repr=False)
    main_module: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """A script as the platform lists it. `etag` changes with its code; None: the platform does not tell it."""

    name: str
    etag: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True)
class SeenBinding:
    """A binding as the platform shows it; `text` of a plain text, `database_id` of a database, of others None."""

    type: str
    name: str
    text: str | None
    database_id: str | None


class _Script(Shape):
    # Nothing is sure of what the account's other scripts look like: in the platform's own schema each field may miss.
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
    """A D1 database. wrangler sends `id`, the OpenAPI schema names `database_id`: send both."""
    return Binding("d1", name, (("id", database_id), ("database_id", database_id)))


def text_binding(name: str, text: str) -> Binding:
    """A plain text."""
    return Binding("plain_text", name, (("text", text),))


def secret_binding(name: str, text: str) -> Binding:
    """A secret text: the platform never shows it again."""
    return Binding("secret_text", name, (("text", text),))


def _path(access: Access, name: str) -> str:
    return f"{access.account_path}/workers/scripts/{name}"


async def has_subdomain(access: Access) -> bool:
    """Whether the account has a name on workers.dev; one that never used Workers has none."""
    found = await access.find(_Subdomain, f"{access.account_path}/workers/subdomain", _GONE)
    return found is not None and bool(found.subdomain)


async def register_subdomain(access: Access, name: str) -> None:
    """Give the account its name on workers.dev, for good. Raises EdgeRefused name_taken: another account has it."""
    await access.find(_Subdomain, f"{access.account_path}/workers/subdomains/{name}", _FREE)
    path, body = f"{access.account_path}/workers/subdomain", {"subdomain": name}
    await access.call(_Subdomain, "PUT", path, body=body, repeatable=True)


async def get_script(access: Access, name: str) -> Script | None:
    """The script of that name. The list is the one place that tells etag and tags without the code."""
    for script in await access.get(list[_Script], f"{access.account_path}/workers/scripts"):
        if script.id == name:
            return Script(name, script.etag, script.tags or ())
    return None


async def bindings(access: Access, name: str) -> dict[str, SeenBinding]:
    """What the script finds in its `env`, by name, as far as it is shown; nothing for a script that is not there."""
    found = await access.find(_Settings, f"{_path(access, name)}/settings", _GONE)
    # wrangler reads a database's `id`, the OpenAPI schema names `database_id`.
    return {
        one.name: SeenBinding(one.type, one.name, one.text, one.database_id or one.id)
        for one in (found.bindings if found else ())
    }


async def text_bindings(access: Access, name: str) -> dict[str, str]:
    """The plain texts that the script finds in its `env`, by name; none for a script that is not there."""
    found = await bindings(access, name)
    return {one.name: one.text or "" for one in found.values() if one.type == "plain_text"}


async def upload(access: Access, name: str, content: Upload) -> None:
    """Upload and deploy a script; the same again gives the same. Its etag: see `get_script`; here it may be null.

    Raises EdgeRefused subdomain_required: the account has no name on workers.dev.
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
    """The script's cron triggers; none for a script that is not there."""
    found = await access.find(_Schedules, f"{_path(access, name)}/schedules", _GONE)
    return {one.cron for one in found.schedules} if found else set()


async def set_schedules(access: Access, name: str, crons: Sequence[str]) -> None:
    """Make these the script's cron triggers.

    Raises EdgeRefused: cron_limit, the account has no slot left; subdomain_required.
    """
    path = f"{_path(access, name)}/schedules"
    # An account above its limit is refused any change, also one to what it has (workers-sdk #15194).
    found = await access.get(_Schedules, path)
    if {one.cron for one in found.schedules} != set(crons):
        await access.call(_Schedules, "PUT", path, body=[{"cron": cron} for cron in crons], repeatable=True)


async def is_on_workers_dev(access: Access, name: str) -> bool:
    """Whether the script answers under the account's name on workers.dev, itself or as a preview."""
    found = await access.find(_Address, f"{_path(access, name)}/subdomain", _GONE)
    return found is not None and (found.enabled or found.previews_enabled)


async def disable_subdomain(access: Access, name: str) -> None:
    """Turn off the script's workers.dev address; whether an upload leaves it on is not documented."""
    body = {"enabled": False, "previews_enabled": False}
    await access.call(Shape, "POST", f"{_path(access, name)}/subdomain", body=body, repeatable=True)


async def delete_script(access: Access, name: str) -> bool:
    """Delete the script, its cron with it. False: it was gone."""
    return await access.delete(_path(access, name), _GONE)
