/** Strings for a single site, used on several pages. */

export default {
  add: "Add site",
  settings: "Settings",
  firstNine: "open site 1 (2 to 9 for the next sites)",
  deletedNote: "Views of this site are no longer counted. Its report is kept.",
  openSite: "Open site",
};
