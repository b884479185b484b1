/** A bar that shows usage relative to a limit. */

/**
 * @param {{label: string, text: string, part: number, ticks?: number[]}} props `text`: text alternative; `part`: the
 *   fraction of the limit, 1 when it is reached; `ticks`: marks on the bar, in percent
 */
export function Gauge({ label, text, part, ticks = [] }) {
  const percent = Math.max(0, Math.min(100, 100 * part));
  return (
    <svg
      class="gauge"
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      role="meter"
      aria-label={label}
      aria-valuenow={Math.round(percent)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuetext={text}
    >
      <rect class="track" width="100" height="10" />
      <rect class="used" width={percent} height="10" />
      {ticks.map((at) => (
        <line key={at} x1={at} x2={at} y1="0" y2="10" />
      ))}
    </svg>
  );
}
