/** A description of the product for people who are not signed in: a sentence, three facts and an example report. */

import { product } from "../operator.js";
import { t } from "../words.js";
import { ExampleReport } from "./example-report.jsx";

export function About() {
  const words = t().auth.about;
  return (
    <aside class="about" aria-label={words.label(product)}>
      <p class="about-lead">{words.lead(product)}</p>
      <ul>
        {words.facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
      </ul>
      <ExampleReport />
    </aside>
  );
}
