"""`svc link` and `svc site`: disable a user's link or site immediately, and enable it again."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

import trio

from svc.commands.arguments import add_command, add_group
from svc.commands.output import printable
from svc.model import MAX_REASON_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.store.moderation import Target, TargetKind
    from svc.store.tx import Tx

# Maximum length of the argument: a host and a code of the maximum lengths.
_MAX_NAME = 300


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    for kind, name, disables, enables in (
        (
            "link",
            "LINK",
            "stop a link from redirecting, and give its owner the reason",
            "make a disabled link redirect again",
        ),
        (
            "site",
            "SITE",
            "stop counting a site's views, and give its owner the reason",
            "resume counting a disabled site's views",
        ),
    ):
        actions = add_group(commands, kind, f"disable or enable a {kind}")
        disable = add_command(actions, shared, "disable", disables)
        enable = add_command(actions, shared, "enable", enables)
        named = "the link's ID or its short URL" if kind == "link" else "the site's ID or its host"
        for action in (disable, enable):
            action.add_argument("target", metavar=name, help=named)
            action.add_argument("--json", action="store_true", help="print the result as a JSON object")
            action.set_defaults(kind=kind)
        disable.add_argument(
            "--reason",
            type=_reason,
            required=True,
            help=f"reason to show to the owner (at most {MAX_REASON_CHARS} characters)",
        )
        disable.set_defaults(command=_disable)
        enable.set_defaults(command=_enable)


def _reason(text: str) -> str:
    """Return the reason without leading and trailing spaces. Raises argparse.ArgumentTypeError."""
    reason = text.strip()
    if not reason:
        raise argparse.ArgumentTypeError("must not be empty")
    if len(reason) > MAX_REASON_CHARS:
        raise argparse.ArgumentTypeError(f"must have at most {MAX_REASON_CHARS} characters, but has {len(reason)}")
    if not reason.isprintable():
        raise argparse.ArgumentTypeError("must not contain line breaks or control characters")
    return reason


def _disable(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import moderation

    def disable(target: Target, now: int) -> Tx[bool]:
        return (yield from moderation.disable(target, arguments.reason, now))

    return _change(config, arguments, disable)


def _enable(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import moderation

    return _change(config, arguments, moderation.enable)


def _change(config: Config, arguments: argparse.Namespace, change: Callable[[Target, int], Tx[bool]]) -> int:
    """Find the link or site that the arguments name, apply `change`, and print the result."""
    from svc.clock import system_clock
    from svc.store import moderation, open_poll, open_store

    kind: TargetKind = arguments.kind

    def run() -> Tx[tuple[list[Target], bool, list[Target]]]:
        targets = yield from _find(kind, arguments.target)
        chosen = [target for target in targets if not target.is_deleted] or targets
        if len(chosen) != 1:
            return chosen, False, []
        changed = yield from change(chosen[0], system_clock())
        return chosen, changed, (yield from moderation.with_id(kind, chosen[0].id))

    async def apply() -> tuple[list[Target], bool, list[Target], bool]:
        async with open_store(config.store, as_is=True) as store:
            targets, changed, now = await store.run(run())
        async with open_poll(config.store) as is_free:
            return targets, changed, now, not await is_free()

    targets, changed, current, is_served = trio.run(apply)
    named = printable(arguments.target, _MAX_NAME)
    if not targets:
        print(f"svc: {kind} {named} does not exist", file=sys.stderr)
        return 1
    if not current:
        print(f"svc: {named} names several {kind}s; use one of their IDs:", file=sys.stderr)
        for target in targets:
            print(f"  {target.id}  {target.email or '-'}  {target.account_id}", file=sys.stderr)
        return 1
    [target] = current
    if not changed and target.is_deleted:
        print(f"svc: {kind} {named} was deleted" + (", and is disabled" if target.disabled else ""), file=sys.stderr)
        return 1
    print(json.dumps(_facts(target, changed=changed)) if arguments.json else _sentence(target, changed=changed))
    if changed and not target.is_deleted and (problem := _delay(target, is_served=is_served)):
        print(f"svc: {problem}", file=sys.stderr)
    return 0


def _find(kind: TargetKind, text: str) -> Tx[list[Target]]:
    """Return the links or sites with this ID, or with this short URL or host."""
    from svc.store import moderation

    targets = yield from moderation.with_id(kind, text)
    if targets:
        return targets
    host, _, path = text.partition("://")[2].partition("/") if "://" in text else text.partition("/")
    name = _ascii_host(host)
    if kind == "site":
        return (yield from moderation.sites_at(name)) if name and not path.strip("/") else []
    code = path.partition("?")[0].partition("#")[0].rstrip("/")
    return (yield from moderation.links_at(name, code)) if name and code else []


def _ascii_host(text: str) -> str:
    """Return a host in its stored form, or "" if the text is not a host."""
    from svc.api.ascii_forms import ascii_host

    try:
        return ascii_host(text).lower().removesuffix(".")
    except ValueError:
        return ""


def _sentence(target: Target, *, changed: bool) -> str:
    name = f"{target.kind} {printable(target.name, _MAX_NAME)} ({target.id})"
    if target.disabled is None:
        return f"{name} is enabled" if changed else f"{name} is not disabled"
    if not changed:
        return f"{name} is already disabled: {printable(target.disabled.reason, MAX_REASON_CHARS)}"
    return f"{name} is disabled"


def _delay(target: Target, *, is_served: bool) -> str | None:
    """Return the reason why the change will not reach the Worker within seconds, or None if it probably will."""
    from svc.model import SERVING

    if not is_served:
        return "no service is running; the Worker will get the change when the service starts"
    if target.account_state not in SERVING:
        delay = "the Worker will get the change when the account is ready again"
        return f"the account's state is {target.account_state}; {delay}"
    return None


def _facts(target: Target, *, changed: bool) -> dict[str, Any]:
    from svc.clock import iso

    disabled = target.disabled
    return {
        "id": target.id,
        "name": target.name,
        "owner": target.email,
        "account_id": target.account_id,
        "deleted": target.is_deleted,
        "disabled": None if disabled is None else {"at": iso(disabled.at), "reason": disabled.reason},
        "changed": changed,
    }
