"""Imports whose temporary files do not fit on the disk. A file size limit simulates a full disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from pydantic import SecretStr

from svc.config import StoreConfig
from svc.store import open_store
from tests.command_runs import ROOT, svc_process
from tests.store.makers import an_account

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_BYTES = 2 << 20
AT_THE_START = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT_BYTES}, {LIMIT_BYTES}))
"""
ROWS, LENGTH = 30_000, 200


@pytest.mark.parametrize("kind", ["links", "totals"])
def test_full_disk_is_reported_and_nothing_is_imported(tmp_path: Path, kind: str) -> None:
    account = trio.run(make_account, tmp_path)
    (tmp_path / "sitecustomize.py").write_text(AT_THE_START)
    with (tmp_path / "export.csv").open("w") as file:
        file.write("code,url\n" if kind == "links" else "kind,edge_account_id,name,target,day,views,bots,visitors\n")
        for number in range(ROWS):
            name = f"{number:0{LENGTH}}"
            file.write(
                f"c{name[-20:]},https://e.com/{name}\n" if kind == "links" else f"link,,{name},,2026-01-01,1,0,1\n"
            )
    response = svc_process(
        tmp_path, "import", kind, "export.csv", "--account", account, "--apply",
        PYTHONPATH=f"{tmp_path}:{ROOT}", SVC_LIMITS_LINKS="1000000",
    )  # fmt: skip
    message = "cannot write temporary files (disk I/O error); free disk space, or set TMPDIR to another folder"
    assert (response.returncode, response.stderr) == (1, f"svc: export.csv: {message}\n")


async def make_account(folder: Path) -> str:
    path = folder / "var/svc.db"
    path.parent.mkdir()
    async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{path}"))) as store:
        return await store.run(an_account())
