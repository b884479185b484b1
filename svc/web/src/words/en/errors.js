/**
 * Error messages and remedies, by error code. The list contains only codes for which the pages use other words than the
 * API, and codes that the API does not have. For all others, the pages show the API's own message and remedy.
 * A key `CODE.STATUS` applies to one value of `details.status`, such as the status of a token at Cloudflare.
 */

/** @type {Record<string, [message: string, remedy: string | null]>} */
const errors = {
  offline: [
    "The service could not be reached.",
    "Check your connection and try again. This will not carry out the action twice.",
  ],
  unexpected: [
    "The response did not come from the service.",
    "Reload the page. If the problem persists, contact the operator.",
  ],
  unauthorized: ["You are no longer signed in.", "Sign in again."],
  rate_limited: ["Too many attempts.", null],
  invalid_request: ["Some of the input is not valid.", null],
  idempotency_conflict: ["This request was already sent with different content.", "Send the form again."],
  key_already_issued: ["This API key was already shown. It is shown only once.", "Revoke it and create a new one."],
  link_host_required: ["The account has no link host yet.", "Set one on the account's page."],
  account_not_ready: ["The account is not ready for this action.", "See the account's page for the reason."],
  invalid_bootstrap: [
    "Cloudflare rejected the bootstrap token for this account.",
    "Check the account ID and create a new bootstrap token for this account.",
  ],
  "invalid_bootstrap.expired": ["The bootstrap token has expired.", "Create a new one and paste it here."],
  "invalid_bootstrap.disabled": [
    "The bootstrap token is disabled.",
    "Enable it in the Cloudflare dashboard, or create a new one.",
  ],
  bootstrap_permission_error: [
    "The bootstrap token is missing a permission.",
    "Create a token with Account Settings: Read, Account API Tokens: Edit, and the permissions marked as missing.",
  ],
  token_rights_mismatch: [
    "Cloudflare created the working token with different permissions than requested.",
    "Try again. If the problem persists, contact the operator.",
  ],
  token_check_failed: [
    "The new working token could not be verified.",
    "Try again. If the problem persists, contact the operator.",
  ],
  orphan_not_deleted: [
    "A token from an earlier attempt could not be deleted.",
    "In the Cloudflare dashboard, delete the tokens listed here. Then try again.",
  ],
  renew_lost: [
    "The service does not know whether the token was renewed.",
    "In the Cloudflare dashboard, delete the tokens listed here. Then renew the token again.",
  ],
  bootstrap_lost: [
    "Connecting the account was interrupted.",
    "In the Cloudflare dashboard, delete any of the tokens listed here that still exist. Then reconnect.",
  ],
  resource_drift: [
    "The installed Worker or its database was changed or deleted outside the service.",
    "Reinstall the Worker. If the Worker was changed, delete it in the Cloudflare dashboard first.",
  ],
  schema_newer: [
    "The Worker's database belongs to a newer version of the service, so nothing was changed.",
    "Ask the operator to run that version. The Worker keeps counting.",
  ],
  self_check_timeout: [
    "The Worker has not reported since it was installed.",
    "Cloudflare can take 15 minutes to start a new cron trigger. If there is no report after 30 minutes, reinstall the Worker.",
  ],
  worker_silent: [
    "The Worker has not reported for more than a day.",
    "Reinstall the Worker. If it still does not report, contact the operator.",
  ],
  link_host_is_website: [
    "This host already serves a website, which would become unreachable.",
    "Choose an unused host, such as go.example.com, and add a proxied AAAA record with the address 100:: for it.",
  ],
  zone_not_active: [
    "The host's zone is not active.",
    "At the domain's registrar, set the name servers that the Cloudflare dashboard shows for the zone.",
  ],
  "zone_not_active.paused": ["The host's zone is paused.", "Resume the zone in the Cloudflare dashboard."],
  dns_not_proxied: [
    "The host has no proxied DNS record.",
    "Create the record in the Cloudflare dashboard, or turn on the proxy (orange cloud) for the existing record.",
  ],
  link_host_without_certificate: [
    "The host is more than one label below its zone, so Cloudflare's free certificate does not cover it.",
    "Choose a host directly below the zone, or order a certificate for this host from Cloudflare.",
  ],
  internal: ["An internal error occurred.", "Contact the operator and quote the error ID."],
};

export default errors;
