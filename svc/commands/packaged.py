"""The files of the Debian package that `svc init` depends on."""

from __future__ import annotations

from pathlib import Path

CONFIG = Path("/etc/svc/config.toml")
DATA = Path("/var/lib/svc")
UNIT = Path("/usr/lib/systemd/system/svc.service")


def is_used_by_units(config_file: Path) -> bool:
    """Return True if the package's systemd units read this configuration file."""
    return config_file == CONFIG and UNIT.exists()


def allow_writes(folder: Path) -> str:
    """Return how to let the package's systemd units write to a data folder outside `DATA`.

    The units have `ProtectSystem=strict`, so they can write only to their state folder, which is `DATA`.
    """
    return (
        f"the systemd units can write only to {DATA}. Run `systemctl edit svc.service` and `systemctl edit\n"
        "  svc-backup.service`, and enter these lines in both:\n"
        f"    [Service]\n    ReadWritePaths={folder}"
    )
