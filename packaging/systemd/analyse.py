"""`make units`: check the units with systemd-analyze, which works without a running systemd.

Fails if the exposure level of a service is above 1.5. This check is not part of the tests, because not every machine
has systemd-analyze.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
# The threshold of systemd-analyze is ten times the exposure level.
_MAX_EXPOSURE = "15"


def main() -> None:
    """Exit with status 0 if every unit passes both checks, otherwise with 1."""
    if shutil.which("systemd-analyze") is None:
        sys.exit("systemd-analyze was not found; on Debian, it is in the package systemd")
    with tempfile.TemporaryDirectory() as folder:
        units = []
        for unit in sorted(FOLDER.glob("svc*.*")):
            copy = Path(folder, unit.name)
            # `verify` checks that the program exists, but svc is not installed here.
            copy.write_text(unit.read_text().replace("/usr/bin/svc ", "/bin/true "))
            units.append(str(copy))
        subprocess.run(["systemd-analyze", "verify", *units], check=True)
        for service in (path for path in units if path.endswith(".service")):
            command = ["systemd-analyze", "security", "--offline=true", f"--threshold={_MAX_EXPOSURE}", service]
            result = subprocess.run(command, check=False, capture_output=True, text=True)
            print(result.stdout.splitlines()[-1])
            if result.returncode:
                sys.exit(result.stdout + result.stderr)


if __name__ == "__main__":
    main()
