/** The target pages of the links in emails about a change of the email address. */

import { call } from "../api.js";
import { changed } from "../resource.js";
import { updateUser, user } from "../session.js";
import { t } from "../words.js";
import { EmailLinkPage, NewPasswordPage, NextLink } from "./auth.jsx";

/** The page for the link in the email to the new address. */
export function ConfirmNewEmail() {
  const words = t().auth.newEmail;
  return (
    <EmailLinkPage
      words={words}
      use={async (token) => {
        await call("POST /auth/email/confirm", { body: { token } });
        if (user.value) showNewAddress();
      }}
      stale={
        <p>
          <a href="/profile">{words.fresh}</a>
        </p>
      }
      done={
        <>
          <p>{words.doneText}</p>
          <NextLink to="/profile">{words.goOn}</NextLink>
        </>
      }
    />
  );
}

/** Read the user again. If the session has ended, the next page asks the user to sign in. */
function showNewAddress() {
  changed("/v1/me");
  call("GET /v1/me", {}).then(
    (caller) => updateUser(caller.user),
    () => undefined,
  );
}

/** The page for the link in the email to the old address. */
export const RevertEmail = () => (
  <NewPasswordPage words={t().auth.revertEmail} send={(body) => call("POST /auth/email/revert", { body })} />
);
