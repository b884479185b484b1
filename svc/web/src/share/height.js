/** Sends the height of the page to the page that shows it in a frame, so that the frame can have this height. */

/** Send the height now, and whenever it changes. Any page may receive the message, because it contains nothing else. */
export function reportHeight() {
  if (parent === window) return;
  let last_px = 0;
  const report = () => {
    const height_px = Math.ceil(document.body.getBoundingClientRect().height);
    if (height_px !== last_px) parent.postMessage({ type: "share-height", height_px }, "*");
    last_px = height_px;
  };
  new ResizeObserver(report).observe(document.body);
}
