/** Sends the height of the page to the page that shows it in a frame, so that the frame can have this height. */

/** Send the height now, and whenever it changes. The message contains nothing else, so that any page may receive it. */
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
