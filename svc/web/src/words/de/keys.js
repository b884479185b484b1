/** API-Schlüssel. */

/** @type {typeof import("../en/keys.js").default} */
const keys = {
  title: "Schlüssel",
};

export default keys;
