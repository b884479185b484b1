/** A bar of how much of a limit is used. */

/** From here on a limit is near: what the service's advice calls `watch`, and `upgrade_soon`. */
const TICKS = [60, 80];

/**
 * @param {{label: string, text: string, part: number}} props `text`: the figures, said in place of the bar; `part`: of
 *   the limit, 1 where it is reached
 */
export function Gauge({ label, text, part }) {
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
      {TICKS.map((at) => (
        <line key={at} x1={at} x2={at} y1="0" y2="10" />
      ))}
    </svg>
  );
}
