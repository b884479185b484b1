/** Strings for a single site, used on several pages. */

export default {
  add: "Add site",
  settings: "Settings",
  firstNine: "open the first site (2 to 9: second to ninth)",
  deletedNote: "Views of this site are no longer counted. Its report is kept.",
  openSite: "Open site",
};
