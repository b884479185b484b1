/** A part of a form that most links do not need: closed unless it has a value or an error. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { useIssues } from "./form.jsx";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * @param {{title: string, state: Children, isUsed: boolean, names: string[], children: Children}} props `state`: the
 *   current value in a few words; `isUsed`: true to open the section at first; `names`: the fields of the body, whose
 *   errors open the section
 */
export function OptionalSection({ title, state, isUsed, names, children }) {
  const section = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const opened = useRef(isUsed);
  const issues = useIssues();
  const isWrong = Object.keys(issues).some((path) => names.includes(path.split(".", 1)[0] ?? ""));
  useLayoutEffect(() => {
    if (isWrong && section.current) section.current.open = true;
  }, [isWrong]);
  return (
    <details class="optional" ref={section} open={opened.current}>
      <summary>
        {title} <span class="small">{state}</span>
      </summary>
      {children}
    </details>
  );
}
