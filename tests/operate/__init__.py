"""What docs/operate/ tells operators to type is run.

How to add a document, or a block of one:

- A block that is fenced as ```sh is run; what is only shown (a unit, an answer, nginx's file) is fenced as something
  else. Blocks fenced as ```toml are read as configurations, and must be good ones.
- Each document has a file here of its name, `docs/operate/first-start.md` → `tests/operate/first_start.py`, with a
  table `STEPS`: the first line of each block, in the document's order, and how it is run. A block that is in no table
  fails the tests, and so does an entry without a block: neither can be forgotten.
- How: an async function of `(place, block)` (`documents.Place`) that runs the block and looks at what came of it;
  `done`, where it is enough that it succeeds; `elsewhere("tests/x.py::test_y")`, where a test runs it that must exist;
  `by_hand("why")`, only where no test can: a running systemd, a name in public DNS.
- The steps of a document share one place and run in order, as a reader would: a folder that stands for the machine
  (`/etc/svc` and `/var/lib/svc` lie in it), `svc` on the path, and no setting but those of the document.

Whatever its step is, every block must be shell that can be read, and each `svc …` in it a command that there is.
"""
