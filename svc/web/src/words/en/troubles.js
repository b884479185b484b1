/**
 * What went wrong and what to do, by code: where the pages say it otherwise than the service, or the service says
 * nothing. For other codes its own message and remedy are shown. Behind a dot stands what Cloudflare calls a token.
 */

/** @type {Record<string, [message: string, remedy: string | null]>} */
const troubles = {
  offline: ["The service was not reached.", "Check the connection, and try again; nothing is done twice."],
  unexpected: [
    "Something answered that is not the service.",
    "Load the page again. If it stays so, tell the operator.",
  ],
  unauthorized: ["You are not signed in any more.", "Sign in again."],
  rate_limited: ["Too many tries.", null],
  invalid_request: ["Something in what was entered is not right.", null],
  link_host_required: ["The account needs a link host first.", "Choose one on the account's page."],
  account_not_ready: ["The account is not in a state that allows this.", "Its page says what it lacks."],
  invalid_bootstrap: [
    "Cloudflare does not accept the bootstrap token for this account.",
    "Check the account id, and make a new bootstrap token of this account.",
  ],
  "invalid_bootstrap.expired": ["The bootstrap token has expired.", "Make a new one, and paste it here."],
  "invalid_bootstrap.disabled": [
    "The bootstrap token is switched off.",
    "Switch it on again in Cloudflare's dashboard, or make a new one.",
  ],
  bootstrap_permission_error: [
    "The bootstrap token lacks a right.",
    "Make one with Account Settings: Read and Account API Tokens: Edit, and with those that are marked.",
  ],
  token_rights_mismatch: [
    "Cloudflare made the working token with other rights than asked.",
    "Try again. If the error persists, tell the operator.",
  ],
  token_check_failed: ["The working token does not work.", "Try again. If the error persists, tell the operator."],
  orphan_not_deleted: [
    "A token of an earlier try could not be deleted.",
    "Delete the tokens that are named here in Cloudflare's dashboard, then try again.",
  ],
  renew_lost: [
    "The outcome of the renewal is unknown.",
    "Delete the token that is named here in Cloudflare's dashboard, then renew again.",
  ],
  bootstrap_lost: [
    "The connect was cut short.",
    "Delete the tokens that are named here in Cloudflare's dashboard, if they are there, and connect again.",
  ],
  resource_drift: [
    "What was installed was changed or deleted outside.",
    "Install it again; a changed worker has to be deleted in Cloudflare's dashboard first.",
  ],
  self_check_timeout: [
    "The worker did not report itself after its installation.",
    "Cloudflare can take 15 minutes to start a new cron trigger. If there is no report after half an hour, install it again.",
  ],
  worker_silent: [
    "The worker has not reported itself for hours.",
    "Install it again. If it stays silent, tell the operator.",
  ],
  link_host_is_website: [
    "The host serves a website, which is unreachable while it is the link host.",
    "Choose a host that nothing else uses, such as go.example.com with the record AAAA 100::, proxied.",
  ],
  zone_not_active: [
    "The zone of the host is not active.",
    "At the domain's registrar, set the name servers that Cloudflare's dashboard shows for the zone.",
  ],
  "zone_not_active.paused": ["The zone of the host is paused.", "Resume it in Cloudflare's dashboard."],
  dns_not_proxied: [
    "The host has no proxied DNS record.",
    "Create the record in Cloudflare's dashboard, or turn on the proxy (the orange cloud) of the existing one.",
  ],
  link_host_without_certificate: [
    "The host lies more than one label below its zone, where the free certificate does not cover it.",
    "Choose a host right below the zone, or order a certificate for this one at Cloudflare.",
  ],
  internal: ["The service failed.", "Tell the operator, with this id."],
};

export default troubles;
