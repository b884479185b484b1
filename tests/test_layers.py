"""Tests of the allowed imports between packages: main → http → actors → (edge, store) → worker → model, errors."""

from __future__ import annotations

import ast
import graphlib
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SVC = ROOT / "svc"

# The packages of svc that each package may import. A module may also import from its own package, from the top-level
# modules of svc, and from svc.model. The latter two are called "svc" here, and import only each other. Packages that
# are not listed here (main, cli, commands, process, field_check) may import everything.
MAY_IMPORT: dict[str, set[str]] = {
    "svc": set(),
    "svc.worker": set(),
    "svc.security": set(),
    "svc.edge": set(),
    "svc.store": {"svc.worker"},
    "svc.german": set(),
    "svc.identity": set(),
    "svc.qr": {"svc.identity"},
    "svc.mail": {"svc.store", "svc.german", "svc.identity"},
    "svc.actors": {"svc.store", "svc.edge", "svc.worker", "svc.security"},
    "svc.api": {"svc.worker", "svc.security"},
    "svc.http": {
        "svc.api",
        "svc.actors",
        "svc.store",
        "svc.worker",
        "svc.security",
        "svc.identity",
        "svc.imports",
        "svc.qr",
    },
    "svc.web": {"svc.api", "svc.security", "svc.imports", "svc.german", "svc.identity", "svc.worker"},
    "svc.backup": {"svc.store", "svc.security"},
    "svc.imports": {"svc.api", "svc.actors", "svc.store"},
}
COMPOSITION = {"svc.main", "svc.cli", "svc.__main__", "svc.commands", "svc.process", "svc.field_check"}
# Libraries, or names in libraries, that only the listed modules may import.
OWNERS = {
    "h11": ("svc/http/serving/http1.py",),
    "quart": ("svc/http/",),
    # Handlers get their request as an argument, so only these modules may use `quart.request`.
    "quart.request": (
        "svc/http/serving/app.py",
        "svc/http/serving/gate.py",
        "svc/http/serving/request_parts.py",
    ),
    "quart_trio": ("svc/http/",),
    "hypercorn": ("svc/http/serving/http1.py", "svc/http/serving/server.py"),
    "httpx": ("svc/edge/", "svc/commands/checks/"),
    "asyncpg": ("svc/store/engines/postgres",),
    "uvloop": ("svc/store/engines/postgres/loop_thread.py",),
    "asyncio": ("svc/store/engines/postgres",),
    "sqlite3": ("svc/store/engines/sqlite", "svc/imports/temporary.py"),
    "tarfile": ("svc/backup/archive.py",),
    "prometheus_client": ("svc/metrics.py",),
    "segno": ("svc/qr/symbol.py",),
    "cryptography": ("svc/security/vault.py",),
    "smtplib": ("svc/mail/smtp.py",),
    "dns": ("svc/commands/checks/mail.py",),
    "markdown_it": ("svc/web/help/",),
    "argon2": ("svc/security/passwords.py",),
}


# Allowed imports within edge_worker and bench. If several packages of a module have an entry, that of the innermost
# package applies. The Worker's tests may import all of edge_worker.
PLAIN = {f"edge_worker.emulator.{name}" for name in ("state", "faults", "firewall", "crons")}
EDGE_MAY_IMPORT: dict[str, set[str]] = {
    **{name: set() for name in PLAIN},
    "edge_worker.emulator.runtime": PLAIN | {"edge_worker.emulator.runtime"},
    "edge_worker.emulator.platform": PLAIN | {"edge_worker.emulator.runtime"},
    "edge_worker.emulator.api": PLAIN | {f"edge_worker.emulator.{name}" for name in ("runtime", "platform", "api")},
    "edge_worker.emulator.client": set(),
    "edge_worker.emulator.process": {"edge_worker.emulator.client", "edge_worker.local_http", "edge_worker.programs"},
    "edge_worker.emulator": {"edge_worker.emulator", "edge_worker.local_http"},
    "edge_worker.tools": {"edge_worker.tools"},
    "edge_worker.programs": set(),
    "edge_worker.local_http": set(),
    "edge_worker.harness": {
        "edge_worker.harness",
        "edge_worker.local_http",
        "edge_worker.programs",
        "edge_worker.emulator.client",
        "edge_worker.emulator.process",
    },
    "edge_worker.demo": {
        "edge_worker.demo_history",
        "edge_worker.demo_links",
        "edge_worker.demo_playground",
        "edge_worker.harness",
        "edge_worker.tools",
        "edge_worker.emulator.client",
        "edge_worker.emulator.process",
    },
    "edge_worker.demo_history": set(),
    "edge_worker.demo_links": {"edge_worker.harness"},
    "edge_worker.demo_playground": {"edge_worker.harness", "edge_worker.local_http", "edge_worker.emulator.client"},
    "bench": {"edge_worker.harness", "edge_worker.local_http", "edge_worker.tools", "edge_worker.emulator"},
}

# Packages with a module for each resource or kind of data. The packages' docstrings do not list these modules.
UNLISTED = {"svc.api", "svc.http.resources", "svc.store"}


