/** Icons for buttons in rows. A button's `aria-label` and `title` contain its name. */

/** @typedef {keyof typeof SHAPES} IconName */

const SHAPES = {
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  qr: "M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5v2h2v2h2M13.5 9.5v1M9.5 13.5v0",
  edit: "M3 13l.6-2.8L11 2.8 13.2 5 5.8 12.4zM9.5 4.3l2.2 2.2",
};

/** @param {{name: IconName}} props */
export const Icon = ({ name }) => (
  <svg width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
    <path d={SHAPES[name]} />
  </svg>
);
