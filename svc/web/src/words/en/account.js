/** The list of accounts, the connect form and the page of an account. */

import { list, longDay, number, plural } from "../../format.js";

export default {
  one: "Account",
  empty:
    "No account is connected yet. When you connect your Cloudflare account, the service adds a Worker, a database and a cron trigger to it, and nothing else.",
  columns: { account: "Account", state: "Status", use: "Plan usage", report: "Last report" },
  noReport: "None yet",
  notKnown: "Not available yet",
  levels: { ok: "Within limits", watch: "Approaching limit", upgrade_soon: "Upgrade soon", over: "Over limit" },

  token: {
    title: "Create a bootstrap token",
    intro:
      "Cloudflare's form for this account opens with these permissions filled in. Set the expiry date. If a permission is missing from the form, add it.",
    anyIntro:
      "Cloudflare's form opens with these permissions filled in. Select the account and set the expiry date. If a permission is missing from the form, add it.",
    open: "Open Cloudflare's form",
    ends: "Expiry date: tomorrow",
    missing: "missing",
    who: "You need to be a Super Administrator or Administrator of the account, or have the API Token Provisioning role.",
    label: "Bootstrap token",
    hint: "Used once, then deleted from Cloudflare. This service never stores it.",
    kinds: {
      "": "",
      user: "This is a user token (cfut_…). Create an account token (cfat_…) instead.",
      global: "This is the Global API Key, which this service does not use. Create an account token (cfat_…) instead.",
    },
  },
  wizard: {
    intro: "Three steps. The installation takes a few seconds.",
    account: "Choose the account",
    id: "Account ID",
    dashboard: "Open the Cloudflare dashboard",
    idHint: "32 characters. You can also paste the URL of any page of the account in the Cloudflare dashboard.",
    nameHint: "The account's name in this service. By default, it is the name at Cloudflare.",
    location: "Database location",
    locationHint:
      "Choose a region near your visitors. “Automatic” chooses one near this service. You cannot change the region later.",
    paste: "Paste the token",
    submit: "Connect",
    asking: "Checking with Cloudflare…",
    settling:
      "Cloudflare does not accept the token yet. New tokens can take a few seconds to work, so the service keeps trying.",
    creating: "Cloudflare has accepted the token. The service is creating its own token for this account.",
    goOn: "Continue",
    kept: "Your input is still here. “Continue” sends the same request again.",
    toAccount: "Open the account",
    toProfile: "See your limits",
    stillValid:
      "The bootstrap token is still valid. Use it for the next attempt, or delete it in the Cloudflare dashboard under Manage Account → Account API Tokens.",
  },
  locations: {
    "": "Automatic",
    wnam: "Western North America",
    enam: "Eastern North America",
    weur: "Western Europe",
    eeur: "Eastern Europe",
    apac: "Asia-Pacific",
    oc: "Oceania",
    eu: "European Union only",
    fedramp: "FedRAMP",
  },

  details: "Details",
  summary: {
    reported: (/** @type {string} */ ago) => `Last report ${ago}`,
    neverReported: "No report yet",
    sites: (/** @type {number} */ count, /** @type {boolean} */ more) =>
      more ? `${number(count)}+ sites` : plural(count, { one: "# site", other: "# sites" }),
    links: (/** @type {number} */ count, /** @type {boolean} */ more) =>
      more ? `${number(count)}+ links` : plural(count, { one: "# link", other: "# links" }),
  },
  menu: {
    label: "More actions",
    rename: "Rename",
    renew: "Renew token",
    install: "Reinstall",
    disconnect: "Disconnect",
    again: "Reconnect",
  },
  rename: { name: "Name", submit: "Rename" },
  renew: {
    title: (/** @type {string} */ name) => `Renew the token for ${name}`,
    explain:
      "The service creates a new working token for this account and deletes the old one. The Worker keeps running.",
    submit: "Renew",
  },
  progress: {
    connect: "Connecting",
    renew: "Renewing the token",
    install: "Installing",
    update: "Updating the Worker",
    disconnect: "Disconnecting",
    awaitsReport: "Waiting for the Worker's first report",
    steps: {
      token: "Token",
      database: "Database",
      script: "Worker",
      cron: "Cron trigger",
      selfcheck: "First report",
      routes: "Routes",
    },
    leave: "You can leave this page. The operation continues in the background.",
    ready: "The Worker's first report can take up to 15 minutes.",
    waits: "Cloudflare stopped responding. To continue, reconnect the account within an hour.",
    changed: (/** @type {string} */ ago) => `Last step ${ago}.`,
    slow: "Cloudflare is responding slowly. The service keeps trying.",
    failed: {
      connect: "Connecting failed",
      renew: "Renewing the token failed",
      install: "Installation failed",
      update: "The update failed. The previous version keeps running.",
      disconnect: "Disconnecting failed",
    },
  },
  revoke: {
    title: "Delete these tokens in the Cloudflare dashboard if they still exist:",
    open: "Open the list of tokens",
  },
  warnings: {
    bootstrap_not_deleted:
      "The bootstrap token may still be valid. Delete it in the Cloudflare dashboard, or let it expire.",
    orphan_not_deleted:
      "A token from an earlier attempt may still be valid. To delete it, use the Cloudflare dashboard or renew the working token here.",
    old_token_not_deleted: "The previous token may still be valid. Delete it in the Cloudflare dashboard.",
    token_expires_soon: "The working token expires within 14 days. Renew it.",
    not_confirmed:
      "The Worker has not reported since it was installed. Cloudflare can take 15 minutes to start a new cron trigger.",
    crons_stopped: "The Worker is counting, but its cron trigger has not run for two hours. Reinstall the Worker.",
    daily_limit:
      "Today's free quota of database rows is used up. New changes to sites and links take effect after midnight UTC.",
  },

  plan: {
    title: "Plan usage",
    intro:
      "Requests and rows: the last seven full days (UTC), across the whole Cloudflare account. Database: the current size of the Worker's database.",
    none: "Available from the day after you connect.",
    of: (/** @type {string} */ value, /** @type {string} */ limit) => `${value} of ${limit}`,
    metrics: {
      requests: "Requests per day",
      writes: "Rows written per day",
      reads: "Rows read per day",
      size: "Database",
    },
    busiest: (/** @type {string} */ day) => `Busiest day: ${longDay(day)}`,
    idle: "No usage.",
    forecast: (/** @type {string} */ day) => `At this rate, the limit will be reached on ${longDay(day)}.`,
    unavailable: "Cloudflare did not report this.",
    shorter_hourly_retention:
      "Only the database is near or over its limit. Keep breakdowns for fewer days to make the database smaller.",
    shorter_month_retention:
      "Only the database is near or over its limit. Keep breakdowns for fewer months to make the database smaller.",
    keepFewer: { shorter_hourly_retention: "Keep fewer days", shorter_month_retention: "Keep fewer months" },
    choose: "Cloudflare plan",
    chooseHint:
      "Cloudflare does not report your plan, so select it here. Select Paid only if the account has a paid Workers plan. Otherwise, the Worker can exceed the free plan's daily limit, and views are lost.",
    free: "Free",
    paid: "Paid",
    asked: (/** @type {string} */ ago) => `Checked ${ago}.`,
  },

  retention: {
    label: "Breakdown retention",
    kept: (/** @type {number} */ days, /** @type {number | "forever"} */ months) =>
      `${days} days; monthly sums ${months === "forever" ? "permanently" : `for ${months} months`}`,
    change: "Change retention",
    hint: "Daily totals are kept permanently. Pages, sources, countries and other breakdowns are kept for the number of days shown, and after that only as monthly sums.",
    title: "Change breakdown retention",
    explain:
      "Daily totals are kept permanently. Breakdowns (pages, sources, countries …) are kept for the number of days below, and after that only as sums of whole months. If you reduce either number, older breakdowns or sums are deleted permanently, and the database shrinks over the following nights.",
    days: "Days",
    range: (/** @type {number} */ least, /** @type {number} */ most) => `${least} to ${most} days.`,
    months: "Months before the current month",
    monthsHint: (/** @type {number} */ least) => `${least} or more. Leave this empty to keep monthly sums permanently.`,
    submit: "Save",
  },

  host: {
    title: "Link host",
    intro: "All short links in this account use this host. This host cannot also serve a website.",
    later: "You can set a link host once the account is ready.",
    label: "Host",
    hint: "An unused subdomain directly below one of your zones.",
    set: "Set link host",
    change: "Change",
    changeTitle: (/** @type {string} */ host) => `Replace ${host}?`,
    changeWarning:
      "All short links move to the new host. Short links and QR codes that use the old host will stop working.",
    usage: (/** @type {string} */ clicks, /** @type {string | null} */ scans) =>
      `Clicks in the last 30 days: ${clicks}${scans === null ? "" : ` (${scans} from QR codes)`}.`,
    configuration: "Configuration",
    state: "Status",
    replace: "Replace the website. Its pages are unreachable while this host serves links.",
    certificate: "I have a certificate for this host.",
  },

  redirects: {
    title: "Visitors without a valid link",
    root: "Visits without a code",
    notFound: "Unknown codes and paths",
    page: "Show a short “not found” page",
    explain:
      "Redirect these visitors to a page on your website. If a field is empty, they see a short “not found” page instead.",
    change: "Change redirects",
    submit: "Save",
  },

  installed: {
    title: "Installation",
    id: "Cloudflare account",
    worker: "Worker",
    upToDate: "up to date",
    outdated: "older version, updates automatically",
    since: "Installed",
    tables: (/** @type {number} */ schema) => `schema version ${schema}`,
    database: "Database",
    token: "Working token",
    tokenEnds: (/** @type {string} */ when) => `expires ${when}`,
    report: "Last report",
    queue: (/** @type {number} */ count) => (count === 0 ? "nothing queued" : `messages queued: ${number(count)}`),
    dropped: "Not counted",
  },
  reasons: {
    budget: "to stay within the day's free quota of database rows",
    invalid: "not sent by the snippet",
    unknown_target: "unknown site or link",
    too_old: "arrived after the day's totals were final",
    busy: "database error",
    expired: "queued too long",
  },

  check: {
    byItself: "No action needed. The service repairs this automatically.",
    title: "Health check",
    intro: "Compares your Cloudflare account with the expected setup, and repairs what is safe to repair.",
    submit: "Check now",
    asking: "Checking…",
    well: "No problems found.",
    expected: "Expected",
    found: "Found",
    repaired: "repaired",
    open: "needs attention",
  },

  ledger: {
    title: "Statement of counts",
    intro:
      "Follows every event of a day through each stage of counting. Each stage has its own count, so a lost event shows up as a difference.",
    day: "Day (UTC)",
    show: "Show statement",
    target: "Site or link",
    accepted: "Accepted",
    dropped: "Dropped",
    waiting: "Waiting",
    counted: "Counted",
    pushed: "Pushed",
    stored: "Stored",
    agrees: "Match",
    bots: (/** @type {number} */ count) => `bots: ${number(count)}`,
    yes: "yes",
    all: "All numbers match.",
    open: "The day is still in progress.",
    differs: "Some numbers do not match.",
    nothing: "Nothing was counted on this day.",
    unavailable: {
      not_installed: "The Worker is not installed, so only stored numbers are available.",
      cloudflare: "Cloudflare did not respond, so only stored numbers are available.",
      rate_limited: "Too many requests this minute, so only stored numbers are available.",
      not_kept:
        "The Worker keeps its records for 35 days. For this day, only the totals that the service has saved are available.",
      not_counted: "The Worker's database was created after this day.",
    },
    faults: {
      counting: "error in the Worker",
      unknown_target: "not in this account",
      refused: "a push was rejected",
      push: "error in transit",
      store: "error in storage",
      set_back: "the database was restored to an earlier state",
    },
    offBy: (/** @type {string} */ views, /** @type {string} */ bots) => `views: ${views}, bots: ${bots}`,
    platform: (/** @type {number} */ estimate, /** @type {number} */ least, /** @type {number} */ most) =>
      `Cloudflare's own count of requests to the Worker: ${number(estimate)} (between ${number(least)} and ${number(most)}). It is based on samples, lags by a few minutes, and includes 1,440 cron runs per day.`,
    notPlatform: "Cloudflare's own count for this day is not available.",
    lost: (/** @type {string[]} */ parts) => `Not counted, across all sites and links: ${list(parts)}.`,
  },

  demonstration: {
    title: "This is a demonstration",
    text: (/** @type {string} */ host) =>
      `Cloudflare is emulated here. You can connect this account, which has the zone ${host}:`,
    token: "Bootstrap token",
    fill: "Fill in these values",
    name: "Second account",
    emulatedSite: "This site is emulated, so a browser cannot open it. You can view one of its pages here instead.",
    visit: "View a page",
    noForm: "In this demonstration, the token already exists.",
  },
  disconnect: {
    title: (/** @type {string} */ name) => `Disconnect ${name}`,
    explain:
      "This removes the routes, Worker and database from the Cloudflare account and deletes the account's sites and links here. Counting stops, and short links stop working.",
    stays: "All reports are kept. Disconnecting takes up to a minute.",
    submit: "Disconnect",
    asking: "Disconnecting…",
    done: "Disconnected",
    clean: "Everything that the service installed was removed from the Cloudflare account.",
    cleanButToken:
      "The Worker, the database and the routes were removed from the Cloudflare account. Only the working token remains, because it cannot delete itself.",
    kept: "The totals and reports of the account's sites and links are kept:",
    left: "The following could not be removed:",
    back: "Back to accounts",
  },
};
