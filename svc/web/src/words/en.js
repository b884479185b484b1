/** Every text in English. Each group of pages has a file of its own; words/de/ has the same files in German. */

import accounts from "./en/accounts.js";
import common from "./en/common.js";
import door from "./en/door.js";
import events from "./en/events.js";
import keys from "./en/keys.js";
import links from "./en/links.js";
import overview from "./en/overview.js";
import profile from "./en/profile.js";
import reference from "./en/reference.js";
import report from "./en/report.js";
import sites from "./en/sites.js";
import troubles from "./en/troubles.js";

export default {
  accounts,
  common,
  door,
  events,
  keys,
  links,
  overview,
  profile,
  reference,
  report,
  sites,
  troubles,
};
