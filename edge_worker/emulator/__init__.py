"""An edge platform on one machine: its API, and the real runtime (workerd) running what was uploaded.

    python -m edge_worker.emulator [--api-port N] [--edge-port N] [--state DIR] [--run-crons | --no-runtime]

Once it answers, the first line of its output tells where its API, its edge and its control are.

Goals. Nobody can test against the real platform in a test run, and a double that says yes to everything proves
nothing. So this one runs what was uploaded, refuses what the platform refuses, loses what networks lose, and is rude
wherever the platform may be: a client that works here has not relied on luck. It is kept honest by the platform's own
tool (wrangler) and its official Python SDK, which work against it unchanged. Its sources are the platform's
documentation; "platform docs" in a comment names the page.

Rude by default, as far as that harms no right client:

    what it does                                              default   knob
    a new or rolled token is refused until it has spread       200 ms   --token-delay-ms, `token_delay_ms`
    … and then by fewer and fewer of its calls                 2 s      --token-spread-ms, `token_spread_ms`
    a token with more calls in five minutes is blocked (429)   1,200    --rate-limit, `rate_limit`, `rate_window_s`
    a right is listed under another name                       none     `renamed_right`
    a call on a zone that is not in the account is refused     403      `zone_gone` (refused, invalid, unroutable)
    a zone that is not active refuses new and changed routes   400      `inactive_zone` (refuses, forbids, accepts)
    a token gives another any right, on a single zone only …   its own  --minting, `minting` (all_zones, held, silent,
                                                                         surplus)
    one answer of the API in so many is slow                   1 in 50  --slow-one-in, `slow_one_in` (0: none)
    … by how much                                              150 ms   --slow-ms, `slow_ms`
    one call in so many is refused, though its token is good   1 in 200 --refuse-one-in, `refuse_one_in` (0: none)
    lists come in another order whenever their set changes     always
    lists come in small pages unless `per_page` asks for more  5 or 10
    an upload leaves the workers.dev address open              always
    a zone's own cache answers for any address ("cache all")   always
    a customer has the limits of the free plan                 free     `plan`, `limits` of the account
    … and no name on workers.dev, so no script can be put      none     `subdomain` of the account
    a body that looks like an attack gets the page of a        on       --no-firewall, `firewall`
    firewall, 403: SQL's `union select` and `or 1=1`, paths
    out of their folder, elements of scripts; and what
    else a pattern says                                        none     `firewall_also`
    a new cron begins to fire somewhen in                      15 min   --cron-delay-s, `cron_delay_s`
    … and one run in so many is left out                       1 in 200 --cron-missed-one-in, `cron_missed_one_in`
    the answer to an upload has no etag (with excludeScript)   always
    above the limit of crons any change of crons is refused    always
    a zone's records are grey, and lead to a website           grey     `dns` of a zone (client.proxied_zone)
    a name two labels below a full zone has no certificate     full     `type` of a zone: full, partial
    what is behind a dummy record (100::, 192.0.2.1) is none   522
    a worker's fetch reaches no address of this machine        1003     --local-egress
    a route keeps and shows what it does past the limit        shown    `ignores_fail_open`

The knobs in backquotes are control's: POST /_control/rudeness while it runs; those of an account or a zone are in POST
/_control/accounts.
What is slow or refused is drawn with a fixed seed. Tests that measure something else start it with all of these off.

Rude on demand (POST /_control/faults): the n-th call that fits is refused (with any status, code and
text: the router's 404/7003, D1's own transient failures), throttled, slowed, answered with a page of
HTML, or its connection is closed before the call is carried out or after. The same for a worker's own fetches and for
its statements to a database; at a statement the whole invocation can be ended, too, as the platform ends one that has
used up its CPU or is replaced (d1_end_before, d1_end_after): nothing comes back to it. A statement can be slow, or have
no answer at all (d1_slow, d1_silent). A visitor who hangs up ends the script's request.

It enforces the rights of a token at each call, with its status, times and addresses; conflicts of names and routes;
and the limits that the runtime alone knows nothing of: requests, rows read and written a day, 16 kB of a URL, 128 kB of
headers, 100 MB of a body that tells its length, the size of a database, databases, scripts, crons and tokens of an
account, routes of a zone, bindings and their texts, 30 seconds for what waitUntil waits for (its waits and statements,
by the real clock), 50 statements an invocation, 100 parameters and 100 kB a statement, 2 MB a value, 400 statements
that queue for a database. A script that does not start changes nothing. The clock can be moved, and days and daily
limits move with it.

Limits: what it does not do.

- Places: there is one data centre at a time and one isolate of a script. An upload of any script starts new isolates of
  all, and so does control (POST /_control/isolates, also in another data centre).
  What the platform spreads over the world within seconds or minutes is there at once: routes, configuration, crons,
  deletions (tokens excepted, see above). Databases have no replicas; a jurisdiction or a location is kept and shown.
- Many accounts: an upload starts a process with the scripts of all accounts, so a thousand accounts are a million
  starts of a script. With --no-runtime uploads are checked and kept, and nothing runs: no visits, no crons, no
  handlers; a script that would not start is taken. The API is the same, and databases answer; who plays the workers
  learns from control (POST /_control/uploads) what each is bound to.
- Cost: CPU time, memory, subrequests (but for statements) and the size of a script have no limits.
- Networks: no TLS, no HTTP/2, no DNS: the edge goes by the Host header (a visit through control is refused where no
  certificate would cover its host). Nothing runs before a worker: no redirects, rewrites, challenges, rate limits or
  firewall of the zone, no Always Use HTTPS. Which of several patterns wins is as documented, without the known bug by
  which `x*` beats `x/*`. The page 1027 comes with status 429, and 522 without its wait. Addresses at workers.dev can be
  opened and closed, and answer nothing.
- Products: no R2, Durable Objects, Queues, assets, service bindings, tails; KV is an empty list. Bindings are texts,
  secrets, JSON and databases. Scripts are modules; a deployment runs one version at 100 %.
- The API: tokens of accounts only, so whatever asks for a user is refused. Databases have no export, import or time
  travel. Analytics know five datasets, by day and at once; they are
  sampled when control says so.
- Crons: they fire by control, whenever they are named (POST /_control/cron, /crons for many at once), all that are due
  by themselves in the present minute (POST /_control/minute); with --run-crons also at each minute. One that is fired
  by control stands for its minute: what it waits for (scheduler.wait) is there at once and told as `waited_ms`, unless
  control says that it `waits`.

It listens on the loopback only, and control asks for no rights. Every secret in it is made up, and is still kept out
of logs and of the state that control shows; `uploads` alone tells those that workers are bound to.

state crons faults     what it holds; when a cron is due; what is to fail
firewall               what never gets as far as the API
runtime/               the workerd processes, their configuration, and what runs inside them beside the scripts (js/)
platform               what all handlers share
api/                   the platform's API: who may (access, rights), its form (wire), then a file for each noun
control customers      the tests' own hand on it
server                 all of it behind one port; the customers' own servers behind another
client process         the side of those who use it: its control, and starting it
"""
