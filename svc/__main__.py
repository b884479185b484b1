"""Run the command `svc` with `python -m svc`."""

from svc.cli import main

if __name__ == "__main__":
    main()
