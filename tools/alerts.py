"""The alerts in docs/operate/prometheus/svc.rules.yml, which `python -m tools.dashboard` writes.

There are alerts for problems that users notice, and for problems that do not resolve automatically. The thresholds are
so high that an unusual value fires no alert as long as it affects no user.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Alert:
    """An alert.

    `urgency`: `urgent` if users are affected now, or `soon` if the problem can wait until the morning. `wait`: the time
    before the alert fires, in Prometheus syntax. `means`, `do`: what has happened, and what to do.
    """

    name: str
    urgency: Literal["urgent", "soon"]
    wait: str
    expression: str
    means: str
    do: str


def _share(part: str, of: str) -> str:
    """Return the PromQL expression for the share of a counter's rate that comes from series with the labels `part`."""
    return f"sum by (instance) (rate({of}{part}[10m])) / sum by (instance) (rate({of}[10m]))"


def _quantile(share: float, metric: str, window: str = "10m") -> str:
    return f"histogram_quantile({share}, sum by (instance, le) (rate({metric}_bucket[{window}])))"


_REQUESTS, _CALLS = "svc_http_request_seconds_count", "svc_platform_call_seconds_count"

ALERTS = (
    Alert(
        "SvcDown",
        "urgent",
        "2m",
        'up{job="svc"} == 0',
        "The service does not respond to metrics requests.",
        "Check whether the service is running: systemctl status svc, journalctl -u svc.",
    ),
    Alert(
        "SvcStoreAway",
        "urgent",
        "2m",
        "svc_store_up == 0",
        "The store cannot be read or written; requests get 503, and Workers keep their counts and send them later.",
        "Check that the database is running and its disk has free space; svc check shows the cause.",
    ),
    Alert(
        "SvcRequestsFail",
        "urgent",
        "10m",
        _share('{status="5xx"}', _REQUESTS) + " > 0.02",
        "More than 2% of requests fail.",
        "Check the failed requests in the log, and the error codes in svc_http_errors_total.",
    ),
    Alert(
        "SvcConnectionsFull",
        "urgent",
        "5m",
        "svc_http_connections > 0.9 * svc_http_connections_limit",
        "Nearly all connections are in use; at the limit, the service closes an inactive connection for each new one.",
        "Check in the proxy's log which clients are connected; raise [http] connections and the limit on open files.",
    ),
    Alert(
        "SvcLoopLag",
        "urgent",
        "10m",
        f"{_quantile(0.99, 'svc_loop_lag_seconds')} > 0.25",
        "Requests and tasks are delayed by a quarter of a second.",
        "Check the CPU usage of the service and of other processes on the machine.",
    ),
    Alert(
        "SvcErrorsLogged",
        "soon",
        "0m",
        'increase(svc_log_lines_total{level="error"}[15m]) > 0',
        "The log contains errors, which indicate faults.",
        "Read them: journalctl -u svc -p err.",
    ),
    Alert(
        "SvcAccountsCrash",
        "soon",
        "0m",
        "increase(svc_actor_crashes_total[15m]) > 0",
        "The actor (task) of an account has crashed; the service restarts it after increasing delays.",
        "Search the log for the traceback and the account's id in edge_account.",
    ),
    Alert(
        "SvcWorkLate",
        "soon",
        "10m",
        f"{_quantile(0.99, 'svc_due_late_seconds')} > 60",
        "Scheduled work of accounts starts more than a minute late.",
        "Check the event loop lag, and how many calls to Cloudflare's API are waiting.",
    ),
    Alert(
        "SvcPushesLate",
        "soon",
        "30m",
        f"{_quantile(0.95, 'svc_push_lag_seconds', '1h')} > 7200",
        "Workers send totals that are more than two hours old, so reports are outdated.",
        "Check whether the Workers can reach the service: certificate, proxy, bot protection (docs/operate/tls.md).",
    ),
    Alert(
        "SvcAccountsBehind",
        "soon",
        "30m",
        "svc_accounts_behind > 3 and svc_accounts_behind > 1.2 * svc_accounts_behind offset 2h",
        "A growing number of accounts have totals that are more than two hours old.",
        "Follow the alert SvcPushesLate; if the accounts belong to one user, their warnings give the cause.",
    ),
    Alert(
        "SvcAccountsSilent",
        "soon",
        "1h",
        'svc_accounts{state="no_connection"} > 3'
        ' and svc_accounts{state="no_connection"} > 1.2 * svc_accounts{state="no_connection"} offset 1d',
        "A growing number of Workers have not pushed for 26 hours.",
        "Check whether the Workers can reach the service, and whether Cloudflare has an incident.",
    ),
    Alert(
        "SvcConfigurationsBehind",
        "soon",
        "1h",
        "svc_sync_behind > 0",
        "At least one Worker has lacked the newest changes to sites and links for an hour.",
        "Search the log for 'sync delayed' and 'sync waits for midnight', which give the account and the cause.",
    ),
    Alert(
        "SvcPlatformThrottles",
        "soon",
        "15m",
        _share('{outcome="throttled"}', _CALLS) + " > 0.01",
        "Cloudflare throttles more than 1% of the calls to its API.",
        "Check svc_platform_held_back_total, and whether another program uses the same tokens or IP address.",
    ),
    Alert(
        "SvcPlatformFails",
        "soon",
        "15m",
        _share('{outcome=~"unavailable|unknown"}', _CALLS) + " > 0.2",
        "More than a fifth of the calls to Cloudflare's API fail; changes are delayed.",
        "Check Cloudflare's status page; the service retries scheduled work, but users must repeat failed requests.",
    ),
    Alert(
        "SvcRolloutHalted",
        "soon",
        "1m",
        'svc_rollout_state{state="halted"} == 1',
        "The Worker rollout is halted; Workers that were not updated keep counting.",
        "svc rollout status shows the cause; svc rollout resume continues the rollout (docs/operate/upgrade.md).",
    ),
    Alert(
        "SvcMailWaits",
        "soon",
        "10m",
        "svc_mail_untried_seconds > 3600",
        "The service has not tried to send an email for an hour; users may be unable to confirm an address or reset a"
        " password.",
        "Run svc check, which tests the connection to the mail server.",
    ),
    Alert(
        "SvcMailRejected",
        "soon",
        "1h",
        "svc_mail_waiting > 2 and on (instance)"
        ' sum by (instance) (increase(svc_mail_tries_total{outcome="sent"}[1h])) == 0',
        "Several emails are waiting, and the mail server has accepted none for an hour; it may reject the service.",
        "Run svc check, which shows the errors; see docs/operate/mail.md.",
    ),
    Alert(
        "SvcBackupOld",
        "soon",
        "1h",
        "svc_backup_age_seconds > 172800",
        "The last successful backup is more than two days old.",
        "Run svc backup, and check the timer: systemctl status svc-backup.timer (docs/operate/backup.md).",
    ),
    Alert(
        "SvcFilesFew",
        "soon",
        "10m",
        "process_open_fds > 0.8 * process_max_fds",
        "The process has nearly reached its limit on open files.",
        "Raise LimitNOFILE in the systemd unit.",
    ),
)


def rules_text() -> str:
    """Return the content of the rules file."""
    lines = ["# Made by python -m tools.dashboard.", "groups:", "  - name: svc", "    rules:"]
    for alert in ALERTS:
        lines += [
            f"      - alert: {alert.name}",
            f"        expr: {json.dumps(alert.expression)}",
            f"        for: {alert.wait}",
            f"        labels: {{severity: {alert.urgency}}}",
            f"        annotations: {{summary: {json.dumps(alert.means)}, description: {json.dumps(alert.do)}}}",
        ]
    return "\n".join(lines) + "\n"
