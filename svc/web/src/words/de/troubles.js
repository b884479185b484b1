/** Was schiefging und was zu tun ist, für jeden Code: Der Dienst selbst spricht Englisch. */

/** @type {typeof import("../en/troubles.js").default} */
const troubles = {
  offline: [
    "Der Dienst war nicht zu erreichen.",
    "Prüfen Sie die Verbindung, und versuchen Sie es wieder; nichts geschieht doppelt.",
  ],
  unexpected: [
    "Etwas hat geantwortet, das nicht der Dienst ist.",
    "Laden Sie die Seite neu. Bleibt es so, sagen Sie es dem Betreiber.",
  ],
  unauthorized: ["Sie sind nicht mehr angemeldet.", "Melden Sie sich wieder an."],
  rate_limited: ["Zu viele Versuche.", null],
  invalid_request: ["Etwas in der Eingabe stimmt nicht.", null],
  scope_required: ["Dem Schlüssel fehlt das Recht dafür.", "Erstellen Sie einen Schlüssel mit diesem Recht."],
  session_required: ["Das geht nur für angemeldete Benutzer, nicht mit einem API-Schlüssel.", "Melden Sie sich an."],
  email_unconfirmed: [
    "Ihre E-Mail-Adresse ist noch nicht bestätigt.",
    "Öffnen Sie den Link in der E-Mail, oder fordern Sie eine neue an.",
  ],
  invalid_password: ["Das Passwort stimmt nicht.", null],
  cross_origin: [
    "Eine Seite von anderswo hat das gesendet.",
    "Benutzen Sie diese Seiten unter der eigenen Adresse des Dienstes.",
  ],
  limit_reached: [
    "Eine Grenze Ihres Tarifs ist erreicht.",
    "Löschen Sie, was nicht mehr gebraucht wird, oder bitten Sie den Betreiber um mehr.",
  ],
  not_found: ["Das gibt es nicht, oder es gehört nicht Ihnen.", null],
  method_not_allowed: ["Den Pfad gibt es, aber nicht mit dieser Methode.", null],
  idempotency_conflict: [
    "Diese Anfrage wurde schon mit anderem Inhalt gesendet.",
    "Senden Sie das Formular noch einmal.",
  ],
  operation_in_progress: [
    "An diesem Konto wird gerade gearbeitet.",
    "Warten Sie, bis das beendet ist, und versuchen Sie es dann wieder.",
  ],
  key_already_issued: [
    "Der Schlüssel wurde schon gezeigt; das geschieht nur einmal.",
    "Widerrufen Sie ihn und erstellen Sie einen neuen.",
  ],
  account_taken: [
    "Ein anderer Benutzer hat dieses Konto verbunden.",
    "Bitten Sie ihn oder den Betreiber, es freizugeben.",
  ],
  already_connected: ["Dieses Konto haben Sie schon verbunden.", null],
  account_not_ready: [
    "Im jetzigen Zustand des Kontos geht das nicht.",
    "Warten Sie, bis es bereit ist; auf seiner Seite steht, was ihm fehlt.",
  ],
  site_exists: ["Das Konto hat schon eine Website mit diesem Namen.", null],
  site_on_link_host: [
    "Dieser Name ist der Link-Host des Kontos; dort gibt es keine Seiten zu zählen.",
    "Nehmen Sie den Namen, unter dem Ihre Seiten stehen, oder wählen Sie erst einen anderen Link-Host.",
  ],
  link_exists: ["Das Konto hat schon einen Link mit diesem Code.", "Nehmen Sie einen anderen Code."],
  link_host_required: ["Das Konto braucht erst einen Link-Host.", "Wählen Sie einen auf der Seite des Kontos."],
  link_host_is_website: [
    "Unter diesem Namen ist eine Website; sie ist nicht erreichbar, solange er Link-Host ist.",
    "Nehmen Sie einen Namen, den sonst nichts benutzt, etwa go.example.com mit dem Eintrag AAAA 100::, proxied.",
  ],
  link_host_without_certificate: [
    "Der Name liegt mehr als eine Stufe unter seiner Zone; das freie Zertifikat gilt dort nicht.",
    "Nehmen Sie einen Namen gleich unter der Zone, oder bestellen Sie ein Zertifikat für diesen.",
  ],
  route_conflict: [
    "Ein anderer Worker hat die Route.",
    "Entfernen Sie die andere Route bei Cloudflare; unsere entsteht dann von selbst.",
  ],
  site_not_active: ["Die Website ist gelöscht.", null],
  route_not_ours: [
    "Eine Route der Website wurde außerhalb geändert und bleibt, wie sie ist.",
    "Löschen Sie sie bei Cloudflare, wenn nichts sie braucht.",
  ],
  payload_too_large: ["Das ist mehr, als der Dienst auf einmal nimmt.", null],
  invalid_bootstrap: [
    "Cloudflare nimmt das Bootstrap-Token für dieses Konto nicht an.",
    "Prüfen Sie die Kontokennung, und erstellen Sie ein neues Bootstrap-Token dieses Kontos.",
  ],
  "invalid_bootstrap.expired": [
    "Das Bootstrap-Token ist abgelaufen.",
    "Erstellen Sie ein neues, und fügen Sie es hier ein.",
  ],
  "invalid_bootstrap.disabled": [
    "Das Bootstrap-Token ist abgeschaltet.",
    "Schalten Sie es bei Cloudflare wieder ein, oder erstellen Sie ein neues.",
  ],
  bootstrap_permission_error: [
    "Dem Bootstrap-Token fehlt ein Recht.",
    "Erstellen Sie eines mit „Account Settings: Read“ und „Account API Tokens: Edit“ und mit den Rechten, die markiert sind.",
  ],
  zone_not_found: [
    "Der Name liegt in keiner Zone des Kontos.",
    "Nehmen Sie die Domain als Zone in das Konto auf, oder wählen Sie einen Namen in einer seiner Zonen.",
  ],
  zone_not_active: [
    "Die Zone des Namens ist nicht aktiv.",
    "Tragen Sie beim Registrar der Domain die Nameserver ein, die Cloudflares Dashboard für die Zone nennt.",
  ],
  "zone_not_active.paused": ["Die Zone des Namens ist angehalten.", "Setzen Sie sie in Cloudflares Dashboard fort."],
  dns_not_proxied: [
    "Der Name hat keinen DNS-Eintrag über den Proxy.",
    "Legen Sie den Eintrag in Cloudflares Dashboard an, oder schalten Sie beim vorhandenen den Proxy ein (die orange Wolke).",
  ],
  internal: ["Im Dienst ist etwas schiefgegangen.", "Sagen Sie es dem Betreiber, mit dieser Kennung."],
  permission_catalog: [
    "In Cloudflares Liste der Rechte fehlt eines, das gebraucht wird.",
    "Sagen Sie es dem Betreiber: Der Dienst braucht eine neue Fassung.",
  ],
  token_rights_mismatch: [
    "Cloudflare hat das Arbeits-Token mit anderen Rechten erstellt als verlangt.",
    "Versuchen Sie es noch einmal; bleibt es so, sagen Sie es dem Betreiber.",
  ],
  token_check_failed: [
    "Das Arbeits-Token geht nicht.",
    "Versuchen Sie es noch einmal; bleibt es so, sagen Sie es dem Betreiber.",
  ],
  orphan_not_deleted: [
    "Ein Token eines früheren Versuchs konnte nicht gelöscht werden.",
    "Löschen Sie die genannten Tokens bei Cloudflare, und versuchen Sie es dann wieder.",
  ],
  renew_lost: [
    "Wie die Erneuerung ausging, ist nicht bekannt.",
    "Widerrufen Sie das genannte Token bei Cloudflare, und erneuern Sie noch einmal.",
  ],
  cloudflare_unavailable: [
    "Cloudflare war nicht zu erreichen oder hat versagt.",
    "Versuchen Sie es in einer Minute wieder; nichts geschieht doppelt.",
  ],
  service_full: ["Der Dienst nimmt keine weiteren Konten auf.", "Fragen Sie den Betreiber."],
  not_configured: ["Der Betreiber hat diesen Teil nicht eingerichtet.", "Fragen Sie den Betreiber."],
  busy: ["Der Dienst kann gerade nicht.", null],
  revoked: [
    "Das Arbeits-Token ist fort, abgeschaltet oder abgelaufen.",
    "Erneuern Sie es mit einem neuen Bootstrap-Token.",
  ],
  token_refused: [
    "Cloudflare nimmt das Arbeits-Token nicht an.",
    "Warten Sie: Alle zehn Minuten wird wieder gefragt. Wurde das Token gelöscht, erneuern Sie es.",
  ],
  permission_error: [
    "Dem Arbeits-Token fehlt ein Recht, das es hatte.",
    "Geben Sie ihm das Recht bei Cloudflare zurück, oder erneuern Sie es.",
  ],
  resource_drift: [
    "Was eingerichtet wurde, ist außerhalb geändert oder gelöscht worden.",
    "Richten Sie den Worker neu ein; einen geänderten löschen Sie erst bei Cloudflare.",
  ],
  credentials_missing: ["Das Konto hat kein Arbeits-Token.", "Erneuern Sie es mit einem neuen Bootstrap-Token."],
  credentials_unreadable: [
    "Das gespeicherte Token lässt sich mit der Schlüsseldatei des Dienstes nicht öffnen.",
    "Bitten Sie den Betreiber um die richtige Schlüsseldatei, oder erneuern Sie das Token.",
  ],
  bootstrap_lost: [
    "Das Verbinden wurde abgebrochen.",
    "Löschen Sie die genannten Tokens bei Cloudflare, wenn sie da sind, und verbinden Sie neu.",
  ],
  name_taken: [
    "Das Konto hat einen Worker oder eine Datenbank unseres Namens, die nicht von hier sind.",
    "Benennen Sie sie bei Cloudflare um oder löschen Sie sie, und richten Sie dann neu ein.",
  ],
  schema_newer: [
    "Die Datenbank des Workers ist von einer neueren Fassung des Dienstes; nichts wurde geändert.",
    "Bitten Sie den Betreiber um diese Fassung; der Worker zählt weiter.",
  ],
  cron_limit: [
    "Das Konto hat keinen Cron-Auslöser mehr frei.",
    "Löschen Sie einen eines anderen Workers, und richten Sie dann neu ein.",
  ],
  subdomain_required: [
    "Das Konto hat keinen Namen auf workers.dev.",
    "Öffnen Sie Workers bei Cloudflare, wählen Sie einen Namen, und richten Sie dann neu ein.",
  ],
  self_check_timeout: [
    "Der Worker hat sich nach der Einrichtung nicht gemeldet.",
    "Cloudflare braucht bis zu 15 Minuten, um einen neuen Cron-Trigger zu starten. Ist nach einer halben Stunde kein Bericht da, richten Sie ihn neu ein.",
  ],
  worker_silent: [
    "Der Worker hat sich seit Stunden nicht gemeldet.",
    "Richten Sie ihn neu ein. Bleibt er still, sagen Sie es dem Betreiber.",
  ],
  edge_firewall: [
    "Cloudflares Firewall hält das Gesendete für einen Angriff.",
    "Nehmen Sie eine andere Adresse oder einen anderen Pfad; ist nichts davon Ihres, sagen Sie dem Betreiber die Ray-Id.",
  ],
  cloudflare_error: [
    "Cloudflare hat den Aufruf abgelehnt.",
    "Versuchen Sie es in einer Minute wieder; nennt die Meldung eine Tagesgrenze, nach Mitternacht UTC.",
  ],
};

export default troubles;
