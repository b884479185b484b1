"""`svc docs`: list, print or write the documentation, alert rules, dashboard and changelog of this version."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from svc.commands.arguments import add_command
from svc.commands.output import ignoring_closed_pipe

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands

# `make build` copies the documents that packaging/documents.py lists to this folder, which is in every package.
_FOLDER = Path(__file__).parents[1] / "documents"
# Descriptions of files that have no heading, by the end of their names.
_KINDS = {".yml": "alert rules for Prometheus", ".json": "dashboard for Grafana", ".png": "image"}


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    docs = add_command(
        commands, shared, "docs", "show the documentation, alert rules, dashboard and changelog of this version"
    )
    which = docs.add_mutually_exclusive_group()
    which.add_argument("page", nargs="?", metavar="PAGE", help="print this page or file (default: list all)")
    which.add_argument("--to", type=Path, metavar="FOLDER", help="write all files to this new or empty folder")
    docs.set_defaults(command=_docs, needs_config=False)


def _docs(_: object, arguments: argparse.Namespace) -> int:
    documents = _documents()
    if arguments.to is not None:
        _write(documents, arguments.to)
        print(f"{len(documents)} files are now in {arguments.to}")
        return 0
    content = _list(documents) if arguments.page is None else _find(documents, arguments.page).read_bytes()
    with ignoring_closed_pipe():  # a pager may close the pipe early
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    return 0


def _documents() -> dict[str, Path]:
    """Return all files of the folder, by their paths relative to it."""
    found = sorted(path for path in _FOLDER.rglob("*") if path.is_file())
    if not found:
        sys.exit(f"svc: {_FOLDER} does not exist; in a checkout, run: make build")
    return {path.relative_to(_FOLDER).as_posix(): path for path in found}


def _list(documents: dict[str, Path]) -> bytes:
    names = {name: name.removesuffix(".md") for name in documents}
    width = max(map(len, names.values()))
    lines = [f"{names[name]:{width}}  {_title(path)}" for name, path in documents.items()]
    end = ["", "svc docs PAGE prints a page. svc docs --to FOLDER writes all files.", ""]
    return "\n".join(lines + end).encode()


def _title(path: Path) -> str:
    if path.suffix != ".md":
        return _KINDS[path.suffix]
    with path.open(encoding="utf-8") as lines:
        return lines.readline().strip("# \n")


def _find(documents: dict[str, Path], page: str) -> Path:
    """Return the file with this path, or the only file with this name. `.md` may be omitted.

    Raises SystemExit if there is no such file, or more than one.
    """
    wanted = (page, f"{page}.md")
    found = [name for name in documents if name in wanted] or [name for name in documents if Path(name).name in wanted]
    if not found:
        sys.exit(f"svc: there is no page {page!r}; `svc docs` lists all pages")
    if len(found) > 1:
        sys.exit(f"svc: more than one page has this name: {', '.join(found)}")
    return documents[found[0]]


def _write(documents: dict[str, Path], folder: Path) -> None:
    """Copy all files into the folder. Raises SystemExit if the folder has files already, or cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            sys.exit(f"svc: {folder} is not empty; choose a new folder")
        for name, path in documents.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    except OSError as error:
        sys.exit(f"svc: cannot write the documentation: {error.strerror}: {error.filename or folder}")
