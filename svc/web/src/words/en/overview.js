/** The first page. */

export default {
  title: "Overview",
  accounts: "Accounts",
  sites: "Sites",
  account: "Account",
  site: "Site",
  state: "State",
  noAccounts: "No account is connected yet.",
  noSites: "No site is counted yet.",
  views7d: "Views in 7 days (UTC)",
};
