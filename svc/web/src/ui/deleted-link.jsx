/** A deleted link: the note on its page, and the button that restores it. */

import { call } from "../api.js";
import { moment } from "../format.js";
import { asApiError } from "../http.js";
import { changed } from "../resource.js";
import { bare } from "../short-url.js";
import { t } from "../words.js";
import { ErrorMessage, Note } from "./parts.jsx";
import { useWrite } from "./write.js";

/** @typedef {import("../wire").Link} Link */

/** @param {Link} link a deleted link @returns {boolean} true if the service still accepts its restoration */
export const isRestorable = ({ disabled, restorable_until: until }) =>
  !disabled && until !== undefined && Date.now() < Date.parse(until);

/**
 * @param {Link} link
 * @param {string} key
 */
async function restore({ id }, key) {
  await call("POST /v1/links/{link_id}/restore", { link_id: id, body: {}, key });
  changed("/v1/links", "/v1/tags");
}

/**
 * The button in a row of the list.
 * @param {{link: Link, done: (link: Link) => void, failed: (error: import("../http.js").ApiError) => void}} props
 */
export function RestoreButton({ link, done, failed }) {
  const words = t().linkActions;
  const { busy, run } = useWrite();
  const press = () =>
    run(async (key) => {
      try {
        await restore(link, key);
      } catch (error) {
        failed(asApiError(error));
        throw error;
      }
      done(link);
    });
  return (
    <button
      type="button"
      class="quiet"
      aria-label={words.restoreNamed(bare(link))}
      aria-disabled={busy}
      onClick={press}
    >
      {busy ? t().common.busy : words.restore}
    </button>
  );
}

/** @param {{link: Link}} props */
export function DeletedLink({ link }) {
  const words = t().linkActions;
  const until = link.restorable_until;
  const { busy, error, run } = useWrite();
  return (
    <Note>
      <p>
        {link.disabled ? t().links.wasDeletedDisabled : t().links.wasDeleted}{" "}
        {until && isRestorable(link) && words.restorable(moment(until))}
      </p>
      {error && <ErrorMessage error={error} />}
      {isRestorable(link) && (
        <p class="actions">
          <button type="button" class="quiet" aria-disabled={busy} onClick={() => run((key) => restore(link, key))}>
            {busy ? t().common.busy : words.restore}
          </button>
        </p>
      )}
    </Note>
  );
}
