/** What was changed, by whom. */

export default {
  title: "History",
};
