/** A select field that takes effect immediately. */

import { useId } from "preact/hooks";

/**
 * @template {string} T
 * @param {{label: string, value: T, options: Record<T, string>, choose: (value: T) => void, hint?: string}} props
 */
export function Choice({ label, value, options, choose, hint }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => choose(/** @type {T} */ (event.currentTarget.value))}
      >
        {Object.entries(options).map(([one, text]) => (
          <option key={one} value={one}>
            {/** @type {string} */ (text)}
          </option>
        ))}
      </select>
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </p>
  );
}
