"""Settings stored next to a script's code: script-level settings, schedules, workers.dev, secrets."""

from __future__ import annotations

import re
from typing import Any

from quart import Blueprint, Response

from edge_worker.emulator.api.access import for_account
from edge_worker.emulator.api.deploying import deploy
from edge_worker.emulator.api.scripts import READ, WRITE, active_of, check_subdomain, script_of
from edge_worker.emulator.api.uploads import (
    BINDING_NAME,
    MAX_TEXT_BYTES,
    SECRET,
    check_tags,
    make_version,
    read_form,
    shown_binding,
)
from edge_worker.emulator.api.wire import ApiError, body_json, body_object, envelope, invalid
from edge_worker.emulator.crons import Cron
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import Account, Schedule, Script, Version, iso_micro, new_uuid

routes = Blueprint("script_settings", __name__)
SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def _script_level(script: Script) -> dict[str, Any]:
    return {
        "logpush": script.logpush,
        "observability": script.observability or {"enabled": False},
        "tags": script.tags,
        "tail_consumers": script.tail_consumers,
    }


def _set_script_level(script: Script, body: dict[str, Any]) -> None:
    if body.get("tags") is not None:
        script.tags = check_tags(body["tags"])
    for field in ("logpush", "observability", "tail_consumers"):
        if body.get(field) is not None:
            setattr(script, field, body[field])


@routes.get("/accounts/<account_id>/workers/scripts/<name>/script-settings")
@for_account(*READ)
async def get_script_level(account: Account, name: str) -> Response:
    """Return the script-level settings, which are independent of versions."""
    return envelope(_script_level(script_of(account, name)))


@routes.patch("/accounts/<account_id>/workers/scripts/<name>/script-settings")
@for_account(WRITE)
async def change_script_level(account: Account, name: str) -> Response:
    """Change tags, logpush, observability or tail consumers."""
    script = script_of(account, name)
    _set_script_level(script, await body_object())
    return envelope(_script_level(script))


def _all(script: Script) -> dict[str, Any]:
    version = active_of(script)
    return {
        **_script_level(script),
        "bindings": [shown_binding(binding) for binding in version.bindings],
        "compatibility_date": version.compatibility_date,
        "compatibility_flags": version.compatibility_flags,
        "usage_model": version.usage_model,
    }


@routes.get("/accounts/<account_id>/workers/scripts/<name>/settings")
@for_account(*READ)
async def get_all(account: Account, name: str) -> Response:
    """Return the script's settings with its bindings."""
    return envelope(_all(script_of(account, name)))


@routes.patch("/accounts/<account_id>/workers/scripts/<name>/settings")
@for_account(WRITE)
async def change_all(account: Account, name: str) -> Response:
    """Change settings. New bindings or compatibility settings create a new version with the same code."""
    script = script_of(account, name)
    settings, _ = await read_form("settings")
    before = active_of(script)
    if {"bindings", "compatibility_date", "compatibility_flags"} & set(settings):
        metadata = {
            "main_module": before.main_module,
            "bindings": [{"type": "inherit", "name": binding["name"]} for binding in before.bindings],
            "compatibility_date": before.compatibility_date,
            "compatibility_flags": before.compatibility_flags,
            **settings,
        }
        version = make_version(account, script, metadata, before.modules, platform().now())
        await deploy(account, script, version)
    _set_script_level(script, settings)
    return envelope(_all(script))


# -- schedules ------------------------------------------------------------------------------------------------------


def _shown_schedules(script: Script) -> Response:
    return envelope(
        {
            "schedules": [
                {
                    "cron": schedule.cron,
                    "created_on": iso_micro(schedule.created_at),
                    "modified_on": iso_micro(schedule.modified_at),
                }
                for schedule in script.schedules
            ]
        }
    )


@routes.get("/accounts/<account_id>/workers/scripts/<name>/schedules")
@for_account(*READ)
async def schedules(account: Account, name: str) -> Response:
    """List the script's crons."""
    return _shown_schedules(script_of(account, name))


