"""The German texts of all error codes, for emails and the web application.

The API responds in English (`svc.errors`). `svc/web/wire.py` exports these texts to the web application, so that emails
and pages use the same texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import Code


class GermanMeaning(NamedTuple):
    """The German texts of an error code. `remedy` says what to do."""

    message: str
    remedy: str | None = None


_CONTACT_OPERATOR = "Wenden Sie sich an den Betreiber."
_TRY_AGAIN = "Versuchen Sie es erneut. Wenn das Problem weiterhin besteht, wenden Sie sich an den Betreiber."
_RENEW = "Erneuern Sie es mit einem neuen Bootstrap-Token."

GERMAN_ERRORS: Mapping[Code, GermanMeaning] = {
    "invalid_request": GermanMeaning("Einige Eingaben sind ungültig."),
    "unauthorized": GermanMeaning("Sie sind nicht mehr angemeldet.", "Melden Sie sich erneut an."),
    "scope_required": GermanMeaning(
        "Dem API-Schlüssel fehlt die nötige Berechtigung.", "Erstellen Sie einen Schlüssel mit dieser Berechtigung."
    ),
    "session_required": GermanMeaning(
        "Das geht nur in einer Sitzung, nicht mit einem API-Schlüssel.", "Melden Sie sich an."
    ),
    "user_disabled": GermanMeaning("Der Betreiber hat diesen Benutzer gesperrt.", "Wenden Sie sich an den Betreiber."),
    "sign_up_closed": GermanMeaning(
        "Der Betreiber hat die Registrierung eingeschränkt, oder die Einladung gilt nicht für diese E-Mail-Adresse.",
        "Bitten Sie den Betreiber um eine Einladung. Sie gilt nur einmal, für eine Adresse und bis zum Ablaufdatum.",
    ),
    "link_disabled": GermanMeaning(
        "Der Betreiber hat den Link mit diesem Code gesperrt.", "Wenden Sie sich an den Betreiber."
    ),
    "site_disabled": GermanMeaning(
        "Der Betreiber hat die Website mit diesem Host gesperrt.", "Wenden Sie sich an den Betreiber."
    ),
    "email_unconfirmed": GermanMeaning(
        "Ihre E-Mail-Adresse ist noch nicht bestätigt.",
        "Öffnen Sie den Link in der E-Mail, oder fordern Sie eine neue an.",
    ),
    "invalid_password": GermanMeaning("Das Passwort ist falsch."),
    "cross_origin": GermanMeaning(
        "Diese Anfrage kam von einer fremden Website.", "Verwenden Sie die Seiten unter der Adresse des Dienstes."
    ),
    "limit_reached": GermanMeaning(
        "Ein Limit ist erreicht.",
        "Löschen Sie, was Sie nicht mehr brauchen, oder bitten Sie den Betreiber um ein höheres Limit.",
    ),
    "not_found": GermanMeaning("Nicht gefunden, oder Sie haben keinen Zugriff."),
    "method_not_allowed": GermanMeaning("Diese Methode ist für den Pfad nicht zulässig."),
    "idempotency_conflict": GermanMeaning(
        "Diese Anfrage wurde schon mit anderem Inhalt gesendet.", "Senden Sie das Formular erneut."
    ),
    "operation_in_progress": GermanMeaning(
        "In diesem Konto läuft gerade ein anderer Vorgang.",
        "Warten Sie, bis er abgeschlossen ist, und versuchen Sie es dann erneut.",
    ),
    "key_already_issued": GermanMeaning(
        "Dieser API-Schlüssel wurde schon angezeigt. Er wird nur einmal angezeigt.",
        "Widerrufen Sie ihn, und erstellen Sie einen neuen.",
    ),
    "account_taken": GermanMeaning(
        "Ein anderer Benutzer hat dieses Cloudflare-Konto verbunden.",
        "Bitten Sie diesen Benutzer oder den Betreiber, das Konto zu trennen.",
    ),
    "already_connected": GermanMeaning("Sie haben dieses Cloudflare-Konto schon verbunden."),
    "account_not_ready": GermanMeaning(
        "Das Konto ist für diese Aktion nicht bereit.", "Der Grund steht auf der Seite des Kontos."
    ),
    "site_exists": GermanMeaning("Das Konto hat schon eine Website mit diesem Host."),
    "site_on_link_host": GermanMeaning(
        "Dieser Host ist der Link-Host des Kontos. Er ist nur für Kurzlinks da.",
        "Geben Sie den Host Ihrer Website an, oder legen Sie zuerst einen anderen Link-Host fest.",
    ),
    "link_exists": GermanMeaning("Das Konto hat schon einen Link mit diesem Code.", "Wählen Sie einen anderen Code."),
    "link_host_required": GermanMeaning(
        "Das Konto hat noch keinen Link-Host.", "Legen Sie ihn auf der Seite des Kontos fest."
    ),
    "link_host_is_website": GermanMeaning(
        "Dieser Host liefert schon eine Website aus, die dann nicht mehr erreichbar wäre.",
        "Wählen Sie einen unbenutzten Host, etwa go.example.com, und legen Sie dafür einen AAAA-Eintrag mit der Adresse"
        " 100:: und aktivem Proxy an.",
    ),
    "link_host_without_certificate": GermanMeaning(
        "Der Host liegt mehr als eine Ebene unter seiner Zone, deshalb deckt ihn das kostenlose Zertifikat von"
        " Cloudflare nicht ab.",
        "Wählen Sie einen Host direkt unter der Zone, oder bestellen Sie bei Cloudflare ein Zertifikat für den"
        " angegebenen Host.",
    ),
    "route_conflict": GermanMeaning(
        "Ein anderer Worker verwendet diese Route schon.",
        "Löschen Sie die Route des anderen Workers im Cloudflare-Dashboard. Der Dienst legt seine eigene Route dann"
        " automatisch an.",
    ),
    "site_not_active": GermanMeaning("Die Website ist gelöscht."),
    "note_automatic": GermanMeaning(
        "Diese Notiz stammt vom Dienst und lässt sich nicht ändern.",
        "Löschen Sie sie, oder fügen Sie eine eigene hinzu.",
    ),
    "route_not_ours": GermanMeaning(
        "Eine Route der Website wurde außerhalb des Dienstes geändert und bleibt deshalb bestehen.",
        "Löschen Sie sie im Cloudflare-Dashboard, wenn Sie sie nicht brauchen.",
    ),
    "payload_too_large": GermanMeaning("Die Anfrage ist zu groß."),
    "invalid_bootstrap": GermanMeaning(
        "Cloudflare hat das Bootstrap-Token für dieses Konto abgelehnt.",
        "Prüfen Sie die Konto-ID, und erstellen Sie ein neues Bootstrap-Token für dieses Konto.",
    ),
    "bootstrap_permission_error": GermanMeaning(
        "Dem Bootstrap-Token fehlt eine Berechtigung.",
        "Erstellen Sie ein neues mit „Account Settings: Read“, „Account API Tokens: Edit“ und den als fehlend"
        " markierten Berechtigungen.",
    ),
    "zone_not_found": GermanMeaning(
        "Der Host liegt in keiner Zone des Kontos.",
        "Fügen Sie die Domain dem Konto als Zone hinzu, oder wählen Sie einen Host in einer vorhandenen Zone.",
    ),
    "zone_not_active": GermanMeaning(
        "Die Zone des Hosts ist nicht aktiv.",
        "Tragen Sie beim Registrar der Domain die Nameserver ein, die das Cloudflare-Dashboard für die Zone anzeigt.",
    ),
    "dns_not_proxied": GermanMeaning(
        "Der Host hat keinen DNS-Eintrag, der über den Proxy läuft.",
        "Legen Sie den Eintrag im Cloudflare-Dashboard an, oder schalten Sie beim vorhandenen Eintrag den Proxy ein"
        " (orange Wolke).",
    ),
    "rate_limited": GermanMeaning("Zu viele Versuche."),
    "internal": GermanMeaning("Im Dienst ist ein Fehler aufgetreten.", "Nennen Sie dem Betreiber die Fehler-ID."),
    "permission_catalog": GermanMeaning(
        "In Cloudflares Liste der Berechtigungen fehlt eine, die der Dienst braucht.",
        "Wenden Sie sich an den Betreiber: Der Dienst muss aktualisiert werden.",
    ),
    "token_rights_mismatch": GermanMeaning(
        "Cloudflare hat das Arbeits-Token mit anderen Berechtigungen erstellt als angefordert.", _TRY_AGAIN
    ),
    "token_check_failed": GermanMeaning("Die Prüfung des neuen Arbeits-Tokens ist fehlgeschlagen.", _TRY_AGAIN),
    "orphan_not_deleted": GermanMeaning(
        "Ein Token aus einem früheren Versuch konnte nicht gelöscht werden.",
        "Löschen Sie die hier genannten Tokens im Cloudflare-Dashboard, und versuchen Sie es dann erneut.",
    ),
    "renew_lost": GermanMeaning(
        "Es ist unklar, ob das Token erneuert wurde.",
        "Löschen Sie die hier genannten Tokens im Cloudflare-Dashboard, und wiederholen Sie dann die Erneuerung.",
    ),
    "cloudflare_unavailable": GermanMeaning(
        "Cloudflare ist gestört oder nicht erreichbar.",
        "Versuchen Sie es in einer Minute erneut. Nichts wird doppelt ausgeführt.",
    ),
    "service_full": GermanMeaning("Der Dienst hat sein Kontenlimit erreicht.", _CONTACT_OPERATOR),
    "not_configured": GermanMeaning("Der Betreiber hat diese Funktion nicht eingerichtet.", _CONTACT_OPERATOR),
    "busy": GermanMeaning("Der Dienst ist ausgelastet."),
    "revoked": GermanMeaning("Das Arbeits-Token ist abgelaufen oder wurde gelöscht oder deaktiviert.", _RENEW),
    "token_refused": GermanMeaning(
        "Cloudflare lehnt das Arbeits-Token ab.",
        "Warten Sie: Der Dienst versucht es alle zehn Minuten erneut. Wurde das Token gelöscht, erneuern Sie es.",
    ),
    "permission_error": GermanMeaning(
        "Das Arbeits-Token hat eine Berechtigung verloren.",
        "Erteilen Sie ihm die Berechtigung im Cloudflare-Dashboard wieder, oder erneuern Sie es.",
    ),
    "resource_drift": GermanMeaning(
        "Der installierte Worker oder seine Datenbank wurde außerhalb des Dienstes geändert oder gelöscht.",
        "Installieren Sie den Worker neu. Wurde der Worker geändert, löschen Sie ihn zuerst im Cloudflare-Dashboard.",
    ),
    "credentials_missing": GermanMeaning(
        "Das Konto hat kein Arbeits-Token.", "Erneuern Sie das Token mit einem neuen Bootstrap-Token."
    ),
    "credentials_unreadable": GermanMeaning(
        "Das gespeicherte Token lässt sich mit der Schlüsseldatei des Dienstes nicht entschlüsseln.",
        "Bitten Sie den Betreiber, die richtige Schlüsseldatei wiederherzustellen, oder erneuern Sie das Token.",
    ),
    "bootstrap_lost": GermanMeaning(
        "Das Verbinden wurde unterbrochen.",
        "Löschen Sie die hier genannten Tokens im Cloudflare-Dashboard, falls es sie noch gibt, und verbinden Sie das"
        " Konto neu.",
    ),
    "name_taken": GermanMeaning(
        "Das Konto hat schon einen Worker oder eine Datenbank mit dem Namen, den der Dienst verwendet.",
        "Benennen Sie den Worker oder die Datenbank im Cloudflare-Dashboard um, oder löschen Sie sie. Installieren Sie"
        " dann den Worker neu.",
    ),
    "schema_newer": GermanMeaning(
        "Die Datenbank des Workers stammt von einer neueren Version des Dienstes. Es wurde nichts geändert.",
        "Bitten Sie den Betreiber, die neuere Version einzusetzen. Der Worker zählt weiter.",
    ),
    "cron_limit": GermanMeaning(
        "Im Cloudflare-Konto ist kein Cron-Trigger mehr frei.",
        "Löschen Sie den Cron-Trigger eines anderen Workers, und installieren Sie dann den Worker neu.",
    ),
    "subdomain_required": GermanMeaning(
        "Das Konto hat keine Subdomain auf workers.dev.",
        "Öffnen Sie Workers im Cloudflare-Dashboard, wählen Sie eine Subdomain, und installieren Sie dann den Worker"
        " neu.",
    ),
    "self_check_timeout": GermanMeaning(
        "Der Worker hat sich seit der Installation nicht gemeldet.",
        "Cloudflare braucht bis zu 15 Minuten, um einen neuen Cron-Trigger zu starten. Kommt nach 30 Minuten kein"
        " Bericht, installieren Sie den Worker neu.",
    ),
    "worker_silent": GermanMeaning(
        "Der Worker hat sich seit mehr als einem Tag nicht gemeldet.",
        "Installieren Sie ihn neu. Meldet er sich dann immer noch nicht, wenden Sie sich an den Betreiber.",
    ),
    "link_host_not_resolved": GermanMeaning(
        "Der Link-Host hat im öffentlichen DNS keine Adresse.",
        "Prüfen Sie im Cloudflare-Dashboard den DNS-Eintrag und beim Registrar die Nameserver und den DS-Eintrag.",
    ),
    "link_host_unreachable": GermanMeaning(
        "Der Dienst hat den Link-Host nicht erreicht.",
        "Öffnen Sie einen Kurzlink im Browser. Funktioniert das nicht, prüfen Sie die Zone im Cloudflare-Dashboard.",
    ),
    "link_host_certificate": GermanMeaning(
        "Der Link-Host hat kein gültiges Zertifikat.",
        "Prüfen Sie im Cloudflare-Dashboard unter SSL/TLS die Edge-Zertifikate.",
    ),
    "link_host_redirected": GermanMeaning(
        "Eine Regel leitet Besucher des Link-Hosts um.",
        "Nehmen Sie den Host im Cloudflare-Dashboard von Weiterleitungen und Access aus.",
    ),
    "link_host_challenged": GermanMeaning(
        "Der Link-Host zeigt eine Sicherheitsabfrage von Cloudflare.",
        "Öffnen Sie einen Kurzlink in einem privaten Fenster. Kommt die Abfrage auch dort, nehmen Sie den Host im"
        " Cloudflare-Dashboard von den Sicherheitsregeln aus. Andernfalls müssen Sie nichts tun: Der Bot-Schutz von"
        " Cloudflare blockiert nur Programme, zum Beispiel diesen Dienst.",
    ),
    "link_host_other_answer": GermanMeaning(
        "Die Antwort des Link-Hosts stammt nicht vom Worker.",
        "Prüfen Sie im Cloudflare-Dashboard, welche Regel oder welcher Worker stattdessen antwortet.",
    ),
    "edge_firewall": GermanMeaning(
        "Cloudflares Firewall hat die Anfrage als Angriff blockiert.",
        "Wählen Sie eine andere URL oder einen anderen Pfad. Wenn Sie nichts davon eingegeben haben,"
        " nennen Sie dem Betreiber die Ray-ID.",
    ),
    "cloudflare_error": GermanMeaning(
        "Cloudflare hat die Anfrage abgelehnt.",
        "Versuchen Sie es in einer Minute erneut. Nennt die Meldung ein Tageslimit, warten Sie bis nach Mitternacht"
        " UTC.",
    ),
}
