"""Runs the command `svc` if the package is run with `python -m svc`."""

from svc.cli import main

if __name__ == "__main__":
    main()
