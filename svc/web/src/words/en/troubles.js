/**
 * What went wrong and what to do, by code: where the pages say it otherwise than the service, or the service says
 * nothing. For other codes its own message and remedy are shown.
 */

/** @type {Record<string, [message: string, remedy: string | null]>} */
const troubles = {
  offline: ["The service was not reached.", "Check the connection; it is tried again by itself."],
  unexpected: [
    "Something answered that is not the service.",
    "Load the page again. If it stays so, tell the operator.",
  ],
  unauthorized: ["You are not signed in any more.", "Sign in again."],
  rate_limited: ["Too many tries.", null],
  invalid_request: ["Something in what was entered is not right.", null],
  link_host_required: ["The account needs a link host first.", "Choose one on the account's page."],
  internal: ["The service failed.", "Tell the operator, with this id."],
};

export default troubles;
