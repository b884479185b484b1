"""The German texts of health check findings and remaining resources, for emails and the web application.

`svc/web/wire.py` exports them to the web application. The parameters in the templates are the names of facts, as in
`svc.finding` and `svc.remaining_resource`.
"""

from __future__ import annotations

from svc import finding, remaining_resource
from svc.finding import Words

_INSTALLED = "ist installiert"
_AS_UPLOADED = "ist in der Version installiert, die der Dienst hochgeladen hat"
_AS_STORED = "entspricht dem Stand des Dienstes"
_HOURLY = "kommen jede Stunde"
_FINISHED = "ist abgeschlossen"
_TO_WORKER = "führt zum Worker"
_SERVED = "zeigt Besuchern die Antwort des Workers"
_DELETED = "wurde außerhalb des Dienstes gelöscht"
_NOT_REPORTED = (
    "enthält nicht mehr alle Daten der Tabellen {tables}: Ereignisse, die gezählt, aber noch nicht gemeldet wurden,"
    " sind verloren"
)

GERMAN_FINDINGS = finding.Phrases(
    things={
        "token": "Das Arbeits-Token",
        "script": "Der Worker",
        "workers_dev": "Die Adresse des Workers auf workers.dev",
        "cron": "Der Cron-Trigger des Workers",
        "database": "Die Datenbank des Workers",
        "configuration": "Die Konfiguration des Workers",
        "reports": "Die Berichte des Workers",
        "route": "Die Route {route}",
        "routes": "Die Routen",
        "record": "Der DNS-Eintrag von {host}",
        "records": "Die DNS-Einträge",
        "zone": "Die Zone {zone}",
        "some_zone": "Die Zone",
        "connect": "Das Verbinden",
        "operation": "Der Vorgang „{operation}“",
        "link_host": "Der Link-Host {host}",
    },
    words={
        "script_deleted": Words("script", _INSTALLED, _DELETED),
        "script_replaced": Words(
            "script",
            _AS_UPLOADED,
            "trägt nicht die Kennzeichnung des Dienstes: Er wurde ersetzt oder hat seine Tags verloren",
        ),
        "script_changed": Words("script", _AS_UPLOADED, "wurde außerhalb des Dienstes geändert"),
        "script_not_known": Words(
            "script",
            _AS_UPLOADED,
            "wurde vom Dienst hochgeladen, aber in dessen Datenbank fehlen Angaben dazu",
        ),
        "script_not_installed": Words("script", _INSTALLED, "ist nicht installiert: {said}"),
        "bindings_differ": Words(
            "script", "hat die Bindings, mit denen er hochgeladen wurde", "hat andere Bindings: {bindings}"
        ),
        "cron_changed": Words("cron", "steht auf {cron}", "steht auf {found}"),
        "cron_deleted": Words("cron", "steht auf {cron}", _DELETED),
        "workers_dev_on": Words("workers_dev", "ist deaktiviert", "wurde außerhalb des Dienstes aktiviert"),
        "database_deleted": Words("database", "ist vorhanden", _DELETED),
        "tables_deleted": Words(
            "database", "hat die Tabellen des Schemas {schema}", _NOT_REPORTED, {"rows": _NOT_REPORTED}
        ),
        "configuration_newer": Words(
            "configuration",
            _AS_STORED,
            "ist neuer als der Stand des Dienstes: Dort sind Änderungen verloren gegangen",
        ),
        "configuration_older": Words(
            "configuration",
            _AS_STORED,
            "ist wieder auf Version {version} von {given}: Die Datenbank wurde außerhalb des Dienstes auf einen"
            " früheren Stand zurückgesetzt; seither gezählte, noch nicht gemeldete Ereignisse sind verloren",
        ),
        "configuration_differs": Words(
            "configuration",
            _AS_STORED,
            "hat abweichende Zeilen ({rows} von {given}): Einige wurden außerhalb des Dienstes gelöscht oder geändert",
        ),
        "reports_stopped": Words(
            "reports", _HOURLY, "bleiben aus: Cloudflare hat den Cron-Trigger seit {since} nicht ausgelöst"
        ),
        "reports_lost": Words("reports", _HOURLY, "kommen seit {since} nicht an, obwohl sein Cron-Trigger läuft"),
        "route_not_made": Words(
            "route", "ist angelegt", "ist nicht angelegt: {said}", {"unexplained": "ist noch nicht angelegt"}
        ),
        "route_deleted": Words("route", _TO_WORKER, _DELETED),
        "route_taken": Words("route", _TO_WORKER, "ist belegt: {holder}"),
        "route_gone": Words("route", _TO_WORKER, "wurde mit ihrer Zone entfernt, die nicht mehr zum Konto gehört"),
        "record_not_proxied": Words(
            "record", "läuft über den Proxy", "fehlt oder läuft nicht über den Proxy (graue Wolke)"
        ),
        "zone_inactive": Words("zone", "ist aktiv", "hat den Status {status}"),
        "token_missing": Words("token", "ist vorhanden", "fehlt"),
        "token_expired": Words("token", "ist gültig", "ist abgelaufen: {at}"),
        "token_inactive": Words("token", "ist gültig", "hat den Status {status}"),
        "right_missing": Words(
            "token",
            "hat die Berechtigung {right}",
            "hat die Berechtigung {right} nicht oder nicht für alle Ressourcen: {said}",
        ),
        "connect_cut_short": Words("connect", _FINISHED, "wurde unterbrochen"),
        "connect_waits": Words("connect", _FINISHED, "wird fortgesetzt, wenn dieselbe Anfrage erneut gesendet wird"),
        "operation_running": Words("operation", _FINISHED, "ist beim Schritt „{step}“"),
        "link_host_not_resolved": Words("link_host", _SERVED, "hat im öffentlichen DNS keine Adresse"),
        "link_host_private": Words("link_host", _SERVED, "hat im DNS die nicht öffentliche Adresse {address}"),
        "link_host_bypassed": Words("link_host", _SERVED, "antwortet nicht über Cloudflare"),
        "link_host_not_connected": Words("link_host", _SERVED, "nimmt keine Verbindungen an"),
        "link_host_not_http": Words("link_host", _SERVED, "sendet keine HTTP-Antwort"),
        "link_host_certificate": Words("link_host", _SERVED, "hat kein gültiges Zertifikat: {said}"),
        "link_host_redirected": Words(
            "link_host", _SERVED, "leitet Besucher zu {location} um, bevor sie den Worker erreichen"
        ),
        "link_host_challenged": Words("link_host", _SERVED, "zeigt eine Sicherheitsabfrage von Cloudflare"),
        "link_host_other_answer": Words(
            "link_host", _SERVED, "antwortet mit dem Status {status}, der nicht vom Worker stammt"
        ),
        "link_host_unchecked": Words("link_host", _SERVED, "ließ sich nicht prüfen: {said}"),
    },
    refused="{found}; die Reparatur wurde abgelehnt: {refusal}",
)

