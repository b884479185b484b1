/** A bar that shows usage relative to a limit. */

/** Thresholds of the service's advice levels `watch` and `upgrade_soon`, in percent. */
const TICKS = [60, 80];

/**
 * @param {{label: string, text: string, part: number}} props `text`: text alternative; `part`: the fraction of the
 *   limit, 1 when it is reached
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
