/** The English texts of the first load, one file for each group of pages. words/de/ has the same files in German. */

import accounts from "./en/accounts.js";
import api from "./en/api.js";
import common from "./en/common.js";
import link from "./en/link.js";
import overview from "./en/overview.js";
import report from "./en/report.js";
import session from "./en/session.js";
import site from "./en/site.js";
import errors from "./en/errors.js";

export default {
  accounts,
  api,
  common,
  link,
  overview,
  report,
  session,
  site,
  errors,
};
