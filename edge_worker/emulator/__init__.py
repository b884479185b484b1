"""A Cloudflare emulator: the API, and the real runtime (workerd), which runs the uploaded scripts.

"The platform" means Cloudflare.

    python -m edge_worker.emulator [--api-port N] [--edge-port N] [--state DIR] [--run-crons | --no-runtime]

Once the API, the edge and the control interface accept requests, the emulator prints their URLs as its first line of
output.

Goals. Automated tests cannot use the real platform, and a mock that accepts every call proves nothing. The emulator
therefore runs the uploaded scripts, rejects the calls that the platform rejects, and simulates lost connections and
delays. It is strict wherever the platform might be strict, so that a client that works with the emulator also works
with the platform. To keep the emulator accurate, tests run the platform's own tool (wrangler) and its official Python
SDK against it, both unchanged. The emulator follows the platform's documentation. Comments that begin with
"Cloudflare docs" name the page.

By default, the emulator behaves in the following strict ways, which correct clients tolerate:

    behavior                                                   default   setting
    a new or rolled token is rejected until it has spread      200 ms   --token-delay-ms, `token_delay_ms`
    … and then a decreasing share of its calls is rejected     2 s      --token-spread-ms, `token_spread_ms`
    a token above this number of calls in five minutes is      1,200    --rate-limit, `rate_limit`, `rate_window_s`
    blocked (429)
    a permission is listed under another name                  none     `renamed_permission`
    error for a call on a zone outside the account             403      `zone_gone` (refused, invalid, unroutable)
    error for a new or changed route in an inactive zone       400      `inactive_zone` (refuses, forbids, accepts)
    on a single zone, a token can grant only permissions that  yes      --minting, `minting` (all_zones, held, silent,
    it has itself                                                       surplus)
    share of slow API responses                                1 in 50  --slow-one-in, `slow_one_in` (0: none)
    … and their delay                                          150 ms   --slow-ms, `slow_ms`
    share of calls rejected despite a valid token              1 in 200 --refuse-one-in, `refuse_one_in` (0: none)
    the order of a list changes whenever its items change      always
    lists have small pages unless `per_page` asks for more     5 or 10
    an upload enables the script's workers.dev address         always
    a zone's default cache serves any URL (cache everything)   always
    a customer has the limits of the free plan                 free     `plan`, `limits` of the account
    … and no workers.dev subdomain, so uploads fail            none     `subdomain` of the account
    firewall page (403) for a body that resembles an attack:   on       --no-firewall, `firewall`
    SQL such as `union select` and `or 1=1`, path
    traversal, script elements; additional patterns            none     `firewall_also`
    a new cron starts within                                   15 min   --cron-delay-s, `cron_delay_s`
    … and this share of runs is skipped                        1 in 200 --cron-missed-one-in, `cron_missed_one_in`
    the response to an upload has no etag (excludeScript)      always
    above the cron limit, any change to crons is rejected      always
    a zone's records are not proxied and serve a website       grey     `dns` of a zone (client.proxied_zone)
    names two levels below a full zone have no certificate     full     `type` of a zone: full, partial
    status for names with a dummy record (100::, 192.0.2.1)    522
    a Worker's fetch cannot reach this host                    1003     --local-egress
    a route stores and shows `request_limit_fail_open`         shown    `ignores_fail_open`

The settings in backticks can be changed at run time (POST /_control/failure-settings). Settings of an account or a
zone are changed with POST /_control/accounts. Slow and rejected calls are chosen at random with a fixed seed. Tests
that do not need such failures turn them off.

Tests can also request failures (POST /_control/faults), which apply to the n-th matching call. The call can be rejected
with any status, code and text, such as the router's 404/7003 or D1's transient errors. It can also be throttled or
delayed, held until the faults are cleared, or get an HTML page as its response. Its connection can be closed before or
after the call is executed. The same faults can be set for a Worker's own fetches and for its database statements. A
statement can also end the whole invocation (d1_end_before, d1_end_after), which then receives no further results. The
platform does this if the invocation has used up its CPU time or the Worker is replaced. A statement can also be slow,
or get no response at all (d1_slow, d1_silent). When a visitor disconnects, the script's work on the request is
canceled.

For each call, the emulator checks the token's permissions, status, validity period and allowed addresses, and rejects
conflicting names and routes. If an uploaded script does not start, the emulator keeps the previous version. The clock
can be moved, which also moves days and daily limits. The emulator also enforces these limits of the platform, which
workerd does not enforce:

- per request: 16 kB per URL, 128 kB of headers, 100 MB for a body with a Content-Length
- per invocation: 50 statements, and 30 seconds for waitUntil (its waits and statements, in real time)
- per statement: 100 parameters and 100 kB; 2 MB per value; 400 queued statements per database
- per account: databases and their sizes, scripts, crons, tokens, and the requests and rows read and written per day
- routes per zone
- per script: the number of bindings, and the size of each text binding

Limitations:

- Locations: there is one data center at a time, and one isolate per script. An upload of any script starts new isolates
  of all scripts. POST /_control/isolates does the same, optionally in another data center. Changes that the platform
  distributes within seconds or minutes take effect immediately: routes, configuration, crons, deletions (except tokens,
  see above). Databases have no replicas. A database's jurisdiction or location is only stored and shown.
- Many accounts: an upload starts a process with the scripts of all accounts, so a thousand accounts need about a
  million script starts. With --no-runtime, uploads are checked and stored but not executed: no visits, no crons, no
  handlers, and a script that would not start is accepted. The API does not change, and databases work. A program that
  acts as the Workers gets each Worker's bindings from POST /_control/uploads.
- Cost: CPU time, memory, subrequests (except statements) and script size have no limits.
- Networks: no TLS, no HTTP/2, no DNS. The edge uses the Host header. A visit through the control interface is rejected
  if no certificate would cover its host. A rule of a zone (`front_rules`) can redirect, challenge or block all requests
  to a host, or answer them with a page. Other features that run before a Worker do not exist: rewrites, rate limits,
  managed rules, Always Use HTTPS. The route with the most specific pattern wins, as documented, without the platform's
  known bug that `x*` takes precedence over `x/*`. Error page 1027 has status 429, and 522 is returned without a delay.
  workers.dev addresses can be enabled and disabled, but do not respond.
- Products: no R2, Durable Objects, Queues, assets, service bindings, tails; KV is an empty list. Bindings are texts,
  secrets, JSON and databases. Scripts are modules; a deployment runs one version at 100%.
- The API: account tokens only, so calls that need a user are rejected. Databases have no export, import or time
  travel. Analytics have five datasets by day, without delay, and are sampled only if a call to the control interface
  requests this.
- Crons: a cron fires when a call to the control interface names it (POST /_control/cron, or /crons for several). POST
  /_control/minute fires all crons that are due in the current minute. With --run-crons, the emulator also fires due
  crons every minute. In a cron that the control interface fires, waits (scheduler.wait) return immediately, and
  `waited_ms` reports their total. With `waits`, they take real time.

The emulator listens only on the loopback interface, so the control interface needs no authentication. Logs and the
state that the control interface returns contain no secrets, although all secrets are invented. Only `uploads` returns
the secrets that are bound to Workers.

state crons faults     stored data; schedule of crons; injected failures
firewall               requests that never reach the API
runtime/               the workerd processes, their configuration, and the code that runs next to the scripts (js/)
platform               state shared by all handlers
api/                   the platform's API: authorization (access, permissions), format (wire), one file per resource
control customers      the control interface for tests
server                 serves both interfaces on one port, and the customers' origin servers on another
client process         for users of the emulator: a client for its control interface, and a function that starts it
"""
