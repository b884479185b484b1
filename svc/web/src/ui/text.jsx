/** A text of the OpenAPI document: `code` in backquotes, *emphasis* between asterisks. */

/** @param {{text: string}} props */
export const Text = ({ text }) => (
  <>
    {text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map((part, i) => {
      if (i % 2 === 0) return part;
      return part.startsWith("`") ? <code key={i}>{part.slice(1, -1)}</code> : <em key={i}>{part.slice(1, -1)}</em>;
    })}
  </>
);
