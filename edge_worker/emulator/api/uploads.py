"""Parsing of uploads: form parts, metadata, bindings. Cloudflare docs: multipart upload metadata."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from quart import request

from edge_worker.emulator.api.wire import invalid
from edge_worker.emulator.runtime.capnp import KINDS
from edge_worker.emulator.state import Account, Module, Script, Version, new_uuid

OLDEST_DATE = "2021-11-02"  # Cloudflare docs: default of compatibility_date
NAME = re.compile(r"[a-z0-9_][a-z0-9_-]{0,62}")
BINDING_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
MAX_BINDINGS = 64
MAX_TEXT_BYTES = 5_000
MAX_TAG_BYTES = 128
MAX_TAGS = 8
SECRET = "secret_text"  # noqa: S105 (the name of a binding kind)
PLAIN_KINDS = ("plain_text", SECRET)


def check_name(name: str) -> None:
    """Check a script's name. Raises ApiError 10016."""
    if not NAME.fullmatch(name):
        raise invalid("Invalid Worker name: lowercase letters, digits, dashes and underscores, at most 63", 10016)


def check_tags(tags: Any) -> list[str]:
    """Return a script's tags after validation. Raises ApiError 100102 or 100103."""
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise invalid("tags must be a list of strings", 10021)
    if any(len(tag.encode()) > MAX_TAG_BYTES for tag in tags):
        raise invalid("a tag is too long", 100102)
    if len(tags) > MAX_TAGS:
        raise invalid("too many tags", 100103)
    return tags


def shown_binding(binding: dict[str, Any]) -> dict[str, Any]:
    """Return a binding as settings show it: a secret without its value, a database with `id` and `database_id`."""
    if binding["type"] == SECRET:
        return {"type": SECRET, "name": binding["name"]}
    if binding["type"] == "d1":
        return {**binding, "database_id": binding["id"]}
    return binding


async def read_form(part: str) -> tuple[dict[str, Any], list[Module]]:
    """Read the form's JSON part and its modules. A module's name is the file name of its part, because the names of
    parts vary by client.
    """
    form, files = await request.form, await request.files
    text: str | bytes | None = form.get(part)
    modules = []
    for name, file in files.items(multi=True):
        body = file.read()
        if name == part:
            text = body
        else:
            module = Module(
                name=file.filename or name,
                content_type=(file.content_type or "application/octet-stream").split(";")[0],
                body=base64.b64encode(body).decode(),
            )
            modules.append(module)
    try:
        metadata = json.loads(text) if text is not None else None
    except ValueError:
        metadata = None
    if not isinstance(metadata, dict):
        raise invalid(f"the form needs a part {part!r} with a JSON object", 10004)
    return metadata, modules


def _binding(account: Account, binding: Any, before: Version | None, *, strict: bool) -> dict[str, Any] | None:
    if not isinstance(binding, dict) or not BINDING_NAME.fullmatch(str(binding.get("name", ""))):
        raise invalid("a binding needs a name", 10021)
    kind, name = binding.get("type"), binding["name"]
    if kind == "d1":
        database = binding.get("id") or binding.get("database_id")
        if database not in account.databases:
            raise invalid(f"binding {name} of type d1 must have a valid `id` specified", 10021)
        return {"type": "d1", "name": name, "id": database}
    if kind in PLAIN_KINDS:
        text = binding.get("text")
        if not isinstance(text, str):
            raise invalid(f"binding {name} of type {kind} needs a text", 10021)
        if len(text.encode()) > MAX_TEXT_BYTES:
            raise invalid(f"binding {name}: text too large", 10054)
        return {"type": kind, "name": name, "text": text}
    if kind == "json":
        return {"type": "json", "name": name, "json": binding.get("json")}
    if kind == "inherit":
        old = binding.get("old_name", name)
        kept = next((b for b in before.bindings if b["name"] == old), None) if before else None
        if kept is None and strict:
            raise invalid(f"binding {name} has nothing to inherit", 10021)
        return {**kept, "name": name} if kept else None
    raise invalid(f"binding {name}: type {kind} is not supported by this emulator", 10021)


def _bindings(account: Account, metadata: dict[str, Any], before: Version | None) -> list[dict[str, Any]]:
    strict = request.args.get("bindings_inherit") == "strict"
    asked = [_binding(account, b, before, strict=strict) for b in metadata.get("bindings") or []]
    bindings = [binding for binding in asked if binding is not None]
    names = {binding["name"] for binding in bindings}
    if len(names) < len(bindings):
        raise invalid("a binding name is used twice", 10053)
    # Secrets that an upload does not name are kept, as `wrangler deploy` expects. Other bindings are kept only if the
    # upload requests this.
    kept_kinds = {SECRET, *(metadata.get("keep_bindings") or [])}
    if before is not None:
        bindings += [b for b in before.bindings if b["type"] in kept_kinds and b["name"] not in names]
    if len(bindings) > MAX_BINDINGS:
        raise invalid("too many bindings", 10055)
    return bindings


def make_version(
    account: Account, script: Script, metadata: dict[str, Any], modules: list[Module], now: int
) -> Version:
    """Create an upload's version without adding it to the script. Raises ApiError if the platform would reject it."""
    main = metadata.get("main_module")
    if not isinstance(main, str):
        raise invalid("metadata needs main_module (service-worker syntax is not supported by this emulator)", 10021)
    found = next((m for m in modules if m.name.removeprefix("./") == main.removeprefix("./")), None)
    if found is None:
        raise invalid(f"Uncaught Error: No such module {main!r}.", 10021)
    if KINDS.get(found.content_type) != "esModule":
        raise invalid("the main module must be an ES module (application/javascript+module)", 10021)
    digest = hashlib.sha256()
    for module in sorted(modules, key=lambda module: module.name):
        digest.update(f"{module.name}\n{module.content_type}\n{module.body}\n".encode())
    return Version(
        id=new_uuid(),
        number=max((version.number for version in script.versions), default=0) + 1,
        created_at=now,
        etag=digest.hexdigest(),
        main_module=main,
        modules=modules,
        bindings=_bindings(account, metadata, script.active),
        compatibility_date=metadata.get("compatibility_date") or OLDEST_DATE,
        compatibility_flags=metadata.get("compatibility_flags") or [],
        annotations={k: str(v) for k, v in (metadata.get("annotations") or {}).items()},
        source="wrangler" if "wrangler" in (request.user_agent.string or "").lower() else "api",
    )
