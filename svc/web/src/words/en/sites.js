/** Sites, their snippet and settings. */

export default {
  title: "Sites",
  add: "Add a site",
  settings: "Settings",
};
