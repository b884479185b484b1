/** The notice on the pages of a link or site that the operator has disabled. */

import { moment } from "../format.js";
import { t } from "../words.js";
import { Note } from "./parts.jsx";

/**
 * Renders nothing for an enabled link or site.
 * @param {{kind: "link" | "site", disabled: import("../wire").Disabled | undefined}} props
 */
export function DisabledNote({ kind, disabled }) {
  if (!disabled) return null;
  const words = t().common.disabled;
  return (
    <Note kind="bad">
      <p>
        <strong>{words[kind](moment(disabled.at))}</strong> {words.effect[kind]}
      </p>
      <p>{words.reason(disabled.reason)}</p>
    </Note>
  );
}
