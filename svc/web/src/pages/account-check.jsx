/** The section with an account's health check. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { Help } from "../ui/help.jsx";
import { ErrorMessage, Mark } from "../ui/parts.jsx";
import { useWrite } from "../ui/write.js";
import { t } from "../words.js";

/** @param {{id: string, checked: () => void}} props `checked`: called after each check */
export function Check({ id, checked }) {
  const words = t().account.check;
  const findings = useSignal(/** @type {import("../wire").Finding[] | null} */ (null));
  const { busy, error, run } = useWrite();
  const check = () =>
    run(async (key) => {
      findings.value = null;
      findings.value = (await call("POST /v1/accounts/{account_id}/check", { account_id: id, body: {}, key })).findings;
      checked();
    });
  return (
    <section aria-labelledby="check">
      <h2 id="check">{words.title}</h2>
      <p>
        {words.intro} <Help to="check" />
      </p>
      <p class="actions">
        <button type="button" class="quiet" aria-disabled={busy} onClick={check}>
          {busy ? words.asking : words.submit}
        </button>
        <span role="status">{findings.value?.length === 0 && <Mark kind="good">{words.well}</Mark>}</span>
      </p>
      {error && <ErrorMessage error={error} again={check} />}
      {findings.value && findings.value.length > 0 && (
        <ul class="findings">
          {findings.value.map(findingTexts).map(({ thing, expected, found, remedy, mended: repaired }) => (
            <li key={thing + expected}>
              <p>
                <strong>{thing}</strong>{" "}
                <Mark kind={repaired ? "good" : "watch"}>{repaired ? words.repaired : words.open}</Mark>
              </p>
              <dl class="keys">
                <div>
                  <dt>{words.expected}</dt>
                  <dd>{expected}</dd>
                </div>
                <div>
                  <dt>{words.found}</dt>
                  <dd>{found}</dd>
                </div>
              </dl>
              {remedy && <p>{remedy}</p>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** @param {import("../wire").Finding} finding @returns {import("../wire").Finding} in the reader's language */
function findingTexts(finding) {
  const { kind, facts, remedy_code } = finding;
  const [thing, expected, found] = t().api.findings[kind]?.(facts) ?? [finding.thing, finding.expected, finding.found];
  const own = remedy_code ? t().errors[remedy_code]?.[1] : t().account.check.byItself;
  return { ...finding, thing, expected, found, remedy: finding.remedy && (own ?? finding.remedy) };
}