@cache
def parse(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return a file's imported modules and its string literals. `from a import b` counts as a and a.b."""
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
    """Return the modules that a file imports. `from a import b` counts as a and a.b."""
    return parse(path)[0]


def package_of(module: str) -> str:
    """Return the package of svc that a module belongs to: "svc" for svc.model and most top-level modules."""
    name = ".".join(module.split(".")[:2])
    is_package = (ROOT / name.replace(".", "/")).is_dir() and name != "svc.model"
    return name if name in COMPOSITION or is_package else "svc"


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


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_packages_import_only_lower_layers():
    breaches = []
    for path in files():
        module = module_of(path)
        package = package_of(module)
        if module == "svc" or package in COMPOSITION:
            continue
        allowed = MAY_IMPORT[package] | {package, "svc"}
        names = [name for name in imports_of(path) if name.startswith("svc.") and package_of(name) not in allowed]
        breaches += [f"{path.relative_to(ROOT)} imports {name}" for name in names]
    assert breaches == []


def test_svc_has_few_top_level_modules():
    assert len([path for path in SVC.glob("*.py") if not path.name.startswith("__")]) <= 15


def test_imports_have_no_cycles():
    """Imports through other modules and imports for type checking also count, because readers follow them as well."""
    modules = {module_of(path): path for path in files() + edge_files()}
    graph = {name: (imports_of(path) & modules.keys()) - {name} for name, path in modules.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


def test_web_application_has_no_import_cycles():
    """Only static imports count, because dynamic imports run after the modules are loaded."""
    source = SVC / "web" / "src"
    pattern = re.compile(r'^(?:import|export)\b(?:[^;"]*?\bfrom)?\s*"(\.[^"]+)"', re.MULTILINE)
    modules = [path for path in source.rglob("*.js*") if path.suffix in {".js", ".jsx"}]
    graph = {path: {(path.parent / name).resolve() for name in pattern.findall(path.read_text())} for path in modules}
    assert len(graph) > 200
    assert sum(len(imported) for imported in graph.values()) > 800
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


def test_package_docstrings_list_all_files():
    """A line such as `client, tls  sends requests` lists files. Names in backticks in its description also count."""
    breaches = []
    lists = 0
    for path in files():
        text = ast.get_docstring(ast.parse(path.read_text())) if path.name == "__init__.py" else None
        entries = re.findall(r"^ *(\w+(?:, \w+)*)(?:  +\S.*)?$", text or "", re.MULTILINE)
        if not entries:
            continue
        lists += 1
        folder = path.parent
        listed = {name for entry in entries for name in entry.split(", ")}
        unknown = {name for name in listed if not (folder / name).is_dir() and not (folder / f"{name}.py").is_file()}
        breaches += [f"{module_of(path)} lists {name}, which does not exist" for name in sorted(unknown)]
        if module_of(path) in UNLISTED:
            continue
        modules = {file.stem for file in folder.glob("*.py") if not file.name.startswith("__")}
        modules |= {file.parent.name for file in folder.glob("*/__init__.py")}
        missing = modules - listed - set(re.findall(r"`(\w+)`", text or ""))
        breaches += [f"{module_of(path)} does not list {name}" for name in sorted(missing)]
    assert lists > 15
    assert breaches == []


def test_libraries_are_used_only_by_their_owner():
    breaches = []
    for path in files():
        place = path.relative_to(ROOT).as_posix()
        for name in imports_of(path):
            owners = OWNERS.get(name) or OWNERS.get(name.split(".")[0])
            if owners and not any(place.startswith(owner) for owner in owners):
                breaches.append(f"{place} imports {name}")
    assert breaches == []


def test_service_and_worker_do_not_import_each_other():
    for path in files():
        assert not any(is_within(name, "edge_worker") for name in imports_of(path)), path
    for path in edge_files():
        assert not any(is_within(name, "svc") or is_within(name, "tests") for name in imports_of(path)), path


def test_edge_worker_packages_import_only_lower_layers():
    breaches = []
    modules = {module_of(path): path for path in edge_files() + sorted((ROOT / "bench").glob("*.py"))}
    for module, path in modules.items():
        package = max((name for name in EDGE_MAY_IMPORT if is_within(module, name)), key=len, default=None)
        if package is None:
            continue
        names = [name for name in imports_of(path) if is_within(name, "edge_worker") and name in modules]
        allowed = EDGE_MAY_IMPORT[package]
        breaches += [
            f"{path.relative_to(ROOT)} imports {name}"
            for name in names
            if modules[name].name != "__init__.py" and not any(is_within(name, below) for below in allowed)
        ]
    assert breaches == []


def test_account_state_is_written_in_one_module():
    """The only module that may write the state also records each state change in the user's events (rule X12)."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in files()
        for text in parse(path)[1]
        for before_where in [re.split(r"\bwhere\b", text)[0]]
        if re.search(r"(update accounts set|insert into accounts)\b.*\bstate\b", before_where, re.DOTALL)
    }
    assert found == {"svc/store/states.py"}


def test_environment_and_wall_clock_are_read_in_one_module():
    for path in files():
        place = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        assert "os.environ" not in text or place == "svc/cli.py", place
        assert ("time.time" not in text and "datetime.now" not in text) or place == "svc/clock.py", place
