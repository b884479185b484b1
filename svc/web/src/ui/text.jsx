/** A text of the contract: what stands in backquotes is code, what stands between stars is meant. */

/** @param {{of: string}} props */
export const Text = ({ of: text }) => (
  <>
    {text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map((part, i) => {
      if (i % 2 === 0) return part;
      return part.startsWith("`") ? <code key={i}>{part.slice(1, -1)}</code> : <em key={i}>{part.slice(1, -1)}</em>;
    })}
  </>
);
