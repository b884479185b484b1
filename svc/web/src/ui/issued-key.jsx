/** A key's value, this once. */

import { useToldOnce } from "../unsent.js";
import { t } from "../words.js";
import { Dialog } from "./dialog.jsx";
import { Copy } from "./parts.jsx";

/**
 * @param {{of: import("../wire").IssuedKey, close: () => void}} props it closes by its button alone; who draws it
 *   forgets the value then
 */
export function IssuedKey({ of: { key, name }, close }) {
  const words = t().keys.issued;
  useToldOnce(true);
  const tried = `curl -H "Authorization: Bearer ${key}" ${location.origin}/v1/me`;
  return (
    <Dialog title={name ? words.titleOf(name) : words.title}>
      <p>{words.once}</p>
      <pre class="verbatim">
        <code id="key-value">{key}</code>
      </pre>
      <p>
        <Copy text={key} of="key-value" label={words.copy} />
      </p>
      <p>{words.tryIt}</p>
      <pre class="verbatim">
        <code id="key-tried">{tried}</code>
      </pre>
      <p>
        <Copy text={tried} of="key-tried" label={words.copyCall} />
      </p>
      <p class="actions">
        <button type="button" onClick={close}>
          {words.stored}
        </button>
      </p>
    </Dialog>
  );
}
