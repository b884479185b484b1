"""Which room may know which: main → http → actors → (edge, store) → worker → model, errors. This draws it."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SVC = ROOT / "svc"

# Known by every room; they know only each other.
FLOOR = {
    "svc.model",
    "svc.errors",
    "svc.faults",
    "svc.ids",
    "svc.limits",
    "svc.clock",
    "svc.config",
    "svc.emails",
    "svc.vault",
    "svc.worker",
}
MAY_IMPORT = {
    "svc.store": FLOOR | {"svc.store"},
    "svc.edge": FLOOR | {"svc.edge"},
    "svc.actors": FLOOR | {"svc.store", "svc.edge", "svc.actors"},
    "svc.http": FLOOR | {"svc.store", "svc.actors", "svc.http", "svc.mail", "svc.passwords"},
    "svc.mail": FLOOR,
    "svc.passwords": FLOOR,
}
# A library belongs to one room.
OWNERS = {
    "h11": ("svc/http/server.py",),
    "quart": ("svc/http/",),
    "quart_trio": ("svc/http/",),
    "hypercorn": ("svc/http/server.py",),
    "httpx": ("svc/edge/",),
    "asyncpg": ("svc/store/postgres.py",),
    "asyncio": ("svc/store/postgres.py",),
    "sqlite3": ("svc/store/sqlite.py",),
    "segno": ("svc/http/qr.py",),
    "cryptography": ("svc/vault.py",),
    "argon2": ("svc/passwords.py",),
}


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports, each `from a import b` as a and a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def files() -> list[Path]:
    found = sorted(SVC.rglob("*.py"))
    assert len(found) > 30
    return found


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
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files()
    }
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
        assert not any(name.startswith("edge_worker") for name in imports_of(path)), path
    emulator = sorted((ROOT / "edge_worker" / "emulator").rglob("*.py"))
    assert emulator
    for path in emulator:
        assert not any(name.split(".")[0] == "svc" for name in imports_of(path)), path


def test_the_environment_and_the_wall_clock_are_read_in_one_place():
    for path in files():
        place = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        assert "os.environ" not in text or place == "svc/cli.py", place
        assert ("time.time" not in text and "datetime.now" not in text) or place == "svc/clock.py", place
