/** Actions for several links, and the restoration of deleted links. */

import { plural } from "../../format.js";

export default {
  selection: "Selection",
  select: (/** @type {string} */ link) => `Select ${link}`,
  selectKey: "select link",
  selectShown: "Select all shown",
  selectAll: "Select all links in this list",
  selected: (/** @type {number} */ count) => plural(count, { one: "# link selected", other: "# links selected" }),
  allSelected: "All links in this list are selected, including those not shown",
  clear: "Clear selection",
  addTags: "Add tags",
  removeTags: "Remove tags",
  delete: "Delete",
  continue: "Continue",
  wouldAdd: (/** @type {string} */ tags, /** @type {number} */ count) =>
    plural(count, { one: `# link will get these tags: ${tags}.`, other: `# links will get these tags: ${tags}.` }),
  wouldRemove: (/** @type {string} */ tags, /** @type {number} */ count) =>
    plural(count, { one: `# link will lose these tags: ${tags}.`, other: `# links will lose these tags: ${tags}.` }),
  addTo: (/** @type {number} */ count) => plural(count, { one: "Add to # link", other: "Add to # links" }),
  removeFrom: (/** @type {number} */ count) =>
    plural(count, { one: "Remove from # link", other: "Remove from # links" }),
  changed: (/** @type {number} */ count) =>
    plural(count, { one: "# link was changed.", other: "# links were changed." }),
  deleteTitle: (/** @type {number} */ count) => plural(count, { one: "Delete # link?", other: "Delete # links?" }),
  deleteThem: (/** @type {number} */ count) => plural(count, { one: "Delete # link", other: "Delete # links" }),
  deleteText:
    "These links and their printed QR codes will stop working. Their reports are kept. You can restore a link within 30 days if no other link uses its code.",
  deleted: (/** @type {number} */ count) =>
    plural(count, { one: "# link was deleted.", other: "# links were deleted." }),
  none: "None of the selected links can be changed.",
  refused: (/** @type {number} */ count) =>
    plural(count, { one: "# link cannot be changed:", other: "# links cannot be changed:" }),
  undo: "Undo",
  restore: "Restore",
  restoreNamed: (/** @type {string} */ link) => `Restore ${link}`,
  restored: (/** @type {number} */ count) =>
    plural(count, { one: "# link was restored.", other: "# links were restored." }),
  restoredOne: (/** @type {string} */ link) => `${link} was restored.`,
  restorable: (/** @type {string} */ until) =>
    `You can restore the link until ${until} if no other link uses its code.`,
};
