"""Tests that run the commands in docs/operate/.

To add a document or a block:

- Blocks fenced as ```sh are run. Use another language for blocks that are only shown, such as units or output. Blocks
  fenced as ```toml must be valid configurations.
- Each document has a module here, such as `tests/operate/first_start.py` for `docs/operate/first-start.md`. Its table
  `STEPS` has the first line of each block, in the order of the document, and how to run it. The tests fail if a block
  has no entry, or an entry has no block.
- An entry is an async function of `(place, block)` (`documents.Place`) that runs the block and checks the result; or
  `done`, if success is enough; or `elsewhere("tests/x.py::test_y")`, if another test runs it; or `by_hand("why")`, only
  if no test can run it because it needs, for example, a running systemd or a name in public DNS.
- The steps of a document run in order and share a folder that represents the machine. It contains `/etc/svc` and
  `/var/lib/svc`; `svc` is on the path, and only the settings of the document are set.

All blocks must be valid shell, and each `svc …` command in them must exist.
"""
