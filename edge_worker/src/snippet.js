/**
 * The page snippet. The build replaces SNIPPET with the minified source, in which __PATH__ is the placeholder for the
 * site's path.
 */

/* global SNIPPET */

/** @param {string} path of the site, e.g. "/ab3/x9k" @returns {string} the script */
export const snippetCode = (path) => SNIPPET.replaceAll("__PATH__", path);
