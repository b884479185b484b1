/** All texts in German. A missing text is a type error. */

import account from "./de/account.js";
import accounts from "./de/accounts.js";
import api from "./de/api.js";
import common from "./de/common.js";
import dns from "./de/dns.js";
import auth from "./de/auth.js";
import emailReports from "./de/email-reports.js";
import events from "./de/events.js";
import importTotals from "./de/import-totals.js";
import install from "./de/install.js";
import keys from "./de/keys.js";
import link from "./de/link.js";
import linkActions from "./de/link-actions.js";
import linkFields from "./de/link-fields.js";
import links from "./de/links.js";
import lists from "./de/lists.js";
import missing from "./de/missing.js";
import notes from "./de/notes.js";
import overview from "./de/overview.js";
import palette from "./de/palette.js";
import picker from "./de/picker.js";
import profile from "./de/profile.js";
import qr from "./de/qr.js";
import range from "./de/range.js";
import reference from "./de/reference.js";
import report from "./de/report.js";
import session from "./de/session.js";
import shares from "./de/shares.js";
import site from "./de/site.js";
import sites from "./de/sites.js";
import statement from "./de/statement.js";
import errors from "./de/errors.js";

/** @type {import("../words.js").Words} */
const de = {
  account,
  accounts,
  api,
  common,
  dns,
  auth,
  emailReports,
  events,
  importTotals,
  install,
  keys,
  link,
  linkActions,
  linkFields,
  links,
  lists,
  missing,
  notes,
  overview,
  palette,
  picker,
  profile,
  qr,
  range,
  reference,
  report,
  session,
  shares,
  site,
  sites,
  statement,
  errors,
};

export default de;
