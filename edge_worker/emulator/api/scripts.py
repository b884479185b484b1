"""Workers scripts: upload, read, versions, deployments, delete. Cloudflare docs: api/resources/workers."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from quart import Blueprint, Response, request

from edge_worker.emulator.api.access import for_account
from edge_worker.emulator.api.deploying import add_version, deploy, remove
from edge_worker.emulator.api.uploads import check_name, check_tags, make_version, read_form, shown_binding
from edge_worker.emulator.api.wire import ApiError, body_object, envelope, invalid, page_of, shuffled
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import Account, Script, Version, iso_micro, new_hex

routes = Blueprint("scripts", __name__)
READ = ("Workers Scripts Read", "Workers Scripts Write")
WRITE = "Workers Scripts Write"


def script_of(account: Account, name: str) -> Script:
    """Return the script of that name. Raises ApiError 404/10007 if it does not exist."""
    script = account.scripts.get(name)
    if script is None:
        raise ApiError(404, 10007, "This Worker does not exist on your account.")
    return script


def tails_to(account: Account, name: str) -> list[str]:
    """Return the names of the scripts that send their logs to this one. Other references between scripts do not exist
    in the emulator.
    """
    return [
        script.name
        for script in account.scripts.values()
        if any(consumer.get("service") == name for consumer in script.tail_consumers or [])
    ]


def check_unused(account: Account, script: Script) -> None:
    """Check that no other script refers to this one, unless `force` is set. Otherwise raises ApiError 10142."""
    others = [name for name in tails_to(account, script.name) if name != script.name]
    if others and request.args.get("force") != "true":
        raise invalid(f"Cannot delete this Worker as it is still referenced by other Workers: {others}.", 10142)


def active_of(script: Script) -> Version:
    """Return the deployed version. Raises ApiError 404/10007 if the script was never deployed."""
    if script.active is None:
        raise ApiError(404, 10007, "This Worker does not exist on your account.")
    return script.active


def check_subdomain(account: Account) -> None:
    """Check that the account has a workers.dev subdomain, which uploads and crons require. Raises ApiError 10063."""
    if account.subdomain is None:
        raise ApiError(403, 10063, "You need a workers.dev subdomain in order to proceed.")


def shown(account: Account, script: Script) -> dict[str, Any]:
    """Return a script in the format of list and upload responses."""
    version = active_of(script)
    zones = [(zone, route) for zone in account.zones.values() for route in zone.routes]
    return {
        "id": script.name,
        "tag": script.tag,
        "tags": script.tags or None,
        "etag": version.etag,
        "created_on": iso_micro(script.created_at),
        "modified_on": iso_micro(script.modified_at),
        "last_deployed_from": script.deployments[0].source,
        "handlers": version.handlers,
        "has_assets": False,
        "has_modules": True,
        "logpush": script.logpush,
        "usage_model": version.usage_model,
        "compatibility_date": version.compatibility_date,
        "compatibility_flags": version.compatibility_flags,
        "observability": script.observability or {"enabled": False},
        "tail_consumers": script.tail_consumers or None,
        "routes": [
            {"id": route.id, "pattern": route.pattern, "script": script.name}
            for _, route in zones
            if route.script == script.name
        ],
    }


def shown_version(version: Version) -> dict[str, Any]:
    """Return a version as the API shows it."""
    return {
        "id": version.id,
        "number": version.number,
        "annotations": version.annotations,
        "metadata": {
            "created_on": iso_micro(version.created_at),
            "modified_on": iso_micro(version.created_at),
            "source": version.source,
            "author_id": "0" * 32,
            "author_email": "owner@customer.example",
            "hasPreview": False,
        },
    }


def full_version(version: Version) -> dict[str, Any]:
    """Return a version with its code's etag, bindings and runtime settings."""
    return {
        **shown_version(version),
        "startup_time_ms": 1,
        "resources": {
            "script": {"etag": version.etag, "handlers": version.handlers, "last_deployed_from": version.source},
            "script_runtime": {
                "compatibility_date": version.compatibility_date,
                "compatibility_flags": version.compatibility_flags,
                "usage_model": version.usage_model,
            },
            "bindings": [shown_binding(binding) for binding in version.bindings],
        },
    }


