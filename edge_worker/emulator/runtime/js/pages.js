/**
 * Returns one of the edge's error pages (platform docs: errors 1027 and 1101).
 * @param {number} status @param {number} code @param {string} title
 */
export function refusal(status, code, title) {
  const html = `<!doctype html><title>${title}</title><h1>Error ${code}</h1><p>${title}</p>`;
  const headers = { "content-type": "text/html; charset=UTF-8", "cache-control": "no-store", server: "cloudflare" };
  return new Response(html, { status, headers });
}
