"""Tests that run the commands in docs/operate/.

To add a document or a block:

- The tests run blocks that are fenced as ```sh. Use another language for blocks that are only shown, such as units or
  output. Blocks fenced as ```toml must be valid configurations.
- Each document has a module here, such as `tests/operate/first_start.py` for `docs/operate/first-start.md`. The table
  `STEPS` in that module maps the first line of each block to its step, in the order of the document. The tests fail if
  a block has no step, or a step has no block.
- A step is one of:
  - an async function of `(place, block)` (`documents.Place`), which runs the block and checks the result
  - `done`, if the block only has to succeed
  - `elsewhere("tests/x.py::test_y")`, if another test runs the block
  - `by_hand("why")`, only if no test can run the block, for example because it needs a running systemd or a name in
    public DNS
- The steps of a document run in order and share a folder that represents the machine. It contains `/etc/svc` and
  `/var/lib/svc`. `svc` is on the path, and no settings are set except those of the document.

All blocks must be valid shell, and each `svc …` command in them must exist.
"""
