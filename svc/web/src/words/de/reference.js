/** API-Referenz. */

import { plural } from "../../format.js";

/** @type {typeof import("../en/reference.js").default} */
const reference = {
  title: "API-Referenz",
  intro:
    "Alles, was die Webanwendung kann, geht auch über diese API. Alle Anfragen und die meisten Antworten sind JSON, alle Zeiten in UTC.",
  quick: {
    title: "Schnellstart",
    key: "Erstellen Sie einen API-Schlüssel.",
    keyText: "Senden Sie diese Anfrage mit einem Zugriffstoken von POST /auth/sign-in, oder öffnen Sie diese Seite:",
    toKeys: "API-Schlüssel",
    sites: "Rufen Sie die Liste Ihrer Websites ab.",
    report: "Rufen Sie den Bericht einer Website ab. SITE_ID ist die id aus der Liste.",
    copy: "Befehl kopieren",
  },
  conventions: "Konventionen",
  credential:
    "Senden Sie „Authorization: Bearer …“ mit einem API-Schlüssel. Schlüssel erstellen Sie auf der Seite „API-Schlüssel“.",
  errors:
    "Fehler haben die Form {error: {code, message, details}}. Werten Sie den Code aus; die Abhilfe steht in details.remedy.",
  writes:
    "Schreibende Anfragen akzeptieren einen Idempotency-Key. Eine Anfrage, die mit demselben Wert wiederholt wird, wird nur einmal ausgeführt.",
  programs: "Maschinenlesbar:",
  filter: "Operation suchen",
  found: (count) => `${count} gefunden`,
  access: {
    anybody: "Ohne Anmeldung.",
    bearer: "Erfordert eine Sitzung oder einen API-Schlüssel.",
    session: "Erfordert eine Sitzung. API-Schlüssel werden nicht akzeptiert.",
    worker: "Nur für installierte Worker, mit deren eigenem Schlüssel.",
    refresh: "Nur für Browser, mit deren Refresh-Cookie.",
  },
  parameters: "Parameter",
  body: "Body",
  fields: "Felder",
  nothing: "Leer oder {}.",
  absent: "optional",
  example: "Beispiel",
  response: (status) => `Antwort ${status}`,
  refusals: (count) => `Fehler (${count})`,
  places: { path: "Pfad", query: "Query", header: "Header" },
  tryIt: "Ausprobieren",
  real: "Das sendet eine echte Anfrage, die Ihre Daten ändert.",
  as: "Anmeldung mit",
  session: "Ihrer Sitzung",
  key: "API-Schlüssel",
  worker: "Schlüssel des Workers",
  send: (method) => `${method} senden`,
  onlyCookie: "Diese Operation akzeptiert nur das Refresh-Cookie des Browsers und lässt sich hier nicht ausprobieren.",
  noJson: "Der Body ist kein gültiges JSON.",
  took: (ms) => `${ms} ms`,
  headers: "Header",
  noText: "Die Antwort ist kein Text.",
  asCode: "Codebeispiel",
  types: {
    facts: {
      const: (value) => `immer ${value}`,
      enum: (values) => `eines von ${values.join(", ")}`,
      format: (name) => name,
      contentEncoding: (name) => name,
      minLength: (count) => `mindestens ${count} Zeichen`,
      maxLength: (count) => `höchstens ${count} Zeichen`,
      minimum: (value) => `mindestens ${value}`,
      maximum: (value) => `höchstens ${value}`,
      multipleOf: (value) => `ein Vielfaches von ${value}`,
      minItems: (count) => plural(count, { one: "mindestens 1 Eintrag", other: "mindestens # Einträge" }),
      maxItems: (count) => `höchstens ${count} Einträge`,
      minProperties: (count) => plural(count, { one: "mindestens ein Feld", other: "mindestens # Felder" }),
      propertyNames: (names) => `Schlüssel: ${names.enum.join(", ")}`,
      not: (values) => `keines von ${values.enum.join(", ")}`,
      pattern: (pattern) => pattern,
      default: (value) => `Standard ${JSON.stringify(value)}`,
      writeOnly: () => "nur schreibbar",
    },
  },
};

export default reference;
