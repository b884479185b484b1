"""Scripts: upload, tags, cron, deletion (platform docs: multipart upload metadata, cron triggers).

Every function raises EdgeRefused, EdgeUnavailable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.edge.answers import Shape, compact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.edge.access import Access


_GONE = frozenset({10007, 10090})  # platform docs: Workers error codes; the worker, the service does not exist


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
    """A script as the platform lists it. `etag` changes with its code."""

    name: str
    etag: str
    tags: tuple[str, ...]


class _Script(Shape):
    id: str
    etag: str = ""
    tags: tuple[str, ...] | None = None


class _Binding(Shape):
    type: str
    name: str
    text: str = ""


class _Settings(Shape):
    bindings: tuple[_Binding, ...] = ()


class _Schedule(Shape):
    cron: str


class _Schedules(Shape):
    schedules: tuple[_Schedule, ...]


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


async def get_script(access: Access, name: str) -> Script | None:
    """The script of that name. The list is the one place that tells etag and tags without the code."""
    for script in await access.get(list[_Script], f"{access.account_path}/workers/scripts"):
        if script.id == name:
            return Script(script.id, script.etag, script.tags or ())
    return None


async def text_bindings(access: Access, name: str) -> dict[str, str]:
    """The plain texts that the script finds in its `env`, by name; none for a script that is not there."""
    found = await access.find(_Settings, f"{_path(access, name)}/settings", _GONE)
    return {one.name: one.text for one in found.bindings if one.type == "plain_text"} if found else {}


async def upload(access: Access, name: str, content: Upload) -> Script:
    """Upload and deploy a script; the same again gives the same."""
    metadata = {
        "main_module": content.main_module,
        "compatibility_date": content.compatibility_date,
        "compatibility_flags": list(content.compatibility_flags),
        "bindings": [binding.wire() for binding in content.bindings],
        "tags": list(content.tags),
        "observability": {"enabled": False},
    }
    made = await access.call(
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
    return Script(made.id, made.etag, content.tags)


async def set_schedules(access: Access, name: str, crons: Sequence[str]) -> None:
    """Replace the script's cron triggers. Raises EdgeRefused cron_limit: the account has no slot left."""
    body = [{"cron": cron} for cron in crons]
    await access.call(_Schedules, "PUT", f"{_path(access, name)}/schedules", body=body, repeatable=True)


async def disable_subdomain(access: Access, name: str) -> None:
    """Turn off the workers.dev address; whether an upload leaves it on is not documented."""
    body = {"enabled": False, "previews_enabled": False}
    await access.call(Shape, "POST", f"{_path(access, name)}/subdomain", body=body, repeatable=True)


async def delete_script(access: Access, name: str) -> bool:
    """Delete the script, its cron with it. False: it was gone."""
    return await access.delete(_path(access, name), _GONE)
