"""Build a newer version of the Worker, for tests of updates."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from edge_worker.tools.node import node_command

_WORKER = Path(__file__).parents[1]


def build_next_bundle(folder: Path) -> None:
    """Build the current Worker into `folder`, with one additional migration. The call blocks for a few seconds."""
    with tempfile.TemporaryDirectory(prefix="next-worker-") as name:
        source = Path(name) / "src"
        shutil.copytree(_WORKER / "src", source)
        words = json.loads((source / "vocabulary.json").read_text())
        number = words["schema"] + 1
        (source / "schema" / f"{number:04}-notes.sql").write_text(
            "create table if not exists note(id integer primary key, text text not null) without rowid;\n"
            "alter table outbox add column note text not null default '';\n"
            "insert or ignore into meta(key, value) values ('noted', 0);\n"
        )
        (source / "vocabulary.json").write_text(json.dumps(words | {"schema": number}))
        subprocess.run(node_command(_WORKER / "tools/build.js", folder, source), check=True)  # noqa: S603 (our own)
