/** A small bar chart in a line of text, one bar per day. */

const HEIGHT = 20;
const GAP = 1;
// The width of a bar. A month of days gets narrower bars than a week.
const WIDE = 7;
const NARROW = 4;
const WEEK = 7;

/**
 * @param {{values: number[], label: string}} props `values`: one per day, oldest first; `label`: text alternative
 */
export function Sparkline({ values, label }) {
  const most = Math.max(1, ...values);
  const bar = values.length > WEEK ? NARROW : WIDE;
  const step = bar + (values.length > WEEK ? GAP : 2 * GAP);
  const width = Math.max(bar, values.length * step - (step - bar));
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
      role="img"
      aria-label={label}
    >
      {values.map((value, i) => {
        // Show a thin line even for a day without views.
        const height = value > 0 ? Math.max(2, (HEIGHT * value) / most) : 1;
        const kind = value > 0 ? "some" : "none";
        return <rect key={i} class={kind} x={i * step} y={HEIGHT - height} width={bar} height={height} />;
      })}
    </svg>
  );
}
