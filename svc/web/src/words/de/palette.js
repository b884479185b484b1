/** Suchdialog, der jede Seite, jede Website und jeden Link öffnet. */

/** @type {typeof import("../en/palette.js").default} */
const palette = {
  label: "Seite, Website oder Link",
  hint: "Seiten, Websites und Links suchen",
  pages: "Seiten",
  count: (count) => (count === 1 ? "1 Ergebnis" : `${count} Ergebnisse`),
  none: (q) => `Keine Ergebnisse für „${q}“.`,
};

export default palette;
