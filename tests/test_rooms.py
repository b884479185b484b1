"""Which room may know which: main → http → actors → (edge, store) → worker → model, errors. This draws it."""

from __future__ import annotations

import ast
import graphlib
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SVC = ROOT / "svc"

# Known by every room; they know only each other.
FLOOR = {
    "svc.model",
    "svc.advice",
    "svc.api_key",
    "svc.bind",
    "svc.errors",
    "svc.faults",
    "svc.ids",
    "svc.leftover",
    "svc.limits",
    "svc.metrics",
    "svc.clock",
    "svc.config",
    "svc.email_body",
    "svc.emails",
    "svc.logs",
    "svc.token_page",
    "svc.vault",
    "svc.whole_file",
    "svc.worker",
}
MAY_IMPORT = {
    "svc.api": FLOOR | {"svc.api", "svc.password_rules"},
    "svc.report": FLOOR | {"svc.api"},
    "svc.web": FLOOR | {"svc.api", "svc.web"},
    "svc.store": FLOOR | {"svc.store"},
    "svc.edge": FLOOR | {"svc.edge"},
    "svc.backup": FLOOR | {"svc.store", "svc.backup"},
    "svc.imports": FLOOR | {"svc.store", "svc.imports"},
    "svc.link_import": FLOOR | {"svc.api", "svc.store", "svc.actors", "svc.imports", "svc.link_import"},
    "svc.totals_import": FLOOR | {"svc.store", "svc.imports", "svc.totals_import"},
    "svc.actors": FLOOR | {"svc.store", "svc.edge", "svc.actors", "svc.mail", "svc.smtp"},
    "svc.http": FLOOR
    | {
        "svc.api",
        "svc.report",
        "svc.store",
        "svc.actors",
        "svc.http",
        "svc.passwords",
        "svc.password_rules",
    },
    "svc.mail": FLOOR | {"svc.smtp"},
    "svc.smtp": FLOOR,
    "svc.passwords": FLOOR,
    "svc.password_rules": FLOOR | {"svc.passwords"},
}
# A library belongs to one room.
OWNERS = {
    "h11": ("svc/http/server.py",),
    "quart": ("svc/http/",),
    "quart_trio": ("svc/http/",),
    "hypercorn": ("svc/http/server.py",),
    "httpx": ("svc/edge/",),
    "asyncpg": ("svc/store/postgres",),
    "asyncio": ("svc/store/postgres",),
    "sqlite3": ("svc/store/sqlite", "svc/link_import/staging.py", "svc/totals_import/tally.py"),
    "tarfile": ("svc/backup/archive.py",),
    "prometheus_client": ("svc/metrics.py",),
    "segno": ("svc/http/qr.py",),
    "cryptography": ("svc/vault.py",),
    "smtplib": ("svc/smtp.py",),
    "argon2": ("svc/passwords.py",),
}


# The same for the edge platform on this machine and what goes with it; the innermost room counts. The worker's tests
# may import all of edge_worker.
PLAIN = {f"edge_worker.emulator.{name}" for name in ("state", "faults", "firewall", "crons")}
EDGE_MAY_IMPORT: dict[str, set[str]] = {
    **{name: set() for name in PLAIN},
    "edge_worker.emulator.runtime": PLAIN | {"edge_worker.emulator.runtime"},
    "edge_worker.emulator.platform": PLAIN | {"edge_worker.emulator.runtime"},
    "edge_worker.emulator.api": PLAIN | {f"edge_worker.emulator.{name}" for name in ("runtime", "platform", "api")},
    "edge_worker.emulator.client": set(),
    "edge_worker.emulator.process": {"edge_worker.emulator.client", "edge_worker.programs"},
    "edge_worker.emulator": {"edge_worker.emulator"},
    "edge_worker.tools": {"edge_worker.tools"},
    "edge_worker.programs": set(),
    "edge_worker.harness": {
        "edge_worker.harness",
        "edge_worker.programs",
        "edge_worker.emulator.client",
        "edge_worker.emulator.process",
    },
    "edge_worker.demo": {
        "edge_worker.harness",
        "edge_worker.tools",
        "edge_worker.emulator.client",
        "edge_worker.emulator.process",
    },
    "bench": {"edge_worker.harness", "edge_worker.tools", "edge_worker.emulator"},
}


