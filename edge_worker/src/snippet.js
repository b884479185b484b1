/**
 * The page snippet. The build replaces SNIPPET with the minified source, which has __PATH__ in place of the site's
 * path.
 */

/* global SNIPPET */

/** @param {string} path of the site, e.g. "/ab3/x9k" @returns {string} the script */
export const snippetCode = (path) => SNIPPET.replaceAll("__PATH__", path);
