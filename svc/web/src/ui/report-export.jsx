/** The CSV exports of a report: the report on the page, and all stored days. */

import { ask } from "../api.js";
import { shownLists } from "../breakdown-lists.js";
import { fileName, saveFile } from "../files.js";
import { reportCsv } from "../report-csv.js";
import { address } from "../router.js";
import { t } from "../words.js";
import { ErrorMessage } from "./parts.jsx";
import { useWrite } from "./write.js";

/**
 * The button that exports the report on the page as CSV.
 * @param {{
 *   kind: "site" | "link",
 *   name: string,
 *   by: import("../series.js").Step,
 *   slots: import("../series.js").Slot[],
 *   lists: import("../wire").Breakdowns | null | undefined,
 *   expanded: import("../breakdown-lists.js").Name[],
 * }} props `name`: the name of the file; `lists`: null if the report has none; `expanded`: see `Breakdowns`
 */
export const ReportExport = ({ kind, name, by, slots, lists, expanded }) => (
  <p class="actions">
    <button
      type="button"
      class="quiet"
      onClick={() => {
        const source = address.value.searchParams.get("source");
        const csv = reportCsv(slots, by, lists ? shownLists(kind, lists, expanded, source) : []);
        saveFile(new Blob([csv], { type: "text/csv" }), fileName(`${name}-report`, "csv"));
      }}
    >
      {t().range.export}
    </button>
  </p>
);

/** The button that exports all stored days as CSV. @param {{kind: "site" | "link", id: string, name: string}} props */
export function DaysExport({ kind, id, name }) {
  const { busy, error, run } = useWrite();
  const download = async () => {
    const path = `/v1/${kind}s/${encodeURIComponent(id)}/totals`;
    const response = await ask("GET", path, { headers: { Accept: "text/csv" } });
    saveFile(await response.blob(), fileName(name, "csv"));
  };
  return (
    <div class="download">
      {error && <ErrorMessage error={error} />}
      <button type="button" class="quiet" aria-disabled={busy} onClick={() => run(download)}>
        {busy ? t().common.busy : t().range.exportDays}
      </button>
    </div>
  );
}
