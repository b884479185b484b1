/** The operator's name and logo for the service, which the service writes into the page. */

/** The service's name. The module reads it before a page changes the document's title. */
export const product = document.title;

/** The path of the operator's logo, or undefined for the built-in logo. */
export const { logo } = document.head.dataset;
