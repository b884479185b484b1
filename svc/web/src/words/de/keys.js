/** API-Schlüssel. */

/** @type {typeof import("../en/keys.js").default} */
const keys = {
  title: "API-Schlüssel",
  intro: "API-Schlüssel geben Programmen Zugriff auf Ihre Daten, mit den Berechtigungen, die Sie auswählen.",
  toReference: "Zur API-Referenz.",
  make: "Neuer API-Schlüssel",
  none: "Noch keine API-Schlüssel.",
  plan: (plan) => `Tarif: ${plan}`,
  full: "Sie haben die Höchstzahl an API-Schlüsseln Ihres Tarifs erreicht. Widerrufen Sie einen, den Sie nicht mehr brauchen, oder bitten Sie den Betreiber um mehr.",
  name: "Name",
  nameHint: "Zum Beispiel „Nächtlicher Export“.",
  unnamed: "Ohne Namen",
  may: "Berechtigungen",
  scopes: {
    accounts: { name: "Konten", about: "verbinden, installieren, trennen; Verlauf lesen" },
    sites: { name: "Websites", about: "lesen, hinzufügen, bearbeiten, löschen" },
    links: { name: "Links", about: "lesen, erstellen, bearbeiten, löschen" },
    reports: { name: "Berichte", about: "Berichte und Summen lesen" },
  },
  where: "Konten",
  allAccounts: "Alle Konten, auch künftige",
  theseAccounts: "Ausgewählte Konten",
  onlyAccounts: (accounts) => `Nur ${accounts}`,
  noAccounts: "Noch ist kein Konto verbunden.",
  fromWhere: "IP-Adressen",
  anyAddress: "Jede IP-Adresse",
  theseAddresses: "Ausgewählte IP-Adressen",
  onlyAddresses: (addresses) => `Nur von ${addresses}`,
  addresses: "IP-Adressen und Netze",
  addressesHint: "Eine pro Zeile, etwa 192.0.2.7 oder 2001:db8::/32.",
  forGood:
    "Den Namen eines Schlüssels können Sie später ändern, die Berechtigungen und Einschränkungen nicht. Um diese zu ändern, erstellen Sie einen neuen Schlüssel.",
  submit: "Schlüssel erstellen",
  only: "Einschränkungen",
  made: "Erstellt",
  used: "Zuletzt verwendet",
  never: "Nie",
  change: "Aktionen",
  rename: "Umbenennen",
  renameOf: (name) => `„${name}“ umbenennen`,
  revoke: "Widerrufen",
  revokeOf: (name) => `„${name}“ widerrufen`,
  revokeText:
    "Anfragen mit diesem Schlüssel werden sofort abgelehnt. Alles, was damit erstellt wurde, bleibt erhalten. Das lässt sich nicht rückgängig machen.",
  issued: {
    title: "Ihr neuer API-Schlüssel",
    titleOf: (name) => `Ihr neuer API-Schlüssel „${name}“`,
    once: "Kopieren Sie den Schlüssel jetzt, und bewahren Sie ihn sicher auf. Er wird nur einmal angezeigt.",
    copy: "Schlüssel kopieren",
    tryIt: "So testen Sie den Schlüssel:",
    copyCall: "Befehl kopieren",
    stored: "Schlüssel ist gespeichert",
  },
};

export default keys;
