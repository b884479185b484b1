/** The page of an object that does not exist. */

export default {
  titles: {
    account: "This account does not exist",
    site: "This site does not exist",
    link: "This link does not exist",
  },
  text: "Check the URL. The account, site or link may have been deleted or may belong to another user.",
  lists: { account: "Go to accounts", site: "Go to sites", link: "Go to links" },
};
