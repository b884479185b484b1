/** The name of a link on pages. */

/**
 * @param {import("./wire").Link} link
 * @returns {string} `go.example.com/abc`, or only the code if there is no link host
 */
export const bare = ({ code, short_url }) => short_url?.replace(/^https:\/\//, "") ?? code;
