"""`python -m svc` is the command `svc`."""

from svc.cli import main

if __name__ == "__main__":
    main()
