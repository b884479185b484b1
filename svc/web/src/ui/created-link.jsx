/** The message on the page of a new link: what was created, its QR code, and a button to undo. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { call } from "../api.js";
import { created } from "../created.js";
import { changed } from "../resource.js";
import { t } from "../words.js";
import { Copy, ErrorMessage, Note, useCountdown } from "./parts.jsx";
import { QrDialog, QrPicture } from "./qr.jsx";
import { useWrite } from "./write.js";

/** @param {{link: import("../wire").Link}} props */
export function CreatedLink({ link }) {
  const words = t().links.created;
  const { copied = false, undo_until_ms = 0 } = created.value ?? {};
  const left_s = useCountdown(undo_until_ms);
  const said = useSignal("");
  const { busy, error, run } = useWrite();
  const shown = useSignal(false);
  const deleted = link.state === "deleted";
  // Set the text after the first render, because screen readers announce changes only in a live region that already
  // exists.
  useEffect(() => void (said.value = deleted ? words.undone : copied ? words.copied : words.made), [deleted]);
  useEffect(() => () => void (created.value = null), []);
  const undo = () =>
    run(async (key) => {
      await call("DELETE /v1/links/{link_id}", { link_id: link.id, body: {}, key });
      changed("/v1/links");
    });
  return (
    <Note kind="good">
      <div class="created">
        {!deleted && <QrPicture link={link} size={112} />}
        <div>
          <p role="status">{said.value}</p>
          {error && <ErrorMessage error={error} />}
          <p class="actions">
            {!deleted && link.short_url && <Copy text={link.short_url} label={words.copy} />}
            {!deleted && link.short_url && (
              <button type="button" class="quiet" onClick={() => (shown.value = true)}>
                {words.qr}
              </button>
            )}
            {!deleted && left_s > 0 && (
              <button type="button" class="quiet" aria-disabled={busy} onClick={undo}>
                {words.undo}
              </button>
            )}
            <a href={deleted ? `/links/new?url=${encodeURIComponent(link.url)}` : "/links/new"}>{words.another}</a>
          </p>
          {!deleted && left_s > 0 && <p class="small">{words.undoHint}</p>}
          {shown.value && <QrDialog link={link} close={() => (shown.value = false)} />}
        </div>
      </div>
    </Note>
  );
}
