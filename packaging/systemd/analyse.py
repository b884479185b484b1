"""`make units`: systemd's own analyser over the units, which needs no running systemd. Fails above an exposure of 1.5.

The tests read the units without it, since not every machine has it; what packages them runs this.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
# In tenths, of a hundred.
_MOST_EXPOSED = "15"


def main() -> None:
    """Exit with 0 when both agree with every unit, else with 1."""
    if shutil.which("systemd-analyze") is None:
        sys.exit("systemd-analyze is not on this machine; Debian has it in the package systemd")
    with tempfile.TemporaryDirectory() as folder:
        units = []
        for unit in sorted(FOLDER.glob("svc*.*")):
            copy = Path(folder, unit.name)
            copy.write_text(
                unit.read_text().replace("/usr/bin/svc ", "/bin/true ")
            )  # the program is not installed here
            units.append(str(copy))
        subprocess.run(["systemd-analyze", "verify", *units], check=True)
        for service in (path for path in units if path.endswith(".service")):
            asked = ["systemd-analyze", "security", "--offline=true", f"--threshold={_MOST_EXPOSED}", service]
            said = subprocess.run(asked, check=False, capture_output=True, text=True)
            print(said.stdout.splitlines()[-1])  # noqa: T201  # a command's output
            if said.returncode:
                sys.exit(said.stdout + said.stderr)


if __name__ == "__main__":
    main()
