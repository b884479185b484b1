/** A small bar chart in a line of text, one bar per day. */

const HEIGHT = 20;
const BAR = 7;
const STEP = 9;

/**
 * @param {{values: number[], label: string}} props `values`: one per day, oldest first; `label`: text alternative
 */
export function Sparkline({ values, label }) {
  const most = Math.max(1, ...values);
  const width = Math.max(BAR, values.length * STEP - (STEP - BAR));
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
        return <rect key={i} class={kind} x={i * STEP} y={HEIGHT - height} width={BAR} height={height} />;
      })}
    </svg>
  );
}
