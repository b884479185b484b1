/** Everything that is the user's, as a file on their machine. */

import { ask } from "../api.js";
import { saveFile } from "../files.js";
import { ApiError } from "../http.js";
import { t } from "../words.js";
import { Trouble } from "./parts.jsx";
import { useWrite } from "./write.js";

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
  const named = /filename="([\w.-]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
  saveFile(file, named ?? "svc-export.zip");
}

export function Export() {
  const words = t().profile.export;
  const { busy, done, error, run } = useWrite();
  return (
    <section aria-labelledby="export">
      <h2 id="export">{words.title}</h2>
      <p>{words.text}</p>
      {error && <Trouble error={error} />}
      <p class="actions">
        <button type="button" class="quiet" aria-disabled={busy} onClick={() => run(download)}>
          {busy ? t().common.busy : words.submit}
        </button>
        <span role="status">{done && words.done}</span>
      </p>
    </section>
  );
}
