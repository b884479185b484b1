/** Tags of links, in the form in which the service stores them. Pure functions. */

/** @param {string} text @returns {string} the tag: in lower case, with `-` for spaces; "" if nothing remains */
export const asTag = (text) => text.normalize("NFC").trim().toLowerCase().replace(/\s+/g, "-");

/**
 * @param {string[]} tags
 * @param {string} text one or several tags, separated by commas
 * @returns {string[]} `tags` and the tags in the text, sorted
 */
export const withTags = (tags, text) => [...new Set([...tags, ...text.split(",").map(asTag).filter(Boolean)])].sort();

/** @param {string[]} tags @param {string} tag @returns {string[]} */
export const withoutTag = (tags, tag) => tags.filter((one) => one !== tag);
