/** Suchdialog, der jede Seite, jede Website und jeden Link öffnet. */

import { plural } from "../../format.js";

/** @type {typeof import("../en/palette.js").default} */
const palette = {
  label: "Seite, Website oder Link",
  hint: "Seiten, Websites und Links suchen",
  pages: "Seiten",
  count: (count) => plural(count, { one: "# Ergebnis", other: "# Ergebnisse" }),
  none: (q) => `Keine Ergebnisse für „${q}“.`,
};

export default palette;
