"""Copy the documents that every package contains: `python packaging/documents.py FOLDER`.

`make build` copies them to svc/documents/, from where all packages and `svc docs` take them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The place of each file or folder in a package. The last entry is copied last, because `make` uses the time of its
# copy to see whether all copies are up to date.
PACKAGED = {
    "docs/README.md": "README.md",
    "docs/use": "use",
    "docs/operate": "operate",
    "docs/develop/field-check.md": "develop/field-check.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)")


def copy_documents(folder: Path) -> None:
    """Replace `folder` with a copy of the packaged documents.

    In documents that move to another folder, links to other packaged documents are changed, and links to documents
    that are not packaged are replaced with the link text.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for source, place in _files().items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if Path(source).suffix == ".md":
            target.write_text(_relink((ROOT / source).read_text(encoding="utf-8"), source), encoding="utf-8")
        else:
            target.write_bytes((ROOT / source).read_bytes())


def _files() -> dict[str, str]:
    """Return the path of each packaged file in the checkout, with its path in a package."""
    found = {}
    for source, place in PACKAGED.items():
        path = ROOT / source
        if path.is_dir():
            files = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
            found.update({f"{source}/{name}": f"{place}/{name}" for name in files})
        else:
            found[source] = place
    return found


def _relink(text: str, source: str) -> str:
    """Return the text with links that work in the package. `source`: the document's path in the checkout."""
    files = _files()
    start = os.path.dirname(files[source])  # noqa: PTH120  # "" for the top folder, as relpath needs it

    def replace(link: re.Match[str]) -> str:
        target = os.path.normpath(Path(source).parent / link[2])
        if target not in files:
            return link[1]
        return f"[{link[1]}]({os.path.relpath(files[target], start or '.')}{link[3] or ''})"

    return _LINK.sub(replace, text)


if __name__ == "__main__":
    copy_documents(Path(sys.argv[1]))
