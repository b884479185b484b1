/** English texts that only the pages in pages/rest.jsx use. They load with those pages, not with the first page. */

import account from "./en/account.js";
import auth from "./en/auth.js";
import dns from "./en/dns.js";
import emailReports from "./en/email-reports.js";
import events from "./en/events.js";
import importTotals from "./en/import-totals.js";
import install from "./en/install.js";
import keys from "./en/keys.js";
import missing from "./en/missing.js";
import palette from "./en/palette.js";
import picker from "./en/picker.js";
import profile from "./en/profile.js";
import reference from "./en/reference.js";
import sites from "./en/sites.js";

export default {
  account,
  auth,
  dns,
  emailReports,
  events,
  importTotals,
  install,
  keys,
  missing,
  palette,
  picker,
  profile,
  reference,
  sites,
};
