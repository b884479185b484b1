/** Encodes files for a JSON body: compressed with gzip, in base64. */

// The number of bytes that are passed to one call of String.fromCharCode.
const CHUNK_BYTES = 0x2000;

/** @param {Blob} file @returns {Promise<Uint8Array>} the file, compressed with gzip unless it is compressed already */
export async function compressed(file) {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const zip = start[0] === 0x50 && start[1] === 0x4b;
  const gzip = start[0] === 0x1f && start[1] === 0x8b;
  const stream = zip || gzip ? file.stream() : file.stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {Uint8Array} bytes @returns {string} */
export function inBase64(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK_BYTES));
  }
  return btoa(text);
}
