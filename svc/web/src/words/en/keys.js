/** API keys. */

export default {
  title: "Keys",
};
