/** The page's snippet. The build puts its minified text in place of SNIPPET, with __PATH__ for the site's path. */

/* global SNIPPET */

/** @param {string} path of the site, e.g. "/ab3/x9k" @returns {string} the script */
export const snippetCode = (path) => SNIPPET.replaceAll("__PATH__", path);
