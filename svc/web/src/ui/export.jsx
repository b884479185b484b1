/** The export of all of the user's data as a ZIP file. */

import { ask } from "../api.js";
import { saveFile } from "../files.js";
import { ApiError } from "../http.js";
import { t } from "../words.js";
import { ErrorMessage } from "./parts.jsx";
import { useWrite } from "./write.js";

/** @throws {ApiError} */
async function download() {
  const response = await ask("GET", "/v1/export", { headers: { Accept: "application/zip, application/json" } });
  let file;
  try {
    file = await response.blob();
  } catch {
    // The service streams the file, so the connection can fail during the download.
    throw new ApiError("offline");
  }
  const named = /filename="([\w.-]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  saveFile(file, named ?? "svc-export.zip");
}

export function Export() {
  const words = t().profile.export;
  const { busy, done, error, run } = useWrite();
  return (
    <section aria-labelledby="export">
      <h2 id="export">{words.title}</h2>
      <p>{words.text}</p>
      {error && <ErrorMessage error={error} />}
      <p class="actions">
        <button type="button" class="quiet" aria-disabled={busy} onClick={() => run(download)}>
          {busy ? t().common.busy : words.submit}
        </button>
        <span role="status">{done && words.done}</span>
      </p>
    </section>
  );
}