def new_script(account: Account, name: str) -> Script:
    """Return a new script that has no versions and is not yet part of the account. Raises ApiError."""
    check_name(name)
    if len(account.scripts) >= account.limits.scripts:
        raise invalid("You have reached the limit of Workers of your account", 10037)
    now = platform().now()
    return Script(name=name, tag=secrets.token_hex(16), created_at=now, modified_at=now)


@routes.put("/accounts/<account_id>/workers/scripts/<name>")
@for_account(WRITE)
async def upload(account: Account, name: str) -> Response:
    """Upload a script and run it. If it does not start, nothing changes.

    With `excludeScript`, the response's etag is null, as in wrangler's types. The documentation does not say how this
    etag relates to the etag in lists.
    """
    check_subdomain(account)
    script = account.scripts.get(name) or new_script(account, name)
    metadata, modules = await read_form("metadata")
    version = make_version(account, script, metadata, modules, platform().now())
    tags = check_tags(metadata["tags"]) if metadata.get("tags") is not None else None

    def settings() -> None:
        if tags is not None:
            script.tags = tags
        for field in ("logpush", "observability", "tail_consumers"):
            if metadata.get(field) is not None:
                setattr(script, field, metadata[field])

    deployment = await deploy(account, script, version, version.annotations, also=settings)
    response = {**shown(account, script), "deployment_id": deployment.id.replace("-", ""), "startup_time_ms": 1}
    return envelope(response | ({"etag": None} if request.args.get("excludeScript") == "true" else {}))


@routes.get("/accounts/<account_id>/workers/scripts")
@for_account(*READ)
async def listing(account: Account) -> Response:
    """List the deployed scripts, filtered by tags."""
    scripts = [script for script in account.scripts.values() if script.active]
    for condition in filter(None, request.args.get("tags", "").split(",")):
        tag, _, wanted = condition.partition(":")
        scripts = [script for script in scripts if (tag in script.tags) == (wanted != "no")]
    return envelope([shown(account, script) for script in shuffled(scripts, lambda script: script.tag)])


@routes.get("/accounts/<account_id>/workers/scripts/<name>")
@for_account(*READ)
async def code(account: Account, name: str) -> Response:
    """Return the main module's code, with the etag of the whole script."""
    version = active_of(script_of(account, name))
    main = next(module for module in version.modules if module.name == version.main_module)
    return Response(base64.b64decode(main.body), content_type="application/javascript", headers={"ETag": version.etag})


@routes.get("/accounts/<account_id>/workers/scripts/<name>/content/v2")
@for_account(*READ)
async def content(account: Account, name: str) -> Response:
    """Return all modules as a form."""
    version = active_of(script_of(account, name))
    boundary = new_hex()
    body = b""
    for module in version.modules:
        body += (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{module.name}"; filename="{module.name}"\r\n'
            f"Content-Type: {module.content_type}\r\n\r\n"
        ).encode()
        body += base64.b64decode(module.body) + b"\r\n"
    headers = {"ETag": version.etag, "cf-entrypoint": version.main_module}
    body += f"--{boundary}--\r\n".encode()
    return Response(body, content_type=f"multipart/form-data; boundary={boundary}", headers=headers)


@routes.delete("/accounts/<account_id>/workers/scripts/<name>")
@for_account(WRITE)
async def delete(account: Account, name: str) -> Response:
    """Delete a script."""
    script = script_of(account, name)
    check_unused(account, script)
    await remove(account, script)
    return envelope(None)


@routes.get("/accounts/<account_id>/workers/scripts/<name>/versions")
@for_account(*READ)
async def versions(account: Account, name: str) -> Response:
    """List the script's versions, newest first."""
    newest_first = list(reversed(script_of(account, name).versions))
    part, info = page_of(newest_first, size=10, most=100)
    return envelope({"items": [shown_version(version) for version in part]}, info=info)


@routes.get("/accounts/<account_id>/workers/scripts/<name>/versions/<version_id>")
@for_account(*READ)
async def version(account: Account, name: str, version_id: str) -> Response:
    """Return a version."""
    found = script_of(account, name).version(version_id)
    if found is None:
        raise ApiError(404, 10222, "workers.api.error.version_not_found")
    return envelope(full_version(found))


