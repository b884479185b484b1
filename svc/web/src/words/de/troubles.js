/** Fehlermeldungen und Abhilfen für jeden Fehlercode. Die API selbst antwortet auf Englisch. */

/** @type {typeof import("../en/troubles.js").default} */
const troubles = {
  offline: [
    "Der Dienst war nicht erreichbar.",
    "Prüfen Sie Ihre Verbindung und versuchen Sie es erneut. Nichts wird doppelt ausgeführt.",
  ],
  unexpected: [
    "Die Antwort kam nicht vom Dienst.",
    "Laden Sie die Seite neu. Wenn das Problem bleibt, wenden Sie sich an den Betreiber.",
  ],
  unauthorized: ["Sie sind nicht mehr angemeldet.", "Melden Sie sich erneut an."],
  rate_limited: ["Zu viele Versuche.", null],
  invalid_request: ["Einige Eingaben sind ungültig.", null],
  scope_required: [
    "Dem API-Schlüssel fehlt die Berechtigung.",
    "Erstellen Sie einen Schlüssel mit dieser Berechtigung.",
  ],
  session_required: ["Das geht nur in einer Sitzung, nicht mit einem API-Schlüssel.", "Melden Sie sich an."],
  email_unconfirmed: [
    "Ihre E-Mail-Adresse ist noch nicht bestätigt.",
    "Öffnen Sie den Link in der E-Mail, oder fordern Sie eine neue an.",
  ],
  invalid_password: ["Das Passwort ist falsch.", null],
  cross_origin: [
    "Diese Anfrage kam von einer fremden Website.",
    "Benutzen Sie die Seiten unter der Adresse des Dienstes.",
  ],
  limit_reached: [
    "Ein Limit Ihres Tarifs ist erreicht.",
    "Löschen Sie, was Sie nicht mehr brauchen, oder bitten Sie den Betreiber um ein höheres Limit.",
  ],
  not_found: ["Nicht gefunden, oder Sie haben keinen Zugriff.", null],
  method_not_allowed: ["Diese Methode ist für den Pfad nicht zulässig.", null],
  idempotency_conflict: ["Diese Anfrage wurde schon mit anderem Inhalt gesendet.", "Senden Sie das Formular erneut."],
  operation_in_progress: [
    "In diesem Konto läuft gerade ein anderer Vorgang.",
    "Warten Sie, bis er abgeschlossen ist, und versuchen Sie es dann erneut.",
  ],
  key_already_issued: [
    "Dieser API-Schlüssel wurde schon angezeigt. Das geschieht nur einmal.",
    "Widerrufen Sie ihn und erstellen Sie einen neuen.",
  ],
  account_taken: [
    "Ein anderer Benutzer hat dieses Cloudflare-Konto verbunden.",
    "Bitten Sie ihn oder den Betreiber, es freizugeben.",
  ],
  already_connected: ["Sie haben dieses Cloudflare-Konto schon verbunden.", null],
  account_not_ready: ["Das Konto ist dafür noch nicht bereit.", "Der Grund steht auf der Seite des Kontos."],
  site_exists: ["Das Konto hat schon eine Website mit diesem Host.", null],
  site_on_link_host: [
    "Dieser Host ist der Link-Host des Kontos. Er liefert nur Links aus.",
    "Geben Sie den Host Ihrer Seiten an, oder legen Sie zuerst einen anderen Link-Host fest.",
  ],
  link_exists: ["Das Konto hat schon einen Link mit diesem Code.", "Wählen Sie einen anderen Code."],
  link_host_required: ["Das Konto hat noch keinen Link-Host.", "Legen Sie ihn auf der Seite des Kontos fest."],
  link_host_is_website: [
    "Dieser Host liefert schon eine Website aus, die dann nicht mehr erreichbar wäre.",
    "Wählen Sie einen unbenutzten Host, etwa go.example.com mit dem Proxy-Eintrag AAAA 100::.",
  ],
  link_host_without_certificate: [
    "Der Host liegt mehr als eine Ebene unter seiner Zone. Das kostenlose Zertifikat von Cloudflare deckt ihn nicht ab.",
    "Wählen Sie einen Host direkt unter der Zone, oder bestellen Sie bei Cloudflare ein Zertifikat für diesen.",
  ],
  route_conflict: [
    "Ein anderer Worker verwendet diese Route schon.",
    "Löschen Sie die andere Route im Cloudflare-Dashboard. Der Dienst legt seine dann automatisch an.",
  ],
  site_not_active: ["Die Website ist gelöscht.", null],
  route_not_ours: [
    "Eine Route der Website wurde außerhalb des Dienstes geändert und bleibt deshalb bestehen.",
    "Löschen Sie sie im Cloudflare-Dashboard, wenn Sie sie nicht brauchen.",
  ],
  payload_too_large: ["Die Anfrage ist zu groß.", null],
  invalid_bootstrap: [
    "Cloudflare hat das Bootstrap-Token für dieses Konto abgelehnt.",
    "Prüfen Sie die Konto-ID und erstellen Sie ein neues Bootstrap-Token für dieses Konto.",
  ],
  "invalid_bootstrap.expired": [
    "Das Bootstrap-Token ist abgelaufen.",
    "Erstellen Sie ein neues und fügen Sie es hier ein.",
  ],
  "invalid_bootstrap.disabled": [
    "Das Bootstrap-Token ist deaktiviert.",
    "Aktivieren Sie es im Cloudflare-Dashboard, oder erstellen Sie ein neues.",
  ],
  bootstrap_permission_error: [
    "Dem Bootstrap-Token fehlt eine Berechtigung.",
    "Erstellen Sie eines mit „Account Settings: Read“, „Account API Tokens: Edit“ und den als fehlend markierten Berechtigungen.",
  ],
  zone_not_found: [
    "Der Host liegt in keiner Zone des Kontos.",
    "Fügen Sie die Domain dem Konto als Zone hinzu, oder wählen Sie einen Host in einer vorhandenen Zone.",
  ],
  zone_not_active: [
    "Die Zone des Hosts ist nicht aktiv.",
    "Tragen Sie beim Registrar der Domain die Nameserver ein, die das Cloudflare-Dashboard für die Zone anzeigt.",
  ],
  "zone_not_active.paused": ["Die Zone des Hosts ist pausiert.", "Setzen Sie sie im Cloudflare-Dashboard fort."],
  dns_not_proxied: [
    "Der Host hat keinen DNS-Eintrag über den Proxy.",
    "Legen Sie den Eintrag im Cloudflare-Dashboard an, oder schalten Sie beim vorhandenen den Proxy ein (orange Wolke).",
  ],
  internal: ["Im Dienst ist ein Fehler aufgetreten.", "Nennen Sie dem Betreiber die Fehler-ID."],
  permission_catalog: [
    "In Cloudflares Liste der Berechtigungen fehlt eine, die der Dienst braucht.",
    "Wenden Sie sich an den Betreiber: Der Dienst muss aktualisiert werden.",
  ],
  token_rights_mismatch: [
    "Cloudflare hat das Arbeits-Token mit anderen Berechtigungen erstellt als angefordert.",
    "Versuchen Sie es erneut. Wenn das Problem bleibt, wenden Sie sich an den Betreiber.",
  ],
  token_check_failed: [
    "Das Arbeits-Token funktioniert nicht.",
    "Versuchen Sie es erneut. Wenn das Problem bleibt, wenden Sie sich an den Betreiber.",
  ],
  orphan_not_deleted: [
    "Ein Token aus einem früheren Versuch konnte nicht gelöscht werden.",
    "Löschen Sie die hier genannten Tokens im Cloudflare-Dashboard und versuchen Sie es dann erneut.",
  ],
  renew_lost: [
    "Es ist nicht bekannt, ob die Erneuerung gelungen ist.",
    "Löschen Sie das hier genannte Token im Cloudflare-Dashboard und erneuern Sie dann erneut.",
  ],
  cloudflare_unavailable: [
    "Cloudflare ist gestört oder nicht erreichbar.",
    "Versuchen Sie es in einer Minute erneut. Nichts wird doppelt ausgeführt.",
  ],
  service_full: ["Der Dienst nimmt keine weiteren Konten an.", "Wenden Sie sich an den Betreiber."],
  not_configured: ["Der Betreiber hat diese Funktion nicht eingerichtet.", "Wenden Sie sich an den Betreiber."],
  busy: ["Der Dienst ist ausgelastet.", null],
  revoked: [
    "Das Arbeits-Token wurde gelöscht oder deaktiviert oder ist abgelaufen.",
    "Erneuern Sie es mit einem neuen Bootstrap-Token.",
  ],
  token_refused: [
    "Cloudflare lehnt das Arbeits-Token ab.",
    "Warten Sie: Der Dienst versucht es alle zehn Minuten erneut. Wurde das Token gelöscht, erneuern Sie es.",
  ],
  permission_error: [
    "Dem Arbeits-Token fehlt eine Berechtigung, mit der es erstellt wurde.",
    "Erteilen Sie ihm die Berechtigung im Cloudflare-Dashboard wieder, oder erneuern Sie es.",
  ],
  resource_drift: [
    "Der installierte Worker oder seine Datenbank wurde außerhalb des Dienstes geändert oder gelöscht.",
    "Installieren Sie den Worker neu. Einen geänderten Worker löschen Sie zuvor im Cloudflare-Dashboard.",
  ],
  credentials_missing: ["Das Konto hat kein Arbeits-Token.", "Erneuern Sie es mit einem neuen Bootstrap-Token."],
  credentials_unreadable: [
    "Das gespeicherte Token lässt sich mit der Schlüsseldatei des Dienstes nicht entschlüsseln.",
    "Bitten Sie den Betreiber, die richtige Schlüsseldatei wiederherzustellen, oder erneuern Sie das Token.",
  ],
  bootstrap_lost: [
    "Das Verbinden wurde unterbrochen.",
    "Löschen Sie die hier genannten Tokens im Cloudflare-Dashboard, falls es sie noch gibt, und verbinden Sie das Konto neu.",
  ],
  name_taken: [
    "Das Konto hat schon einen Worker oder eine Datenbank mit dem Namen, den der Dienst verwendet.",
    "Benennen Sie sie im Cloudflare-Dashboard um, oder löschen Sie sie. Installieren Sie dann den Worker neu.",
  ],
  schema_newer: [
    "Die Datenbank des Workers stammt von einer neueren Version des Dienstes. Es wurde nichts geändert.",
    "Bitten Sie den Betreiber, diese Version einzusetzen. Der Worker zählt weiter.",
  ],
  cron_limit: [
    "Im Cloudflare-Konto ist kein Cron-Trigger mehr frei.",
    "Löschen Sie den Cron-Trigger eines anderen Workers und installieren Sie dann den Worker neu.",
  ],
  subdomain_required: [
    "Das Konto hat keine Subdomain auf workers.dev.",
    "Öffnen Sie Workers im Cloudflare-Dashboard, wählen Sie eine Subdomain und installieren Sie dann den Worker neu.",
  ],
  self_check_timeout: [
    "Der Worker hat sich seit der Installation nicht gemeldet.",
    "Cloudflare braucht bis zu 15 Minuten, um einen neuen Cron-Trigger zu starten. Kommt nach 30 Minuten kein Bericht, installieren Sie den Worker neu.",
  ],
  worker_silent: [
    "Der Worker hat sich seit Stunden nicht gemeldet.",
    "Installieren Sie ihn neu. Meldet er sich dann immer noch nicht, wenden Sie sich an den Betreiber.",
  ],
  edge_firewall: [
    "Cloudflares Firewall hat die gesendeten Daten als Angriff eingestuft.",
    "Wählen Sie eine andere Adresse oder einen anderen Pfad. Stammt nichts davon von Ihnen, nennen Sie dem Betreiber die Ray-ID.",
  ],
  cloudflare_error: [
    "Cloudflare hat den Aufruf abgelehnt.",
    "Versuchen Sie es in einer Minute erneut. Nennt die Meldung ein Tageslimit, warten Sie bis nach Mitternacht UTC.",
  ],
};

export default troubles;
