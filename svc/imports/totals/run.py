"""The import of daily totals into the sites and links of a user, and its dry run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from svc.clock import day_of, day_text
from svc.errors import NotFound, StoreUnavailable
from svc.imports.accounts import accounts_meant
from svc.model import Counts
from svc.store.accounts import account_by_id
from svc.store.events import by_operator
from svc.store.imported_days import Compared, compare_days, import_days, known_targets, targets_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc.imports.totals.tally import Name, Tally
    from svc.store.imported_days import Target
    from svc.store.tx import Store, Tx


class NoTarget(ValueError):
    """It is not clear what the days belong to; the message says what to do."""


@dataclass(frozen=True)
class Done:
    """What became of one target's days, or would become of them; `views` are those of the days that were added."""

    target: Target
    compared: Compared
    views: int = 0
    joined: int = 1  # how many targets of the file had this name
    elsewhere: int = 0  # days of earlier targets of this name, which are stored here under those


@dataclass
class Report:
    """What became of a file: how many days were, or would be, added; how many were there with other numbers.

    `missing`: names that no site or link has, and how many days they had. `stopped`: why the import ended before the
    end, and at which target.
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
    """Add each target's days in one transaction of its own; only look unless `apply`.

    `done` is called after each target: the days of all targets of a service are too many to return at the end.

    `account_id`, `email`: the account or the user that the targets belong to. `named`: what the days belong to, where
    the file does not name it. `now`: the time, epoch ms. With `replace` numbers that were imported before are
    overwritten where the file has others. Raises NoTarget; StoreUnavailable before the first target, after which it
    ends the import.
    """
    if account_id is None and email is None:
        raise NoTarget("name the user by --user, or the account by --account")
    accounts = {one.id: one.edge_account_id for one in await store.read(accounts_meant(account_id, email))}
    if not accounts:
        raise NoTarget("there is no such account")
    meant = {}  # all of them before the first is written
    for of_file in tally.names():
        if (of_file is None) == (named is None):
            raise NoTarget(
                "the file names no site and no link: name one by --site or --link"
                if of_file is None
                else "the file names its sites and links itself: leave out --site and --link"
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
        tx = _import(target, days_of, replace=replace, apply=apply, now=now)
        try:
            one = await (store.run(tx) if apply else store.read(tx))
        except NotFound:  # its account was disconnected meanwhile
            report.missing.append((cast("Name", of_file or named), sum(len(days) for days in days_of.values())))
        except StoreUnavailable as error:
            report.stopped = f"{target.name} ({target.kind}): {error.message}"
            break
        else:
            report.added += len(one.compared.added)
            report.changed += len(one.compared.other)
            done(one)
    return report


def _target(accounts: Mapping[str, str], name: Name, *, in_file: bool) -> Tx[Target | None]:
    """What the name means in these accounts (id: edge account); None: the file names what they do not have."""
    those = [one for one, edge in accounts.items() if name.edge_account_id in {"", edge}]
    targets = yield from targets_named(those, name.kind, name.name)
    if len(targets) > 1:
        places = ", ".join(one for one in those if accounts[one] in {target.edge_account_id for target in targets})
        raise NoTarget(f"several accounts have the {name.kind} {name.name}; name one by --account: {places}")
    if not targets and not in_file:
        raise NoTarget(f"there is no {name.kind} {name.name} in these accounts: add it first")
    return targets[0] if targets else None


def _import(
    target: Target, days_of: Mapping[str, Mapping[int, Counts]], *, replace: bool, apply: bool, now: int
) -> Tx[Done]:
    """Import what the file has of targets of this name.

    A target that this service knows has its days here already, under its own id: they are not taken for another's.
    """
    known = yield from known_targets([one for one in days_of if one not in {"", target.id}])
    days: dict[int, Counts] = {}
    for of_target, of_file in days_of.items():
        for day, counts in () if of_target in known else of_file.items():
            days[day] = days.get(day, Counts()) + counts
    compared = yield from (import_days(target, days, replace=replace) if apply else compare_days(target, days))
    written = len(compared.added) + (len(compared.other) if replace else 0)
    account = yield from account_by_id(target.account_id)
    if apply and written and account is not None:
        yield by_operator(account.user_id, "totals.import", now, target.id, target.edge_account_id, written)
    return Done(
        target,
        compared,
        sum(days[day].views for day in compared.added),
        len(days_of) - len(known),
        sum(len(days_of[one]) for one in known),
    )


def lines_of(done: Done, *, apply: bool, replace: bool) -> Sequence[str]:
    """What is told of a target: how many days were, or would be, added, and what became of the others."""
    of, found = done.target, done.compared
    would = "were" if apply else "would be"
    added = f"{len(found.added)} days {would} added"
    if found.added:
        added += f", {day_text(found.added[0])} to {day_text(found.added[-1])}, with {done.views} views"
    told = [f"{of.name} ({of.kind} {of.id}): {added}"]
    if found.same:
        told.append(f"{len(found.same)} days are there already")
    if found.other:
        what = f"{would} replaced" if replace else "were left as they are: --replace takes the file's numbers"
        told.append(f"{_days(found.other)} are there with other numbers and {what}")
    if found.own:
        began = day_text(day_of(of.created_at))
        told.append(f"{_days(found.own)} were left out: it counts here itself, since {began}")
    if done.elsewhere:
        told.append(
            f"{done.elsewhere} days of earlier ones of this name were left out: they are stored here under those"
        )
    if done.joined > 1:
        told.append(f"{done.joined} targets of the file had this name; their days were added up")
    return [told[0], *(f"  {one}" for one in told[1:])]


def _days(days: Sequence[int]) -> str:
    """`3 days (2026-01-01, 2026-01-02, …)`."""
    named = ", ".join(day_text(day) for day in days[:3])
    return f"{len(days)} days ({named}{', …' if len(days) > 3 else ''})"