@routes.put("/accounts/<account_id>/workers/scripts/<name>/schedules")
@for_account(WRITE)
async def replace_schedules(account: Account, name: str) -> Response:
    """Replace all crons of the script. The limit applies to the whole account (Cloudflare docs: error 10072).

    If an account exceeds its limit (after a downgrade, or because its crons are older than the limit), the platform
    rejects even a list that removes some of its crons: workers-sdk #15194.
    """
    check_subdomain(account)
    script, body = script_of(account, name), await body_json()
    if not isinstance(body, list) or not all(isinstance(item, dict) and "cron" in item for item in body):
        raise invalid("an array of {cron} is expected", 10026)
    for item in body:
        try:
            Cron.parse(str(item["cron"]))
        except ValueError as error:
            raise invalid(f"invalid cron string {item['cron']!r}: {error}", 10100) from None
    others = sum(len(other.schedules) for other in account.scripts.values() if other is not script)
    if max(others + len(script.schedules), others + len(body)) > account.limits.crons:
        plan, limit = account.plan.capitalize(), account.limits.crons
        text = f"This account has reached the Workers {plan} limit of {limit} cron triggers per account."
        raise invalid(text, 10072)
    here, now = platform(), platform().now()
    before = {schedule.cron: schedule for schedule in script.schedules}
    begins_at = now + round(here.dice.random() * here.cron_delay_s * 1000)
    script.schedules = [
        before.get(item["cron"]) or Schedule(cron=item["cron"], created_at=now, modified_at=now, begins_at=begins_at)
        for item in body
    ]
    return _shown_schedules(script)


# -- workers.dev ----------------------------------------------------------------------------------------------------


def _shown_subdomain(script: Script) -> Response:
    return envelope({"enabled": script.subdomain_enabled, "previews_enabled": script.previews_enabled})


@routes.get("/accounts/<account_id>/workers/scripts/<name>/subdomain")
@for_account(*READ)
async def subdomain(account: Account, name: str) -> Response:
    """Return the state of the script's workers.dev address."""
    return _shown_subdomain(script_of(account, name))


@routes.post("/accounts/<account_id>/workers/scripts/<name>/subdomain")
@for_account(WRITE)
async def set_subdomain(account: Account, name: str) -> Response:
    """Enable or disable the script's workers.dev address."""
    script, body = script_of(account, name), await body_object()
    if not isinstance(body.get("enabled"), bool):
        raise invalid("enabled must be true or false", 10026)
    script.subdomain_enabled = body["enabled"]
    script.previews_enabled = bool(body.get("previews_enabled", script.subdomain_enabled))
    return _shown_subdomain(script)


@routes.delete("/accounts/<account_id>/workers/scripts/<name>/subdomain")
@for_account(WRITE)
async def close_subdomain(account: Account, name: str) -> Response:
    """Disable the script's workers.dev address."""
    script = script_of(account, name)
    script.subdomain_enabled = script.previews_enabled = False
    return _shown_subdomain(script)


@routes.get("/accounts/<account_id>/workers/subdomain")
@for_account(*READ)
async def account_subdomain(account: Account) -> Response:
    """Return the account's workers.dev subdomain, which does not exist until it is registered."""
    if account.subdomain is None:
        raise ApiError(404, 10007, "This Worker does not exist on your account.")
    return envelope({"subdomain": account.subdomain})


@routes.get("/accounts/<account_id>/workers/subdomains/<wanted>")
@for_account(*READ)
async def subdomain_availability(account: Account, wanted: str) -> Response:
    """Return the account's own subdomain. For any other name, return an error, even if the name is available, as
    wrangler's registerSubdomain expects.
    """
    if account.subdomain == wanted:
        return envelope({"subdomain": wanted})
    _check_free(account, wanted)
    raise ApiError(404, 10032, "workers.api.error.subdomain_unavailable")


