/** The active sessions of the user, with buttons to end them. */

import { call } from "../api.js";
import { changed, useResource } from "../resource.js";
import { leave } from "../router.js";
import { end } from "../session.js";
import { t } from "../words.js";
import { DataTable } from "./data-table.jsx";
import { ErrorMessage, Loaded, Mark } from "./parts.jsx";
import { SignOut } from "./sign-out.jsx";
import { When } from "./when.jsx";
import { useWrite } from "./write.js";

/** @typedef {import("../wire").Session} Session */

export function Sessions() {
  const words = t().profile.sessions;
  const read = useResource("GET /v1/me/sessions", {});
  const { busy, error, run } = useWrite();
  /** End sessions one by one. The list is reloaded even if a request fails. @param {Session[]} ended */
  const endThese = (ended) =>
    run(async () => {
      try {
        for (const { id } of ended) await call("DELETE /v1/me/sessions/{session_id}", { session_id: id, body: {} });
      } finally {
        changed("/v1/me/sessions");
      }
    });
  const endAll = () =>
    run(async () => {
      await call("DELETE /v1/me/sessions", { body: {} });
      end();
    });
  const others = (read.data?.sessions ?? []).filter(({ current }) => !current);
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">{words.title}</h2>
      <Loaded read={read} rows={2}>
        {({ sessions }) => (
          <DataTable
            label={words.title}
            rows={sessions}
            id={({ id }) => id}
            columns={[
              { label: words.browser, cell: ({ browser }) => words.named(browser) },
              { label: words.since, cell: ({ created_at }) => <When at={created_at} /> },
              { label: words.used, cell: ({ last_used }) => <When at={last_used} /> },
              {
                label: words.end,
                kind: "primary",
                cell: (session) =>
                  session.current ? (
                    <Mark kind="good">{words.current}</Mark>
                  ) : (
                    <button
                      type="button"
                      class="quiet"
                      aria-label={words.endOf(words.named(session.browser))}
                      aria-disabled={busy}
                      onClick={() => endThese([session])}
                    >
                      {words.end}
                    </button>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      {error && <ErrorMessage error={error} />}
      <p class="actions after">
        <SignOut />
        {others.length > 0 && (
          <button type="button" class="quiet" aria-disabled={busy} onClick={() => endThese(others)}>
            {words.endOthers}
          </button>
        )}
        <button type="button" class="quiet" aria-disabled={busy} onClick={() => leave(endAll)}>
          {words.endAll}
        </button>
      </p>
    </section>
  );
}
