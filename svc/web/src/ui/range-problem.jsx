/** Explains why the period in the URL cannot be shown, and links to a valid period. */

import { withoutRange } from "../range.js";
import { address } from "../router.js";
import { t } from "../words.js";
import { Mark, issueText } from "./parts.jsx";

/** @param {{error: import("../http.js").ApiError}} props the service's error `invalid_request` */
export function RangeProblem({ error }) {
  const words = t().range;
  /** @type {Record<string, string>} */
  const fields = words.fields;
  return (
    <div class="note bad" role="alert">
      <p class="message">
        <Mark kind="bad">{words.problem}</Mark>
      </p>
      <ul>
        {error.issues.map((issue) => (
          <li key={issue.path}>
            {fields[issue.path] ?? issue.path}: {issueText(issue)}
          </li>
        ))}
      </ul>
      <p class="actions">
        <a class="button quiet" href={withoutRange(address.value.searchParams)}>
          {words.back}
        </a>
      </p>
    </div>
  );
}