@routes.put("/accounts/<account_id>/workers/subdomain")
@for_account(WRITE)
async def set_account_subdomain(account: Account) -> Response:
    """Register the account's workers.dev subdomain. It is permanent: the API cannot rename it."""
    wanted = str((await body_object()).get("subdomain"))
    if not SUBDOMAIN.fullmatch(wanted):
        raise invalid("workers.api.error.invalid_subdomain", 10033)
    _check_free(account, wanted)
    if account.subdomain not in (None, wanted):
        raise ApiError(409, 10036, "workers.api.error.subdomain_already_set")
    account.subdomain = wanted
    return envelope({"subdomain": wanted})


def _check_free(account: Account, wanted: str) -> None:
    if any(other.subdomain == wanted for other in platform().world.accounts.values() if other is not account):
        raise ApiError(403, 10031, "workers.api.error.subdomain_taken")


# -- secrets --------------------------------------------------------------------------------------------------------


def _secrets(version: Version) -> list[dict[str, str]]:
    return [{"name": b["name"], "type": SECRET} for b in version.bindings if b["type"] == SECRET]


async def _with_bindings(account: Account, script: Script, bindings: list[dict[str, Any]], text: str) -> None:
    """Deploy a new version with the same code, because the platform shows a change of secrets as a deployment."""
    before = active_of(script)
    number = max(version.number for version in script.versions) + 1
    annotations = {"workers/triggered_by": text}
    changes = {
        "id": new_uuid(),
        "number": number,
        "created_at": platform().now(),
        "bindings": bindings,
        "annotations": annotations,
    }
    await deploy(account, script, before.model_copy(update=changes), annotations)


@routes.get("/accounts/<account_id>/workers/scripts/<name>/secrets")
@for_account(*READ)
async def secrets(account: Account, name: str) -> Response:
    """List the script's secrets without their values."""
    return envelope(_secrets(active_of(script_of(account, name))))


@routes.get("/accounts/<account_id>/workers/scripts/<name>/secrets/<secret>")
@for_account(*READ)
async def get_secret(account: Account, name: str, secret: str) -> Response:
    """Return a secret without its value."""
    for shown in _secrets(active_of(script_of(account, name))):
        if shown["name"] == secret:
            return envelope(shown)
    raise ApiError(404, 10056, "workers.api.error.binding_not_found")


@routes.put("/accounts/<account_id>/workers/scripts/<name>/secrets")
@for_account(WRITE)
async def put_secret(account: Account, name: str) -> Response:
    """Set a secret."""
    script, body = script_of(account, name), await body_object()
    secret, text = body.get("name"), body.get("text")
    if body.get("type", SECRET) != SECRET or not isinstance(text, str) or not isinstance(secret, str):
        raise invalid("a secret needs name, text and type secret_text", 10026)
    if not BINDING_NAME.fullmatch(secret):
        raise invalid("Invalid binding name", 10026)
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise invalid("Secret too large", 10054)
    others = [b for b in active_of(script).bindings if b["name"] != secret]
    if any(b["name"] == secret and b["type"] != SECRET for b in active_of(script).bindings):
        raise invalid(f"Binding name '{secret}' already in use", 10053)
    made = {"type": SECRET, "name": secret, "text": text}
    await _with_bindings(account, script, [*others, made], "secret")
    return envelope({"name": secret, "type": SECRET})


@routes.delete("/accounts/<account_id>/workers/scripts/<name>/secrets/<secret>")
@for_account(WRITE)
async def delete_secret(account: Account, name: str, secret: str) -> Response:
    """Delete a secret."""
    script = script_of(account, name)
    before = active_of(script).bindings
    rest = [b for b in before if (b["name"], b["type"]) != (secret, SECRET)]
    if len(rest) == len(before):
        raise ApiError(404, 10056, "workers.api.error.binding_not_found")
    await _with_bindings(account, script, rest, "secret")
    return envelope(None)
