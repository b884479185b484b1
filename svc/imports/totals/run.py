"""Imports daily totals into a user's sites and links (the targets), or performs a dry run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from svc.errors import NotFound, StoreUnavailable
from svc.imports.accounts import accounts_meant
from svc.model import Counts
from svc.store import automatic_notes
from svc.store.events import by_operator
from svc.store.imported_days import Compared, compare_days, import_days, known_targets, targets_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Set

    from svc.imports.totals.tally import Name, Tally
    from svc.model import NoteTarget
    from svc.store.imported_days import Target
    from svc.store.tx import Store, Tx


class NoTarget(ValueError):
    """Raised if the options match no target or several targets, or do not fit the file. The message says what to do."""


@dataclass(frozen=True)
class Done:
    """The result of the import or dry run for one target. `views`: the sum of the views on the days that are added."""

    target: Target
    compared: Compared
    views: int = 0
    joined: int = 1  # the number of targets in the file that have this name
    elsewhere: int = 0  # the number of days that are already stored for earlier targets with this name
    written: int = 0  # the number of days that are added or replaced


@dataclass
class Report:
    """The result of importing a file.

    `added`: the number of added days. `changed`: the number of days that were previously imported with different
    numbers. `missing`: the names in the file that match no target, each with its number of days. `stopped`: if the
    import stopped, the target at which it stopped and the reason.
    """

    added: int = 0
    changed: int = 0
    missing: list[tuple[Name, int]] = field(default_factory=list)
    stopped: str = ""


async def import_totals(
    store: Store,
    tally: Tally,
    *,
    account_id: str | None,
    email: str | None,
    named: Name | None,
    apply: bool,
    now: int,
    done: Callable[[Done], None],
    replace: bool = False,
) -> Report:
    """Add the days of each target, in one transaction per target. Without `apply`, only compare them with the store.

    `account_id`, `email`: the account or user of the targets. `named`: the target, if the file contains no names.
    `now`: the time in epoch ms. `done`: called after each target, because all results together may be too large to
    return. `replace`: overwrite imported numbers that differ from the file. Raises NoTarget. Raises StoreUnavailable if
    the store fails before the first target. If the store fails later, the import stops.
    """
    if account_id is None and email is None:
        raise NoTarget("select the user with --user, or the account with --account")
    accounts = {each.id: each.edge_account_id for each in await store.read(accounts_meant(account_id, email))}
    if not accounts:
        raise NoTarget("no such account")
    meant = {}  # find all targets before writing the first one
    for of_file in tally.names():
        if (of_file is None) == (named is None):
            raise NoTarget(
                "the file does not name a site or link; select one with --site or --link"
                if of_file is None
                else "the file names its sites and links; leave out --site and --link"
            )
        meant[of_file] = await store.read(
            _target(accounts, cast("Name", of_file or named), in_file=of_file is not None)
        )
    report = Report()
    for of_file, days_of in tally.targets():
        target = meant[of_file]
        if target is None:
            report.missing.append((cast("Name", of_file), sum(len(days) for days in days_of.values())))
            continue
        tx = _import(target, days_of, tally.estimates(of_file), replace=replace, apply=apply, now=now)
        try:
            imported = await (store.run(tx) if apply else store.read(tx))
        except NotFound:  # the target's account has been disconnected since then
            report.missing.append((cast("Name", of_file or named), sum(len(days) for days in days_of.values())))
        except StoreUnavailable as error:
            report.stopped = f"{target.name} ({target.kind}): {error.message}"
            break
        else:
            report.added += len(imported.compared.added)
            report.changed += len(imported.compared.other)
            done(imported)
    return report


def _target(accounts: Mapping[str, str], name: Name, *, in_file: bool) -> Tx[Target | None]:
    """Find the target with this name in the accounts. Return None if the name comes from the file and has no target.

    `accounts`: maps account ids to Cloudflare account ids. Raises NoTarget.
    """
    those = [each for each, edge in accounts.items() if name.edge_account_id in {"", edge}]
    targets = yield from targets_named(those, name.kind, name.name)
    if len(targets) > 1:
        places = ", ".join(each for each in those if accounts[each] in {target.edge_account_id for target in targets})
        raise NoTarget(f"several accounts have the {name.kind} {name.name}; select one with --account: {places}")
    if not targets and not in_file:
        raise NoTarget(f"these accounts have no {name.kind} {name.name}; add it first")
    return targets[0] if targets else None


def _import(
    target: Target,
    days_of: Mapping[str, Mapping[int, Counts]],
    estimates: Set[int],
    *,
    replace: bool,
    apply: bool,
    now: int,
) -> Tx[Done]:
    """Import the days of a target with `import_target`, and record an event by the operator in the user's audit log."""
    done = yield from import_target(target, days_of, estimates=estimates, replace=replace, apply=apply, now=now)
    if apply and done.written:
        yield by_operator(target.user_id, "totals.import", now, target.id, target.edge_account_id, done.written)
    return done


def import_target(
    target: Target,
    days_of: Mapping[str, Mapping[int, Counts]],
    *,
    estimates: Set[int] = frozenset(),
    replace: bool,
    apply: bool,
    now: int,
) -> Tx[Done]:
    """Import the days that the file has under this target's name. Without `apply`, only compare them with the store.

    A file can have days of several targets with the same name, such as a site in two accounts. Days of another target
    of the same user are skipped, because they are stored for that target. `days_of`: the days by the
    target's id in the file ("" without ids). `estimates`: the days whose counts are estimates. Raises NotFound if the
    account is no longer connected.
    """
    others = [target_id for target_id in days_of if target_id not in {"", target.id}]
    known = yield from known_targets(target.user_id, others)
    days: dict[int, Counts] = {}
    for of_target, of_file in days_of.items():
        for day, counts in () if of_target in known else of_file.items():
            days[day] = days.get(day, Counts()) + counts
    compared = yield from (
        import_days(target, days, estimates=estimates, replace=replace)
        if apply
        else compare_days(target, days, estimates=estimates)
    )
    written = len(compared.added) + (len(compared.other) if replace else 0)
    if apply and written:
        kind: NoteTarget = "site" if target.kind == "site" else "link"
        yield from automatic_notes.imported(target.account_id, kind, target.id, now)
    return Done(
        target,
        compared,
        sum(days[day].views for day in compared.added),
        len(days_of) - len(known),
        sum(len(days_of[target_id]) for target_id in known),
        written,
    )