@cache
def parse(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The modules that a file imports, each `from a import b` as a and a.b; and the texts in it."""
    imports: set[str] = set()
    texts: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports.add(node.module)
            imports |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    return frozenset(imports), frozenset(texts)


def imports_of(path: Path) -> frozenset[str]:
    """The modules that a file imports, each `from a import b` as a and a.b."""
    return parse(path)[0]


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def files() -> list[Path]:
    found = sorted(path for path in SVC.rglob("*.py") if "node_modules" not in path.parts)
    assert len(found) > 30
    return found


def edge_files() -> list[Path]:
    tree = ROOT / "edge_worker"
    found = sorted(path for path in tree.rglob("*.py") if "node_modules" not in path.parts)
    assert len(found) > 30
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def is_within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def test_rooms_know_only_what_lies_below_them():
    breaches = []
    for path in files():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        room = room_of(module)
        allowed = FLOOR if room in FLOOR else MAY_IMPORT.get(room)
        if allowed is None:
            continue  # main, cli, check: the composition root knows every room
        names = [name for name in imports_of(path) if name.startswith("svc.") and room_of(name) not in allowed]
        breaches += [f"{path.relative_to(ROOT)} imports {name}" for name in names]
    assert breaches == []


def test_no_file_imports_one_that_imports_it():
    """Also not over others, and also not for types alone: a reader follows those imports, too."""
    modules = {module_of(path): path for path in files() + edge_files()}
    graph = {name: (imports_of(path) & modules.keys()) - {name} for name, path in modules.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_a_library_stays_in_the_room_that_owns_it():
    breaches = []
    for path in files():
        place = path.relative_to(ROOT).as_posix()
        for name in imports_of(path):
            owners = OWNERS.get(name.split(".")[0])
            if owners and not any(place.startswith(owner) for owner in owners):
                breaches.append(f"{place} imports {name}")
    assert breaches == []


def test_the_service_and_the_worker_do_not_import_each_other():
    for path in files():
        assert not any(is_within(name, "edge_worker") for name in imports_of(path)), path
    for path in edge_files():
        assert not any(is_within(name, "svc") or is_within(name, "tests") for name in imports_of(path)), path


def test_rooms_of_the_edge_know_only_what_lies_below_them():
    breaches = []
    modules = {module_of(path): path for path in edge_files() + sorted((ROOT / "bench").glob("*.py"))}
    for module, path in modules.items():
        room = max((room for room in EDGE_MAY_IMPORT if is_within(module, room)), key=len, default=None)
        if room is None:
            continue
        names = [name for name in imports_of(path) if is_within(name, "edge_worker") and name in modules]
        allowed = EDGE_MAY_IMPORT[room]
        breaches += [
            f"{path.relative_to(ROOT)} imports {name}"
            for name in names
            if modules[name].name != "__init__.py" and not any(is_within(name, below) for below in allowed)
        ]
    assert breaches == []


def test_the_state_of_an_account_is_written_in_one_place():
    """Where each change of it is told in the user's events (rule X12)."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in files()
        for text in parse(path)[1]
        for before_where in [re.split(r"\bwhere\b", text)[0]]
        if re.search(r"(update accounts set|insert into accounts)\b.*\bstate\b", before_where, re.DOTALL)
    }
    assert found == {"svc/store/states.py"}


def test_the_environment_and_the_wall_clock_are_read_in_one_place():
    for path in files():
        place = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        assert "os.environ" not in text or place == "svc/cli.py", place
        assert ("time.time" not in text and "datetime.now" not in text) or place == "svc/clock.py", place
