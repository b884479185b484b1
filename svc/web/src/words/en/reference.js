/** The reference of the API. */

export default {
  title: "API",
};
