/** Was die API mit einem Code sagt: was an einem Feld nicht stimmt. */

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
    wrong_form: () => "Das hat nicht die Form, die dieses Feld nimmt.",
    not_host: () => "Das muss ein Hostname sein, etwa shop.example.com.",
    not_https: () =>
      "Das muss eine https-Adresse mit einem Host sein; Leerzeichen und andere Sonderzeichen prozentkodiert.",
    not_path: () => "Das muss mit / beginnen und nur Zeichen eines Pfads haben, andere prozentkodiert.",
    not_network: () => "Das muss eine Adresse oder ein Netz sein, etwa 192.0.2.7 oder 2001:db8::/32.",
    not_email: () => "Das muss eine E-Mail-Adresse sein.",
    not_token: () => "Das muss ein Token sein.",
    not_day: () => "Das muss ein Tag sein, etwa 2026-11-21.",
    reserved_code: () =>
      "Diesen Code rufen Programme von selbst ab, und jedes Mal zählte als Klick. Nehmen Sie einen anderen.",
    weak_password: () =>
      "Das Passwort ist zu leicht zu erraten: die Adresse, ein häufiges Wort oder ein wiederholtes Zeichen. Gut sind mehrere Wörter, die Sie sonst nirgends benutzen.",
    used_token: () => "Das Token ist nicht bekannt, schon benutzt oder abgelaufen. Fordern Sie eine neue E-Mail an.",
    on_link_host: () => "Das Ziel darf nicht auf dem Link-Host liegen.",
  },
  findings: {},
  left: {},
};

export default api;
