/** The title, tags and note of a link, in forms, lists and on the link's page. */

const linkFields = {
  title: "Title",
  titleHint: "Lists show it instead of the code. Visitors do not see it.",
  suggest: "Suggest a title",
  suggested: "The title of the destination is filled in.",
  noTitle: "The destination has no title, or cannot be read.",
  urlFirst: "Enter the destination first.",
  tags: "Tags",
  tagsHint: "Press Enter or type a comma after each tag.",
  removeTag: (/** @type {string} */ tag) => `Remove tag ${tag}`,
  note: "Note",
  noteHint: "Visitors do not see it.",
  code: "Code",
  filter: "Filter by tag",
  removeFilter: "remove filter",
  allTags: (/** @type {string} */ count) => `Show all ${count} tags`,
  fewerTags: "Show fewer",
  noneTagged: (/** @type {string} */ tag) => `No links have the tag “${tag}”.`,
  tagTitle: (/** @type {string} */ tag) => `Tag: ${tag}`,
  tagExplain: "Clicks on all links that have this tag now, including their clicks before they got it.",
  tagReport: "Show report",
  showTagged: "Show links",
};

export default linkFields;
