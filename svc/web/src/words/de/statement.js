/** Der Zählnachweis unter den Summen eines Berichts. */

/** @type {typeof import("../en/statement.js").default} */
const statement = {
  counts: (arrived, counted, stored) => `${arrived} eingegangen, ${counted} gezählt, ${stored} gespeichert`,
  verdicts: {
    agrees: () => "alle Zahlen stimmen überein, Bots eingeschlossen",
    open: () => "bisher stimmen die Zahlen überein; der Rest wird nach Ende der Stunde gezählt und übertragen",
    lost: (dropped) => `${dropped} konnten nicht gezählt werden`,
    differs: () => "die Zahlen stimmen nicht überein",
  },
  nothing: "An diesem Tag ist nichts eingegangen",
  unavailable: "Zählnachweis nicht verfügbar",
  unknown: "Kein Zählnachweis für diesen Tag",
  soon: "Der Zählnachweis folgt innerhalb einer Stunde",
  full: "Zählnachweis",
};

export default statement;
