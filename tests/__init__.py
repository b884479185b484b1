"""Rules that keep these tests deterministic although everything in them is real.

**Real**: the store (SQLite and PostgreSQL), the edge platform (the emulator, with the built worker in the platform's
own runtime), HTTP, processes, threads and files. There are three exceptions:

- `http/stand_in.py` replaces the actors, the platform and the reads of workers' databases in `tests/http`, where a test
  sets their answers.
- The emulator in `tests/actors` keeps uploaded workers but starts them only for tests that use `running_worker`.
- Password hashes are cheap (`cheap_passwords.py`). `test_packaging.py`, `test_main.py`, `test_systemd.py`, `operate/`
  and `artefacts/` start the service as users do, with the real hash.

No test patches the program. No test is skipped or retried. A test that fails once in a hundred runs is a defect, of the
test or of the service.

**Wall-clock time stands still.** The service reads it in one place (`svc/clock.py`) and gets it as an argument
everywhere. A test passes a `FrozenClock` (`clock.py`), which only the test moves. It shows 2026-11-21T04:00:00Z, or in
`actors/` the moment at which the test began, because the platform dates its tokens by its own clock. So no test is
overtaken by the end of an hour or a day. A service that is a process of its own (`journeys/`) has the real time. Its
visits happen in hours that are over, and no assertion depends on today's hour. In `journeys/moved_world.py` the clocks
of the service and the platform run, and are moved together.

**Trio's clock is the real one.** Trio's test clock jumps when every task waits, and a task that waits for a thread, a
process or a socket counts as waiting: a deadline of an hour would pass during a transaction. Tests use that clock only
where nothing of the kind runs, or move it by hand (`mock_clock.jump`). Elsewhere the settings that a wait consists of
are short (`crash_backoff_s`, `route_retry_s`, `drain_s`). A deadline in a test limits a failure; nothing waits for it.

**Order comes from events.** No test sleeps. A test waits for a `trio.Event` that the other side sets, for
`wait_all_tasks_blocked` where all sides are tasks of this process, or for `settled()`: the emulator's returns when no
invocation of a worker runs, the outbox's when no e-mail can leave. `eventually` polls a state of another process for at
most 90 seconds. A fault is armed for the n-th matching call, before or after the call is carried out
(`Emulator.fault`), and a kill comes at that call.

**The platform's clock belongs to the test.** The emulator moves it (`Emulator.clock`) for the workers, its days and its
daily limits together. Tests fire cron triggers by hand, for any minute; the call returns when the run has ended. The
worker's own tests begin ten minutes past noon of the platform.

**Tests do not affect each other through what they share.** The emulator and PostgreSQL start once for each process of
pytest. In the emulator each test has a customer and a zone of its own, and finds no fault and an empty log. In
PostgreSQL each test has a schema, in SQLite a file (`schemas.py`, `databases.py`). A test that kills a server or
moves the platform's clock has its own. A fixture that makes something in a shared service has the scope of the
session: pytest-xdist mixes the tests of modules, so pytest may set up a fixture of a module several times. Programs
are forks of a process that has loaded them (`edge_worker/programs.py`). Servers listen on port 0 and print their
address; a service that starts several times keeps a reserved port (`journeys/conftest.py`). Environment variables
`SVC_…` and proxies do not reach the programs that tests start.

**Chance has a seed.** One seed holds for a whole run, hypothesis included. A failed test prints the command that
repeats it alone, with that seed (`conftest.py` in the project's folder). Long tables and large numbers are sampled;
`make test-all` runs every case (`edge_worker/harness/sampling.py`, `docs/testing.md`).

**Nothing goes unnoticed.** An ERROR in the log fails the test, unless `expected_errors.allow(pattern)` expects it, and
then it must appear. Warnings are errors. A secret in a file, a table or the log fails the test (`secrecy.py`). Each
test has 180 seconds and prints the stack of every thread after 160. Tests that need longer start first.

`SVC_TEST_POSTGRES` names a PostgreSQL server to use instead of the one that the tests start.
"""
