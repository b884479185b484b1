/** Was geändert wurde, und von wem. */

/** @type {typeof import("../en/events.js").default} */
const events = {
  title: "Verlauf",
};

export default events;
