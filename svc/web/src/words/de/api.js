/** Texte zu Codes in Antworten der API: Fehler einzelner Felder, Ergebnisse einer Prüfung, Reste nach einem Trennen. */

import { moment as at } from "../../format.js";

const WORKER = "Der Worker";
const DATABASE = "Die Datenbank des Workers";
const CRON = "Der Cron-Trigger des Workers";
const CONFIGURATION = "Die Konfiguration des Workers";
const REPORTS = "Die Berichte des Workers";
const TOKEN = "Das Arbeits-Token";
const AS_SENT = "ist in der Version installiert, die der Dienst hochgeladen hat";
const AS_KNOWN = "entspricht dem Stand des Dienstes";
const HOURLY = "kommen jede Stunde";
const TO_WORKER = "führt zum Worker";
const DELETED = "wurde außerhalb des Dienstes gelöscht";

/** @param {string | undefined} iso */
const moment = (iso) => (iso ? at(iso) : "");

/** @type {typeof import("../en/api.js").default} */
const api = {
  issues: {
    required: () => "Pflichtfeld.",
    unknown: () => "Dieses Feld gibt es hier nicht.",
    twice: () => "Darf nur einmal vorkommen.",
    not_json: () => "Muss gültiges JSON sein.",
    not_object: () => "Muss ein Objekt sein.",
    not_list: () => "Muss eine Liste sein.",
    not_text: () => "Muss ein Text sein.",
    not_boolean: () => "Muss true oder false sein.",
    not_integer: () => "Muss eine ganze Zahl sein.",
    too_long: (limit) => `Höchstens ${limit} Zeichen.`,
    too_short: (limit) => `Mindestens ${limit} Zeichen.`,
    too_many: (limit) => `Höchstens ${limit} Einträge.`,
    too_few: (limit) => (limit === 1 ? "Mindestens ein Eintrag." : `Mindestens ${limit} Einträge.`),
    too_large: (limit) => `Höchstens ${limit}.`,
    too_small: (limit) => `Mindestens ${limit}.`,
    too_much: () => "Zu viele Felder, Listen oder Einträge.",
    not_offered: () => "Dieser Wert steht nicht zur Auswahl.",
    wrong_form: () => "Das Format ist ungültig.",
    not_host: () => "Muss ein Hostname sein, etwa shop.example.com.",
    not_https: () => "Muss eine https-Adresse mit Host sein. Leer- und Sonderzeichen müssen prozentkodiert sein.",
    not_path: () =>
      "Ein Pfad beginnt mit / und enthält kein ?, # oder \\. Aufrufe werden unter dem Pfad der Seite gezählt, ohne alles ab dem ?.",
    not_network: () => "Muss eine IP-Adresse oder ein Netz sein, etwa 192.0.2.7 oder 2001:db8::/32.",
    not_email: () => "Muss eine E-Mail-Adresse sein.",
    not_token: () => "Muss ein Token sein.",
    not_day: () => "Muss ein Datum sein, etwa 2026-11-21.",
    reserved_code: () =>
      "Programme rufen diesen Pfad automatisch ab, und jeder Abruf würde als Klick gezählt. Wählen Sie einen anderen Code.",
    weak_password: () =>
      "Wählen Sie ein schwer zu erratendes Passwort mit mindestens 8 Zeichen, zum Beispiel mehrere Wörter ohne Zusammenhang.",
    used_token: () => "Das Token ist unbekannt, abgelaufen oder wurde schon benutzt. Fordern Sie eine neue E-Mail an.",
    on_link_host: () => "Das Ziel darf nicht auf dem Link-Host liegen.",
  },
  findings: {
    script_deleted: () => [WORKER, "ist installiert", DELETED],
    script_replaced: () => [
      WORKER,
      AS_SENT,
      "trägt nicht die Kennzeichnung des Dienstes: Er wurde ersetzt oder hat seine Tags verloren",
    ],
    script_changed: () => [WORKER, AS_SENT, "wurde außerhalb des Dienstes geändert"],
    script_not_known: () => [
      WORKER,
      AS_SENT,
      "wurde vom Dienst zu einem Zeitpunkt hochgeladen, zu dem sein Speicher keine Daten hat",
    ],
    script_not_installed: ({ said }) => [WORKER, "ist installiert", `ist nicht installiert: ${said}`],
    bindings_differ: ({ bindings }) => [
      WORKER,
      "hat die Bindings, mit denen er hochgeladen wurde",
      `hat andere: ${bindings}`,
    ],
    cron_changed: ({ cron, found }) => [CRON, `steht auf ${cron}`, `steht auf ${found}`],
    cron_deleted: ({ cron }) => [CRON, `steht auf ${cron}`, DELETED],
    workers_dev_on: () => [
      "Die Adresse des Workers auf workers.dev",
      "ist deaktiviert",
      "wurde außerhalb des Dienstes aktiviert",
    ],
    database_deleted: () => [DATABASE, "ist vorhanden", DELETED],
    tables_deleted: ({ schema, tables }) => [
      DATABASE,
      `hat die Tabellen des Schemas ${schema}`,
      `hat nicht mehr alle Daten von ${tables}: Dort gezählte, noch nicht gemeldete Ereignisse sind verloren`,
    ],
    configuration_newer: () => [
      CONFIGURATION,
      AS_KNOWN,
      "ist neuer als der Speicher des Dienstes, in dem Änderungen verloren gingen",
    ],
    configuration_older: ({ version, given }) => [
      CONFIGURATION,
      AS_KNOWN,
      `ist wieder auf Version ${version} von ${given}: Die Datenbank wurde außerhalb des Dienstes auf einen früheren Stand zurückgesetzt; seither gezählte, noch nicht gemeldete Ereignisse sind verloren`,
    ],
    configuration_differs: ({ rows, given }) => [
      CONFIGURATION,
      AS_KNOWN,
      `hat abweichende Zeilen (${rows} von ${given}): Einige wurden außerhalb des Dienstes gelöscht oder geändert`,
    ],
    reports_stopped: ({ since }) => [
      REPORTS,
      HOURLY,
      `bleiben aus: Cloudflare hat den Cron-Trigger seit ${moment(since)} nicht ausgelöst`,
    ],
    reports_lost: ({ since }) => [
      REPORTS,
      HOURLY,
      `kommen seit ${moment(since)} nicht an, obwohl sein Cron-Trigger läuft`,
    ],
    route_not_made: ({ route, said }) => [
      `Die Route ${route}`,
      "ist angelegt",
      said ? `ist nicht angelegt: ${said}` : "ist noch nicht angelegt",
    ],
    route_deleted: ({ route }) => [`Die Route ${route}`, TO_WORKER, DELETED],
    route_taken: ({ route, holder }) => [`Die Route ${route}`, TO_WORKER, `ist belegt: ${holder}`],
    route_gone: ({ route }) => [
      `Die Route ${route}`,
      TO_WORKER,
      "wurde mit ihrer Zone entfernt, die nicht mehr zum Konto gehört",
    ],
    record_not_proxied: ({ host }) => [
      `Der DNS-Eintrag von ${host}`,
      "läuft über den Proxy",
      "fehlt oder läuft nicht über den Proxy (graue Wolke)",
    ],
    zone_inactive: ({ zone, status }) => [`Die Zone ${zone}`, "ist aktiv", `hat den Status ${status}`],
    token_missing: () => [TOKEN, "ist vorhanden", "fehlt"],
    token_expired: ({ at }) => [TOKEN, "ist gültig", `ist abgelaufen: ${moment(at)}`],
    token_inactive: ({ status }) => [TOKEN, "ist gültig", `hat den Status ${status}`],
    right_missing: ({ right, said }) => [
      TOKEN,
      `hat die Berechtigung ${right}`,
      `hat sie nicht oder nicht für alle Ressourcen: ${said}`,
    ],
    connect_cut_short: () => ["Das Verbinden", "ist abgeschlossen", "wurde unterbrochen"],
    connect_waits: () => ["Das Verbinden", "ist abgeschlossen", "wartet darauf, dass dieselbe Anfrage erneut kommt"],
    operation_running: ({ operation, step }) => [
      `Der Vorgang „${operation}“`,
      "ist abgeschlossen",
      `ist beim Schritt „${step}“`,
    ],
  },
  left: {
    route: ({ route, host }, why) => `Route ${route} in der Zone von ${host}: ${why}.`,
    worker: ({ worker }, why) => `Worker ${worker}: ${why}.`,
    database: ({ database }, why) => `D1-Datenbank ${database}: ${why}.`,
    uncounted_database: ({ database }, why) =>
      `D1-Datenbank ${database}: Ihre letzten Zahlen waren nicht lesbar (${why}), darum wurde sie nicht gelöscht.`,
    token: ({ token }, why) => `API-Token ${token}: ${why}.`,
    bootstrap_token: (_, why) => `Bootstrap-Token vom Verbinden: ${why}.`,
  },
  whys: {
    too_slow: () => "Cloudflare hat nicht rechtzeitig geantwortet",
    unreachable: () => "Cloudflare war gestört oder nicht erreichbar",
    daily_limit: () => "die kostenlosen Datenbankzeilen des Kontos sind für heute verbraucht",
    refused: ({ said }) => `Cloudflare hat abgelehnt: ${said}`,
    right_missing: () => "dem Arbeits-Token fehlt die Berechtigung",
    token_dead: () => "das Arbeits-Token ist nicht mehr gültig",
    token_missing: () => "der Dienst hat kein Arbeits-Token des Kontos",
    token_unreadable: () => "der Dienst kann das gespeicherte Arbeits-Token nicht entschlüsseln",
    not_ours: () => "nicht vom Dienst angelegt",
    changed: () => "außerhalb des Dienstes geändert",
    leads_elsewhere: ({ holder }) => `sie führt zum Worker ${holder}`,
    leads_nowhere: () => "sie führt zu keinem Worker",
    leads_to_not_ours: ({ holder }) => `sie führt zum Worker ${holder}, wurde aber nicht vom Dienst angelegt`,
    may_be_alive: () =>
      "stammt aus einem unterbrochenen Versuch und ist möglicherweise noch gültig; der Dienst darf keine Tokens löschen",
    alive_until: ({ until }) => `ist möglicherweise noch bis ${moment(until)} gültig`,
  },
};

export default api;
