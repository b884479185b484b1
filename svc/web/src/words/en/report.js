/** Reports of sites and links. */

export default {
  title: "Report",
};
