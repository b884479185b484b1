"""Measure the memory that `svc import links` uses for a large file, in a separate process."""

from __future__ import annotations

import re
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

ROWS, ADDRESS_CHARACTERS = 24_000, 2_000
# Read the peak memory from /proc: `ru_maxrss` of a child process is at least as high as that of its parent.
AT_THE_END = """
import atexit, pathlib
atexit.register(lambda: pathlib.Path("memory").write_text(pathlib.Path("/proc/self/status").read_text()))
"""


@pytest.mark.rule("X2")
def test_import_needs_less_memory_than_size_of_file(tmp_path):
    """The store's write cache takes 32 MiB, regardless of the file. An import that holds all links in memory would
    exceed the limit.
    """

    async def begin() -> str:
        path = tmp_path / "var/svc.db"
        path.parent.mkdir()
        async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{path}"))) as store:
            return await store.run(an_account())

    account = trio.run(begin)
    (tmp_path / "sitecustomize.py").write_text(AT_THE_END)
    little = peak_bytes(tmp_path, account, 1)
    assert peak_bytes(tmp_path, account, ROWS) - little < (tmp_path / "links.csv").stat().st_size


def peak_bytes(folder: Path, account: str, count: int) -> int:
    """Return the peak memory (bytes) of a dry run with `count` rows. Half of the rows are invalid."""
    with (folder / "links.csv").open("w") as file:
        file.write("code,url\n")
        schemes = ("http", "https")
        file.writelines(
            f"code-{number:08},{schemes[number % 2]}://example.com/{number:0{ADDRESS_CHARACTERS}}\n"
            for number in range(count)
        )
    response = svc_process(
        folder, "import", "links", "links.csv", "--account", account,
        PYTHONPATH=f"{folder}:{ROOT}", SVC_LIMITS_LINKS="1000000",
    )  # fmt: skip
    assert f"{count} row" in response.stdout, response.stderr
    [kib] = re.findall(r"^VmHWM:\s+([0-9]+) kB$", (folder / "memory").read_text(), re.MULTILINE)
    return int(kib) * 1024
