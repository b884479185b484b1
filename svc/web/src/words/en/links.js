/** Short links, their rules and QR codes. */

export default {
  title: "Links",
  add: "New link",
  edit: "Change the link",
};