@routes.post("/accounts/<account_id>/workers/scripts/<name>/versions")
@for_account(WRITE)
async def upload_version(account: Account, name: str) -> Response:
    """Store a version without running it. The version has no tags or similar fields, because only uploads that run
    immediately accept these (Cloudflare docs).
    """
    script = script_of(account, name)
    metadata, modules = await read_form("metadata")
    made = make_version(account, script, metadata, modules, platform().now())
    add_version(script, made)
    return envelope(full_version(made))


@routes.get("/accounts/<account_id>/workers/scripts/<name>/deployments")
@for_account(*READ)
async def deployments(account: Account, name: str) -> Response:
    """List the script's deployments, newest first."""
    part, info = page_of(script_of(account, name).deployments, size=10, most=100)
    shown_deployments = [
        {
            "id": deployment.id,
            "created_on": iso_micro(deployment.created_at),
            "source": deployment.source,
            "strategy": "percentage",
            "versions": [{"version_id": deployment.version_id, "percentage": 100}],
            "author_email": "owner@customer.example",
            "annotations": deployment.annotations,
        }
        for deployment in part
    ]
    return envelope({"deployments": shown_deployments}, info=info)


@routes.post("/accounts/<account_id>/workers/scripts/<name>/deployments")
@for_account(WRITE)
async def create_deployment(account: Account, name: str) -> Response:
    """Deploy a stored version."""
    script, body = script_of(account, name), await body_object()
    wanted = body.get("versions") or []
    if body.get("strategy") != "percentage" or len(wanted) != 1 or wanted[0].get("percentage") != 100:
        raise invalid("this emulator deploys one version at 100%", 10210)
    found = script.version(str(wanted[0].get("version_id")))
    if found is None:
        raise ApiError(404, 10222, "workers.api.error.version_not_found")
    deployment = await deploy(account, script, found, body.get("annotations") or {})
    return envelope({"id": deployment.id, "strategy": "percentage", "versions": wanted})


@routes.get("/accounts/<account_id>/workers/services/<name>")
@for_account(*READ)
async def service(account: Account, name: str) -> Response:
    """Return a script, in the format that wrangler expects before an upload."""
    script = account.scripts.get(name)
    if script is None:
        raise ApiError(404, 10090, "This service does not exist on your account.")
    environment = {
        "environment": "production",
        "created_on": iso_micro(script.created_at),
        "modified_on": iso_micro(script.modified_at),
        "script": {**shown(account, script), "last_deployed_from": script.deployments[0].source},
    }
    return envelope(
        {
            "id": name,
            "default_environment": environment,
            "environments": [environment],
            "created_on": iso_micro(script.created_at),
            "modified_on": iso_micro(script.modified_at),
        }
    )


@routes.delete("/accounts/<account_id>/workers/services/<name>")
@for_account(WRITE)
async def delete_service(account: Account, name: str) -> Response:
    """Delete a script. Wrangler uses this endpoint."""
    if name not in account.scripts:
        raise ApiError(404, 10090, "This service does not exist on your account.")
    check_unused(account, account.scripts[name])
    await remove(account, account.scripts[name])
    return envelope(None)


@routes.get("/accounts/<account_id>/workers/workers/<name>")
@for_account(*READ)
async def worker(account: Account, name: str) -> Response:
    """Return a script in the format of the newer Workers API."""
    script = script_of(account, name)
    return envelope(
        {
            "id": script.tag,
            "name": script.name,
            "created_on": iso_micro(script.created_at),
            "updated_on": iso_micro(script.modified_at),
            "logpush": script.logpush,
            "observability": script.observability or {"enabled": False},
            "subdomain": {"enabled": script.subdomain_enabled, "previews_enabled": script.previews_enabled},
            "tags": script.tags,
            "tail_consumers": script.tail_consumers,
            "references": _no_references(),
        }
    )


def _no_references() -> dict[str, Any]:
    return {"services": {"incoming": [], "outgoing": []}, "durable_objects": [], "dispatch_outbounds": []}


@routes.get("/accounts/<account_id>/workers/scripts/<name>/references")
@for_account(*READ)
async def references(account: Account, name: str) -> Response:
    """Return the references to the script. In the emulator, a script never has any."""
    script_of(account, name)
    return envelope(_no_references())


@routes.get("/accounts/<account_id>/workers/tails/by-consumer/<name>")
@for_account(*READ)
async def tails(account: Account, name: str) -> Response:
    """List the scripts that send their logs to this script."""
    return envelope([{"producer": {"script": {"name": script}}} for script in tails_to(account, name)])
