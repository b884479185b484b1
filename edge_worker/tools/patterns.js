/**
 * The Worker's patterns and limits as data. The service uses them to predict what a click on a link does and how the
 * Worker counts it.
 */

import { getPattern } from "isbot";

import * as agents from "../src/agents.js";
import * as bots from "../src/bots.js";
import * as languages from "../src/languages.js";
import { MAX_TARGET_CHARS } from "../src/link_query.js";
import * as sources from "../src/sources.js";

/** @typedef {[source: string, flags: string]} Pattern */

/** @param {RegExp} pattern @returns {Pattern} */
const shown = ({ source, flags }) => [source, flags];

/** @param {readonly (readonly [string, RegExp])[]} list @returns {[name: string, ...Pattern][]} */
const named = (list) => list.map(([name, pattern]) => [name, ...shown(pattern)]);

/**
 * In the lists `browsers` and `systems`, the first pattern that matches determines the name. Other keys have the names
 * of the Worker's constants.
 */
export const patterns = {
  ua_chars: agents.UA_CHARS,
  source_chars: sources.SOURCE_CHARS,
  named_chars: sources.NAMED_CHARS,
  referrer_chars: sources.REFERRER_CHARS,
  language_chars: languages.LANGUAGE_CHARS,
  target_chars: MAX_TARGET_CHARS,
  qr: sources.QR,
  browsers: named(agents.BROWSERS),
  systems: named(agents.SYSTEMS),
  desktop_ipad: shown(agents.DESKTOP_IPAD),
  console: shown(agents.CONSOLE),
  tv: shown(agents.TV),
  tablet: shown(agents.TABLET),
  mobile: shown(agents.MOBILE),
  desktop: shown(agents.DESKTOP),
  headless: shown(bots.HEADLESS),
  preview: shown(bots.PREVIEW),
  crawler: shown(getPattern()),
  more: shown(bots.MORE),
  harmless: shown(bots.HARMLESS),
  referrer: shown(sources.REFERRER),
  at_sign: shown(sources.AT_SIGN),
  named: shown(sources.NAMED),
  marker: shown(sources.MARKER),
  language_range: shown(languages.LANGUAGE_RANGE),
};
