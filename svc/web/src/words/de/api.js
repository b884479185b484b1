/** Was die API mit einem Code sagt: was an einem Feld nicht stimmt, was eine Prüfung findet, was ein Trennen lässt. */

import { moment as at } from "../../format.js";

const WORKER = "Der Worker";
const DATABASE = "Die Datenbank des Workers";
const CRON = "Der Cron-Auslöser des Workers";
const CONFIGURATION = "Die Konfiguration des Workers";
const REPORTS = "Die Berichte des Workers";
const TOKEN = "Das Arbeits-Token";
const AS_SENT = "ist, wie der Dienst ihn hochgeladen hat";
const AS_KNOWN = "ist, was der Dienst hat";
const HOURLY = "kommen jede Stunde";
const TO_WORKER = "führt zum Worker";

/** @param {string | undefined} iso */
const moment = (iso) => (iso ? at(iso) : "");

/** @type {typeof import("../en/api.js").default} */
const api = {
  issues: {
    required: () => "Das wird gebraucht.",
    unknown: () => "Dieses Feld gibt es hier nicht.",
    twice: () => "Das darf nur einmal da sein.",
    not_json: () => "Das muss JSON sein.",
    not_object: () => "Das muss ein Objekt sein.",
    not_list: () => "Das muss eine Liste sein.",
    not_text: () => "Das muss ein Text sein.",
    not_boolean: () => "Das muss true oder false sein.",
    not_integer: () => "Das muss eine ganze Zahl sein.",
    too_long: (limit) => `Höchstens ${limit} Zeichen.`,
    too_short: (limit) => `Mindestens ${limit} Zeichen.`,
    too_many: (limit) => `Höchstens ${limit} Einträge.`,
    too_few: (limit) => (limit === 1 ? "Mindestens einer wird gebraucht." : `Mindestens ${limit} Einträge.`),
    too_large: (limit) => `Höchstens ${limit}.`,
    too_small: (limit) => `Mindestens ${limit}.`,
    too_much: () => "Das hat mehr Felder, Listen oder Einträge, als irgend etwas Richtiges hat.",
    not_offered: () => "Das steht nicht zur Wahl.",
    wrong_form: () => "Das hat nicht die Form, die hier gebraucht wird.",
    not_host: () => "Das muss ein Hostname sein, etwa shop.example.com.",
    not_https: () =>
      "Das muss eine https-Adresse mit einem Host sein; Leerzeichen und andere Sonderzeichen prozentkodiert.",
    not_path: () =>
      "Ein Pfad beginnt mit / und enthält kein ?, # oder \\: Aufrufe zählen unter dem Pfad ihrer Seite, ohne alles ab dem ?.",
    not_network: () => "Das muss eine Adresse oder ein Netz sein, etwa 192.0.2.7 oder 2001:db8::/32.",
    not_email: () => "Das muss eine E-Mail-Adresse sein.",
    not_token: () => "Das muss ein Token sein.",
    not_day: () => "Das muss ein Tag sein, etwa 2026-11-21.",
    reserved_code: () =>
      "Diesen Code rufen Programme von selbst ab, und jeder Abruf würde als Klick gezählt. Nehmen Sie einen anderen.",
    weak_password: () =>
      "Das Passwort ist zu leicht zu erraten: die Adresse, ein häufiges Wort oder ein wiederholtes Zeichen. Gut sind mehrere Wörter, die Sie sonst nirgends benutzen.",
    used_token: () => "Das Token ist nicht bekannt, schon benutzt oder abgelaufen. Fordern Sie eine neue E-Mail an.",
    on_link_host: () => "Das Ziel darf nicht auf dem Link-Host liegen.",
  },
  findings: {
    script_deleted: () => [WORKER, "ist eingerichtet", "wurde außerhalb des Dienstes gelöscht"],
    script_replaced: () => [WORKER, AS_SENT, "trägt nicht das Zeichen des Dienstes: ersetzt, oder ohne seine Tags"],
    script_changed: () => [WORKER, AS_SENT, "wurde außerhalb des Dienstes geändert"],
    script_not_known: () => [WORKER, AS_SENT, "stammt vom Dienst, aus einer Zeit, von der sein Speicher nichts weiß"],
    script_not_installed: ({ said }) => [WORKER, "ist eingerichtet", `ist es nicht: ${said}`],
    bindings_differ: ({ bindings }) => [WORKER, "hat die Bindungen, mit denen er kam", `hat andere: ${bindings}`],
    cron_changed: ({ cron, found }) => [CRON, `steht auf ${cron}`, `steht auf ${found}`],
    cron_deleted: ({ cron }) => [CRON, `steht auf ${cron}`, "wurde außerhalb des Dienstes gelöscht"],
    workers_dev_on: () => [
      "Die Adresse des Workers auf workers.dev",
      "ist abgeschaltet",
      "wurde außerhalb des Dienstes angeschaltet",
    ],
    database_deleted: () => [DATABASE, "ist da", "wurde außerhalb des Dienstes gelöscht"],
    tables_deleted: ({ schema, tables }) => [
      DATABASE,
      `hat die Tabellen des Schemas ${schema}`,
      `hat nicht mehr alles von ${tables}: Was dort gezählt und nicht gemeldet war, ist verloren`,
    ],
    configuration_newer: () => [
      CONFIGURATION,
      AS_KNOWN,
      "ist neuer als der Speicher des Dienstes, dem etwas verloren ging",
    ],
    configuration_older: ({ version, given }) => [
      CONFIGURATION,
      AS_KNOWN,
      `ist zurück bei Fassung ${version} von ${given}: Die Datenbank wurde auf einen früheren Stand gebracht; was seither gezählt und nicht gemeldet war, ist verloren`,
    ],
    configuration_differs: ({ rows, given }) => [
      CONFIGURATION,
      AS_KNOWN,
      `hat andere Zeilen (${rows} von ${given}): Manche wurden außerhalb des Dienstes gelöscht oder geändert`,
    ],
    reports_stopped: ({ since }) => [
      REPORTS,
      HOURLY,
      `haben aufgehört: Cloudflare startet ihn nicht mehr, seit ${moment(since)}`,
    ],
    reports_lost: ({ since }) => [REPORTS, HOURLY, `kommen nicht an, seit ${moment(since)}, obwohl er läuft`],
    route_not_made: ({ route, said }) => [
      `Die Route ${route}`,
      "ist eingerichtet",
      said ? `ist es nicht: ${said}` : "ist es noch nicht",
    ],
    route_deleted: ({ route }) => [`Die Route ${route}`, TO_WORKER, "wurde außerhalb des Dienstes gelöscht"],
    route_taken: ({ route, holder }) => [`Die Route ${route}`, TO_WORKER, `wird gehalten: ${holder}`],
    route_gone: ({ route }) => [`Die Route ${route}`, TO_WORKER, "ging mit ihrer Zone, die das Konto verlassen hat"],
    record_not_proxied: ({ host }) => [
      `Der DNS-Eintrag von ${host}`,
      "geht über den Proxy",
      "fehlt, oder hat eine graue Wolke",
    ],
    zone_inactive: ({ zone, status }) => [`Die Zone ${zone}`, "ist aktiv", `hat den Status ${status}`],
    token_missing: () => [TOKEN, "ist da", "fehlt"],
    token_expired: ({ at }) => [TOKEN, "gilt", `ist abgelaufen: ${moment(at)}`],
    token_inactive: ({ status }) => [TOKEN, "gilt", `ist ${status}`],
    right_missing: ({ right, said }) => [
      TOKEN,
      `hat das Recht ${right}`,
      `hat es nicht, oder nicht für alles: ${said}`,
    ],
    connect_cut_short: () => ["Das Verbinden", "ist beendet", "wurde abgebrochen"],
    connect_waits: () => ["Das Verbinden", "ist beendet", "wartet auf dieselbe Anfrage noch einmal"],
    operation_running: ({ operation, step }) => [
      `Der Vorgang „${operation}“`,
      "ist beendet",
      `ist beim Schritt „${step}“`,
    ],
  },
  left: {
    route: ({ route, host }, why) => `Route ${route} in der Zone von ${host}: ${why}.`,
    worker: ({ worker }, why) => `Worker ${worker}: ${why}.`,
    database: ({ database }, why) => `D1-Datenbank ${database}: ${why}.`,
    uncounted_database: ({ database }, why) =>
      `D1-Datenbank ${database}: Ihre letzten Zahlen waren nicht zu lesen (${why}), darum wurde sie nicht gelöscht.`,
    token: ({ token }, why) => `API-Token ${token}: ${why}.`,
    bootstrap_token: (_, why) => `Das Bootstrap-Token des Verbindens: ${why}.`,
  },
  whys: {
    too_slow: () => "Cloudflare hat nicht rechtzeitig geantwortet",
    unreachable: () => "Cloudflare hat versagt oder war nicht zu erreichen",
    daily_limit: () => "die freien Datenbankzeilen des Kontos sind für heute verbraucht",
    refused: ({ said }) => `Cloudflare hat abgelehnt: ${said}`,
    right_missing: () => "dem Arbeits-Token fehlt das Recht dazu",
    token_dead: () => "das Arbeits-Token gilt nicht mehr",
    token_missing: () => "der Dienst hat kein Arbeits-Token des Kontos",
    token_unreadable: () => "der Dienst kann das gespeicherte Arbeits-Token nicht öffnen",
    not_ours: () => "nicht vom Dienst angelegt",
    changed: () => "außerhalb des Dienstes geändert",
    leads_elsewhere: ({ holder }) => `sie führt zum Worker ${holder}`,
    leads_nowhere: () => "sie führt zu keinem Worker",
    leads_to_not_ours: ({ holder }) => `sie führt zum Worker ${holder}, ist aber nicht vom Dienst angelegt`,
    may_be_alive: () =>
      "gilt vielleicht noch, von einem abgebrochenen Versuch; Tokens zu löschen hat der Dienst kein Recht",
    alive_until: ({ until }) => `gilt vielleicht noch bis ${moment(until)}`,
  },
};

export default api;
