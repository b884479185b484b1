/** The content of the sign-up page: the form, the form for an invited address, or the operator's contact. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { call } from "../api.js";
import { moment } from "../format.js";
import { ApiError, asApiError } from "../http.js";
import { t } from "../words.js";
import { Note } from "./parts.jsx";

/**
 * @typedef {import("../wire").Invitation} Invitation
 * @typedef {import("../wire").PublicSettings} PublicSettings
 * @typedef {{settings: PublicSettings, invitation?: Invitation, refused: boolean}} Offer `refused`: the invitation is
 *   not valid
 */

/**
 * Read the settings of the service and the invitation in the link.
 * @param {string} token of the invitation, or ""
 * @returns {import("../resource.js").Read<Offer>}
 */
export function useOffer(token) {
  const state = useSignal(/** @type {{data?: Offer, error?: ApiError}} */ ({}));
  const read = async () => {
    try {
      state.value = { data: await readOffer(token) };
    } catch (error) {
      state.value = { error: asApiError(error) };
    }
  };
  useEffect(() => {
    read();
  }, []);
  const { data, error } = state.value;
  return { data, error, loading: !data && !error, again: read, put: (newer) => (state.value = { data: newer }) };
}

/** @param {string} token @returns {Promise<Offer>} */
async function readOffer(token) {
  const settings = await call("GET /auth/settings", {});
  if (token === "") return { settings, refused: false };
  try {
    const invitation = await call("POST /auth/invitation", { body: { invitation: token } });
    return { settings, invitation, refused: false };
  } catch (error) {
    if (error instanceof ApiError && error.code === "sign_up_closed") return { settings, refused: true };
    throw error;
  }
}

/** @param {Offer} offer @returns {boolean} true if this person can sign up */
export const canSignUp = ({ settings, invitation, refused }) =>
  invitation !== undefined || (settings.sign_up === "open" && !refused);

/** @param {{offer: Offer}} props shown instead of the form */
export function Refused({ offer: { settings, refused } }) {
  const words = t().auth.signUp;
  const { contact } = settings;
  return (
    <>
      <Note kind="watch">
        {refused ? words.badInvitation : settings.sign_up === "closed" ? words.closed : words.inviteOnly}
      </Note>
      {contact && (
        <p>
          {words.contact}{" "}
          <a href={contact.includes("://") ? contact : `mailto:${encodeURIComponent(contact)}`}>{contact}</a>
        </p>
      )}
    </>
  );
}

/** @param {{invitation: Invitation}} props */
export const InvitedUntil = ({ invitation }) => <p>{t().auth.signUp.invited(moment(invitation.expires_at))}</p>;
