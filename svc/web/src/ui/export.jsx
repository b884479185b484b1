/** Everything that is the user's, as a file on their machine. */

import { useSignal } from "@preact/signals";

import { ask } from "../api.js";
import { ApiError } from "../http.js";
import { t } from "../words.js";
import { useAction } from "./action.js";
import { Trouble } from "./parts.jsx";

// The browser reads the file from its address after the click.
const FORGOTTEN_AFTER_MS = 60_000;

/** @throws {ApiError} */
async function download() {
  const answer = await ask("GET", "/v1/export", { headers: { Accept: "application/zip, application/json" } });
  let file;
  try {
    file = await answer.blob();
  } catch {
    // It is made while it is sent: one that breaks off is none.
    throw new ApiError("offline");
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = /filename="([\w.-]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "svc-export.zip";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), FORGOTTEN_AFTER_MS);
}

export function Export() {
  const words = t().profile.export;
  const done = useSignal(false);
  const { busy, error, run } = useAction();
  const fetchIt = () =>
    run(async () => {
      done.value = false;
      await download();
      done.value = true;
    });
  return (
    <section aria-labelledby="export">
      <h2 id="export">{words.title}</h2>
      <p>{words.text}</p>
      {error && <Trouble error={error} />}
      <p class="actions">
        <button type="button" class="quiet" aria-disabled={busy} onClick={fetchIt}>
          {busy ? t().common.busy : words.submit}
        </button>
        <span role="status">{done.value && words.done}</span>
      </p>
    </section>
  );
}