GERMAN_REMAINING_RESOURCES = remaining_resource.Phrases(
    kinds={
        "route": "Route {route} in der Zone von {host}: {why}.",
        "worker": "Worker {worker}: {why}.",
        "database": "D1-Datenbank {database}: {why}.",
        "uncounted_database": "D1-Datenbank {database}: Die letzten Zahlen darin waren nicht lesbar ({why}), darum"
        " wurde sie nicht gelöscht.",
        "token": "API-Token {token}: {why}.",
        "bootstrap_token": "Beim Verbinden verwendetes Bootstrap-Token: {why}.",
    },
    whys={
        "too_slow": "Cloudflare hat nicht rechtzeitig geantwortet",
        "unreachable": "Cloudflare war gestört oder nicht erreichbar",
        "daily_limit": "das heutige kostenlose Kontingent des Kontos an Datenbankzeilen ist aufgebraucht",
        "refused": "Cloudflare hat die Anfrage abgelehnt: {said}",
        "right_missing": "dem Arbeits-Token fehlt die Berechtigung",
        "token_dead": "das Arbeits-Token ist nicht mehr gültig",
        "token_missing": "der Dienst hat kein Arbeits-Token des Kontos",
        "token_unreadable": "der Dienst kann das gespeicherte Arbeits-Token nicht entschlüsseln",
        "not_ours": "nicht vom Dienst angelegt",
        "changed": "außerhalb des Dienstes geändert",
        "leads_elsewhere": "sie führt zum Worker {holder}",
        "leads_nowhere": "sie führt zu keinem Worker",
        "leads_to_not_ours": "sie führt zum Worker {holder}, wurde aber nicht vom Dienst angelegt",
        "may_be_alive": "stammt aus einem unterbrochenen Versuch und ist möglicherweise noch gültig; der Dienst darf"
        " keine Tokens löschen",
        "alive_until": "ist möglicherweise noch bis {until} gültig",
        "alive_forever": "ist möglicherweise noch gültig und hat kein Ablaufdatum",
    },
)
