"""Rules that keep these tests deterministic even though they use real components.

**Real**: the store (SQLite and PostgreSQL), Cloudflare (the emulator, with the built Worker in Cloudflare's own
runtime), HTTP, processes, threads and files. There are three exceptions:

- In `tests/http`, `http/stand_in.py` replaces the actors, Cloudflare and live reads of Workers' databases. The tests
  set the responses of these replacements.
- In `tests/actors`, the emulator stores uploaded Workers but starts them only for tests that use `running_worker`.
- Password hashes are cheap (`cheap_passwords.py`). `test_packaging.py`, `test_main.py`, `test_systemd.py`, `operate/`
  and `artefacts/` start the service as users do, with the real hash.

A few tests patch a limit or another value, but none replaces the program's logic. Some tests are skipped without root,
or on systems other than Linux. No test is retried, because a test that fails once in a hundred runs shows a defect in
the test or the service.

**Frozen wall clock.** Only one module of the service reads the wall clock (`svc/clock.py`). All other modules get a
clock as an argument. A test passes a `FrozenClock` (`clock.py`), which changes only when the test advances it. This
clock starts at 2026-11-21T04:00:00Z or, in `actors/`, at the emulator's current time, because the emulator timestamps
tokens with its own clock. As a result, no hour or day ends during a test. A service in a separate process
(`journeys/`) uses the real time. All visits in the tests have times in past hours, and no assertion depends on the
current hour. In `journeys/moved_world.py`, the clocks of the service and the emulator keep running, and the test moves
them together.

**Real Trio clock.** Trio's test clock jumps to the next deadline when all tasks are waiting. This includes tasks that
are waiting for a thread, a process or a socket, so a one-hour deadline would expire during a transaction. Tests use
that clock only where these waits do not occur, or they move the clock manually (`mock_clock.jump`). Elsewhere, tests
use short values for the settings that control waits (`crash_backoff_s`, `route_retry_s`, `drain_s`). A deadline in a
test only limits how long a failing test takes.

**Order by events.** No test sleeps. A test waits for a `trio.Event` that another task sets, or for `settled()`. If all
participants are tasks in the test's process, the test can also wait for `wait_all_tasks_blocked`. The emulator's
`settled()` returns once no Worker invocation is running. The outbox's `settled()` returns once no email is ready to be
sent. `eventually` polls the state of another process for at most 90 seconds. The n-th matching call triggers a fault or
a kill, before or after the call is executed (`Emulator.fault`).

**Emulated time.** A test can move the emulator's clock (`Emulator.clock`). The time in Workers follows this clock, and
daily limits are reset when a day of this clock begins. Tests fire cron triggers explicitly, for any minute, and
wait until each cron run has ended. The Worker's own tests begin at 12:10 in emulated time.

**Isolation.** The emulator and PostgreSQL start once per pytest process. Each test has its own customer and zone in the
emulator, with no faults and an empty log. Each test has its own schema in PostgreSQL, or its own file in SQLite
(`schemas.py`, `databases.py`). Tests that kill a server or move the emulator's clock use a separate instance.
pytest-xdist mixes the tests of different modules, so pytest may set up a module-scoped fixture several times. A fixture
that creates something in a shared service therefore has session scope. Tests start programs as forks of a process that
has already loaded them (`edge_worker/programs.py`). Servers listen on port 0 and print their address; a service that
starts several times keeps a reserved port (`journeys/conftest.py`). Programs started by tests inherit neither `SVC_…`
variables nor proxy settings.

**Seeded randomness.** The whole run, including Hypothesis, uses a single seed. A failed test prints the command that
repeats it alone with that seed (`conftest.py` in the project's root folder). `make test` runs a sample of long tables
and large sets of cases; `make test-all` runs all cases (`edge_worker/harness/sampling.py`,
`docs/develop/testing.md`).

**Strict checks.** An ERROR in the log fails the test, unless the test has called `expected_errors.allow(pattern)`. An
expected ERROR must appear. Warnings are errors. A secret in a file, a table or the log fails the test (`secrecy.py`).
The time limit per test is 180 seconds. After 160 seconds, the test prints the stack of every thread. Tests with a
longer time limit start first.

Set `SVC_TEST_POSTGRES` to the URL of a PostgreSQL server to use it instead of the one that the tests start.
"""
