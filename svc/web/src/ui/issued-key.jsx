/** The dialog that shows the value of a new API key. The value cannot be shown again. */

import { useShownOnce } from "../unsent.js";
import { t } from "../words.js";
import { Dialog } from "./dialog.jsx";
import { Copy } from "./parts.jsx";

/**
 * @param {{issued: import("../wire").IssuedKey, close: () => void}} props `close`: called only by the dialog's button;
 *   it must discard the value
 */
export function IssuedKey({ issued: { key, name }, close }) {
  const words = t().keys.issued;
  useShownOnce(true);
  const tried = `curl -H "Authorization: Bearer ${key}" ${location.origin}/v1/me`;
  return (
    <Dialog title={name ? words.titleOf(name) : words.title}>
      <p>{words.once}</p>
      <pre class="verbatim">
        <code id="key-value">{key}</code>
      </pre>
      <p>
        <Copy text={key} shownIn="key-value" label={words.copy} />
      </p>
      <p>{words.tryIt}</p>
      <pre class="verbatim">
        <code id="key-tried">{tried}</code>
      </pre>
      <p>
        <Copy text={tried} shownIn="key-tried" label={words.copyCall} />
      </p>
      <p class="actions">
        <button type="button" onClick={close}>
          {words.stored}
        </button>
      </p>
    </Dialog>
  );
}
