/** Das Feld, das überallhin führt. */

/** @type {typeof import("../en/palette.js").default} */
const palette = {
  label: "Seite, Website oder Link",
  hint: "Name einer Seite, Host einer Website, Code oder Ziel eines Links",
  pages: "Seiten",
  count: (count) => (count === 1 ? "1 Ort" : `${count} Orte`),
  none: (q) => `Nichts hier hat „${q}“ im Namen.`,
};

export default palette;
