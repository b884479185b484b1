"""How these tests stay deterministic, though everything in them is real.

Real are the store (each test of it runs on SQLite and on PostgreSQL), the edge platform (the emulator, with the built
worker in the runtime that the platform uses), HTTP, processes, threads and files. There is one stand-in, of the actors
for the HTTP tests (`http/stand_in.py`), because there the answer of an actor is what a test sets. Nothing is patched
and nothing is skipped; one thing is cheaper than it is, the hash of a password (`cheap_passwords.py`), but not in the
services that `web/` and the tests of commands start. What is real has its own speed, so nothing may depend on speed;
and a test that fails once in a hundred runs is a defect, of the test or of the service.

Wall-clock time stands still. The service reads it in one place (`svc/clock.py`) and is handed it everywhere, so a test
hands it a `FrozenClock` (`clock.py`): it is always 2026-11-21T04:00:00Z, or in `actors/` the moment at which the test
began, as the platform dates its tokens by its own clock. Only the test moves it, with `advance_s`. Thus no test is
overtaken by the end of an hour or a day. A service that is a process of its own (`journeys/`) has the real time; what
is counted there happens in hours that are over by then, and a test takes the end of an hour meanwhile into account. In
`journeys/moved_world.py` the service's clock and the platform's go on by themselves, and are moved together.

Trio's clock is the real one. Trio's own clock for tests jumps when every task waits, and to Trio a task that waits for
a thread, a process or a socket waits like any other: a deadline of an hour would pass during a transaction. It is used
where nothing of that kind runs, or moved by hand (`mock_clock.jump`) once a mail server is known to hang. Elsewhere the
settings that a wait is made of are made short (`crash_backoff_s`, `route_retry_s`, `drain_s`, `first_wait_s`), and a
deadline that a test sets itself is a limit for a failure, never a time that is waited for.

Order comes from events. No test sleeps. It waits for what it needs: for a `trio.Event` that the other side sets, for
`wait_all_tasks_blocked` where all sides are tasks of this process, for `settled()`: that of the emulator returns when
no invocation of a worker runs, waitUntil work included, that of the outbox when no e-mail can leave. What settles
in another process is asked for until it is there, for a minute at the most (`eventually`). To be in the middle of
something is not a matter of luck either: a fault is armed for the n-th call that fits, before it is carried out or
after (`Emulator.fault`), and a kill comes at that call.

The platform's clock is the test's. The emulator moves it (`Emulator.clock`) for the workers, its own days and its daily
limits together. Crons are fired by hand, as of any minute, and a call returns when all work of the run has ended; no
cron runs by itself. The worker's own tests begin ten minutes past noon of the platform, far from the end of any hour.

What tests share, they cannot feel. The emulator and PostgreSQL are started once for each process of pytest. In the
emulator each test has a customer and a zone of its own, and finds no fault and an empty log; the tests that move the
clock start an emulator of their own. In PostgreSQL each test has a schema, in SQLite a file; a schema is used again
where it is as a new one (`schemas.py`). A test that kills a server has its own. A service and an emulator that a test
starts are processes of its own, but forks of one that has loaded both (`edge_worker/programs.py`), as that takes more
than most tests; `test_packaging.py` and `web/` start the service as anybody does. Servers listen on port 0 and tell
their address once they answer. Environment variables `SVC_…` do not
reach the processes that tests start; proxies of the environment are not used.

Chance has a seed. Hits, cancellations and orders are drawn from `random.Random(number)`. Where every run is to try
something else (hypothesis, the hostile connections), the failure prints what makes it again.

What nobody looks at fails by itself. An ERROR in the log fails the test that caused it, unless
`expected_errors.allow(pattern)` expects it, and then it must come (`conftest.py`). Warnings are errors. Every test has
180 seconds of real time, and shows where all its threads stand after 160; those that ask for more begin first, so that
none of them goes on alone in the end.

What takes long is sampled: `make test` runs some of all kill points, faults and sizes, others each time, and
`make test-all` (SVC_TEST_ALL) runs every one (`edge_worker/harness/sampling.py`, `tests/engines.py`). `SVC_TEST_SEED`
repeats what a run has drawn; a failed test prints the command that runs it alone. `SVC_TEST_POSTGRES` names a
PostgreSQL to use instead of the one that the tests start.
"""
