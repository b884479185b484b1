"""Rules that keep these tests deterministic although they use real components.

**Real**: the store (SQLite and PostgreSQL), Cloudflare (the emulator, with the built worker in Cloudflare's own
runtime), HTTP, processes, threads and files. There are three exceptions:

- `http/stand_in.py` replaces the actors, Cloudflare and the reads of workers' databases in `tests/http`, where a test
  sets their responses.
- The emulator in `tests/actors` stores uploaded workers but starts them only for tests that use `running_worker`.
- Password hashes are cheap (`cheap_passwords.py`). `test_packaging.py`, `test_main.py`, `test_systemd.py`, `operate/`
  and `artefacts/` start the service as users do, with the real hash.

No test patches the program. No test is skipped or retried. If a test fails once in a hundred runs, the test or the
service has a defect.

**Frozen wall clock.** The service reads the wall clock in one module (`svc/clock.py`) and receives it as an argument
everywhere else. A test passes a `FrozenClock` (`clock.py`), which only the test moves. It shows 2026-11-21T04:00:00Z.
In `actors/` it shows the start time of the test, because the emulator dates tokens by its own clock. No hour or day
therefore ends during a test. A service in a separate process (`journeys/`) uses the real time. Its visits are in past
hours, and no assertion depends on the current hour. In `journeys/moved_world.py`, the clocks of the service and the
emulator run, and the test moves them together.

**Real Trio clock.** Trio's test clock jumps when all tasks wait. A task that waits for a thread, a process or a socket
counts as waiting, so a deadline of an hour would pass during a transaction. Tests use that clock only where these waits
do not occur, or move the clock manually (`mock_clock.jump`). Elsewhere the settings for waits are short
(`crash_backoff_s`, `route_retry_s`, `drain_s`). A deadline in a test only limits how long a failing test takes.

**Order by events.** No test sleeps. A test waits for a `trio.Event` that the other side sets, for
`wait_all_tasks_blocked` if all sides are tasks of this process, or for `settled()`. The emulator's `settled()` returns
when no invocation of a worker is running, and the outbox's when no e-mail can be sent. `eventually` polls the state of
another process for at most 90 seconds. Faults and kills are triggered by the n-th matching call, before or after its
execution (`Emulator.fault`).

**Emulated time.** A test can move the emulator's clock (`Emulator.clock`), which applies to workers, days and daily
limits. Tests fire cron triggers explicitly, for any minute; the call returns when the run has ended. The worker's own
tests begin at 12:10 of emulated time.

**Isolation.** The emulator and PostgreSQL start once per pytest process. Each test has its own customer and zone in the
emulator, without faults and with an empty log. In PostgreSQL each test has a schema, in SQLite a file (`schemas.py`,
`databases.py`). Tests that kill a server or move the emulator's clock have a separate instance. A fixture that creates
something in a shared service has session scope, because pytest-xdist mixes the tests of modules, and pytest may
therefore set up a module-scoped fixture several times. Programs are forks of a process that has loaded them
(`edge_worker/programs.py`). Servers listen on port 0 and print their address; a service that starts several times keeps
a reserved port (`journeys/conftest.py`). Programs started by tests do not inherit `SVC_…` variables and proxies.

**Seeded randomness.** One seed applies to a whole run, including hypothesis. A failed test prints the command that
repeats it alone with that seed (`conftest.py` in the project's folder). Long tables and large numbers are sampled;
`make test-all` runs all cases (`edge_worker/harness/sampling.py`, `docs/develop/testing.md`).

**Strict checks.** An ERROR in the log fails the test, unless `expected_errors.allow(pattern)` expects it. An expected
ERROR must appear. Warnings are errors. A secret in a file, a table or the log fails the test (`secrecy.py`). Each test
has 180 seconds, and prints the stack of every thread after 160. Tests that need longer start first.

`SVC_TEST_POSTGRES` names a PostgreSQL server to use instead of the one that the tests start.
"""
