/** Die Referenz der API. */

/** @type {typeof import("../en/reference.js").default} */
const reference = {
  title: "API",
};

export default reference;
