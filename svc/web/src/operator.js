/** The name and the logo of the service. The service writes them into the page. */

/** Read before a page changes the title. */
export const product = document.title;

/** The path of the operator's logo, or undefined for the built-in logo. */
export const { logo } = document.head.dataset;
