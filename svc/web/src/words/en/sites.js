/** Sites: list, form, settings, snippet and setup. */

export default {
  title: "Sites",
  site: "Site",
  account: "Account",
  state: "Status",
  viewsOf: (/** @type {string} */ days) => `Views, ${days}`,
  days7: (/** @type {string} */ days) => `Views per day, last seven days (UTC): ${days}`,
  noViewYet: "No views yet",
  search: "Search sites",
  order: "Sort by",
  orders: { newest: "Newest", oldest: "Oldest", host: "Host" },
  which: "Show",
  whiches: { active: "Active", deleted: "Deleted" },
  empty: "No sites yet. Add a site and put its snippet on your pages. Its views appear here.",
  emptyAccount: "Connect an account before you add a site.",
  notFound: (/** @type {string} */ q) => `No sites match “${q}”.`,
  showDeleted: "Show deleted sites",
  showAll: "Show all sites",
  noneDeleted: "No deleted sites.",
  host: "Host",
  hostHint:
    "As visitors type it, such as example.com or blog.example.com. If its zone or DNS record is not ready, the site's page shows what to do.",
  zones: "Zones of your accounts",
  zonesCut: "Not all zones of the account are listed. You can type a host in any zone.",
  more: "Exclusions",
  excluded: "Excluded paths",
  excludedHint: "One per line, up to 50. Pages whose path starts with one of these, such as /admin, are not counted.",
  networks: "Excluded addresses and networks",
  networksHint: "One per line, up to 20, such as 192.0.2.7 or 2001:db8::/64. Views from these are not counted.",
  excludeMine: "Exclude my address",
  addressAdded: (/** @type {string} */ address) =>
    `Added ${address}, the address that the service sees. Your internet provider may give you a new address later.`,
  networkAdded: (/** @type {string} */ network) =>
    `Added ${network}. Devices often change their IPv6 address, so this entry covers the entire network of your connection. ` +
    "If your connection also uses IPv4, add your IPv4 address as well.",
  addressUnknown: (/** @type {string} */ address) =>
    `Your public address could not be detected: the service sees ${address || "no address"}. Enter your public address.`,
  countries: "Excluded countries",
  noCountries: "None",
  moreCountries: (/** @type {number} */ count) => `${count} more`,
  asns: "Excluded autonomous systems (ASN)",
  asnsHint: "Up to 20 AS numbers of internet providers or companies, separated by commas. Example: AS64496.",
  gpc: "Respect Global Privacy Control and Do Not Track",
  optOut: {
    offer: "Offer visitors an opt-out page",
    title: "Opt-out page",
    explain:
      "On the opt-out page, visitors can turn counting off for their browser, or back on. A browser stores a cookie only while counting is off.",
    copyAddress: "Copy address",
    privacy: "Text for your privacy policy",
    privacyText: (/** @type {string} */ address) =>
      "We count visits to this website. We use no cookies for this and do not store your IP address. If you do not want " +
      `your visits to be counted, you can turn counting off for your browser: ${address}. Your browser then stores this ` +
      "choice in a cookie for 400 days.",
    copyText: "Copy text",
    rotate:
      "The opt-out page gets a new address. Visitors who have turned counting off are counted again until they turn it off on the new page.",
  },
  save: "Save",
  saved: "Saved.",
  savedPending: "Saved. The change takes effect in a few seconds.",
  snippet: "Snippet",
  snippetHint: "Add the snippet to the <head> of every page.",
  forms: { inline: "Inline", script_tag: "Script tag" },
  formHints: {
    inline: "Loads no extra file. The view is sent as soon as the page is shown.",
    script_tag: "Loads the same code from your own host and keeps your pages small.",
  },
  copySnippet: "Copy snippet",
  policy: "Does your site have a Content-Security-Policy?",
  policyHint: "Allow the snippet by adding this to your policy:",
  copyPolicy: "Copy line",
  setup: "Waiting for the first view",
  steps: {
    route: "Route created",
    config: "Site synced to the Worker",
    view: "First view received",
  },
  waiting: "waiting",
  viewHint: "Open a page of the site in a browser. The view appears here within 30 seconds. Totals update every hour.",
  seenLive: "Your first page view!",
  seenText: "Views of your site are now being counted. The report below is live.",
  seenView: (/** @type {string} */ country, /** @type {string} */ page, /** @type {string} */ browser) =>
    `Someone just opened ${page} in ${browser}. Country: ${country}. The report below is live.`,
  onlyBots: "Only bots have visited so far. Their visits do not count as views.",
  look: "Check now",
  advice: {
    title: "No views after five minutes? Common causes:",
    items: [
      "The snippet is missing, or a cache still serves the page without it.",
      "A Content-Security-Policy blocks the snippet. The browser console shows this.",
      "The host's DNS record is not proxied, so Cloudflare does not see its visitors.",
      "The page is under an excluded path.",
      "Your own browser blocks analytics or asks not to be counted. Try another browser.",
    ],
  },
  rotate: "Change tracking path",
  rotateWhy: "Change the path if someone sends fake views to it, or if an ad blocker blocks it.",
  rotateTitle: (/** @type {string} */ host) => `Change the tracking path of ${host}?`,
  rotateWhat:
    "You get a new path and snippet. Put the new snippet on your pages. Views from the old snippet are counted for a few more weeks. After the change, this page shows the exact end date.",
  retiring: "Old tracking paths that still work",
  until: (/** @type {string} */ day) => `until ${day}`,
  remove: "Delete site",
  removeWhy: "Counting stops immediately. The report is kept.",
  removeTitle: (/** @type {string} */ host) => `Delete ${host}?`,
  removeWhat:
    "Counting stops, and the site's routes are removed. Its totals and report are kept. You can remove the snippet from your pages at any time.",
  report: "Report",
};
