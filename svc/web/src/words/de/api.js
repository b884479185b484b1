/**
 * Texte zu Codes in Antworten der API: Fehler einzelner Felder, Ergebnisse einer Prüfung und Reste nach dem Trennen
 * eines Kontos. Die Texte der Ergebnisse und Reste stehen in svc/german/findings.py, weil auch E-Mails sie enthalten.
 */

import { moment, plural } from "../../format.js";
import { FINDINGS, LEFT, MOMENTS, WHYS } from "../../german.js";

/** @param {string} template with names of facts @param {import("../en/api.js").Facts} facts */
const fill = (template, facts) =>
  template.replace(/\{(\w+)\}/g, (_, name) => {
    const fact = facts[name] ?? "";
    return fact && MOMENTS.includes(name) ? moment(fact) : fact;
  });

/**
 * @template F
 * @param {Record<string, string>} templates
 * @param {(template: string) => F} filled
 * @returns {Record<string, F>}
 */
const each = (templates, filled) =>
  Object.fromEntries(Object.entries(templates).map(([code, template]) => [code, filled(template)]));

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
    too_few: (limit) => plural(limit, { one: "Mindestens ein Eintrag.", other: "Mindestens # Einträge." }),
    too_large: (limit) => `Höchstens ${limit}.`,
    too_small: (limit) => `Mindestens ${limit}.`,
    too_much: () => "Zu viele Felder, Listen oder Einträge.",
    not_offered: () => "Dieser Wert steht nicht zur Auswahl.",
    wrong_form: () => "Das Format ist ungültig.",
    not_host: () => "Muss ein Hostname sein, etwa shop.example.com.",
    not_https: () => "Muss eine https-Adresse mit Host sein. Leer- und Sonderzeichen müssen prozentkodiert sein.",
    not_path: () =>
      "Ein Pfad beginnt mit / und enthält kein ?, # oder \\. Aufrufe werden nach dem Pfad ohne Query gezählt.",
    not_network: () => "Muss eine IP-Adresse oder ein Netz sein, etwa 192.0.2.7 oder 2001:db8::/32.",
    not_email: () => "Muss eine E-Mail-Adresse sein.",
    not_token: () => "Muss ein Token sein.",
    not_day: () => "Muss ein Datum sein, etwa 2026-11-21.",
    in_future: () => "Geben Sie den heutigen oder einen früheren Tag an.",
    end_before_start: () => "Wählen Sie ein späteres Ende.",
    too_early: () => "Geben Sie einen späteren ersten Tag an. Ein Bericht umfasst höchstens 100 Jahre.",
    too_many_points: (limit) => `Wählen Sie ein längeres Intervall. Das Diagramm hätte mehr als ${limit} Punkte.`,
    hours_not_stored: () =>
      "Die Stundenwerte dieser Tage sind nicht mehr gespeichert. Wählen Sie ein anderes Intervall oder spätere Tage.",
    not_combinable: () => "Dieser Wert lässt sich nicht mit den anderen kombinieren.",
    not_readable: (_, message) => `Diese Datei kann nicht importiert werden: ${message}.`,
    low_contrast: () =>
      "Wählen Sie Farben mit mehr Helligkeitsunterschied. Der Code muss dunkler sein als sein Hintergrund.",
    reserved_code: () =>
      "Programme rufen diesen Pfad automatisch ab, und jeder Abruf würde als Klick gezählt. Wählen Sie einen anderen Code.",
    weak_password: () =>
      "Wählen Sie ein schwer zu erratendes Passwort mit mindestens 8 Zeichen, zum Beispiel mehrere Wörter ohne Zusammenhang.",
    used_token: () =>
      "Dieser Link ist ungültig, abgelaufen oder wurde schon verwendet. Fordern Sie eine neue E-Mail an.",
    on_link_host: () => "Das Ziel darf nicht auf dem Link-Host liegen.",
    target_of_link: () =>
      "Ein Link dieses Kontos führt zu diesem Host. Ändern Sie zuerst das Ziel des Links, oder löschen Sie ihn.",
    target_of_fallback: () =>
      "Der Link-Host leitet Besucher ohne gültigen Link zu diesem Host weiter. Ändern Sie zuerst die Weiterleitung.",
    other: () => "Dieser Wert ist ungültig.",
  },
  findings: Object.fromEntries(
    Object.entries(FINDINGS).map(([kind, [thing, expected, found, unexplained]]) => [
      kind,
      (facts) => {
        const state = unexplained && !facts.said ? unexplained : found;
        return [fill(thing, facts), fill(expected, facts), fill(state, facts)];
      },
    ]),
  ),
  left: each(LEFT, (template) => (facts, why) => fill(template, { ...facts, why })),
  whys: each(WHYS, (template) => (facts) => fill(template, facts)),
};

export default api;
