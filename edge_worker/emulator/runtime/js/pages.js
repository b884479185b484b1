/**
 * Returns one of the edge's error pages (platform docs: errors 1027 and 1101).
 * @param {number} status @param {number} code @param {string} title
 */
export function refusal(status, code, title) {
  const html = `<!doctype html><title>${title}</title><h1>Error ${code}</h1><p>${title}</p>`;
  const headers = { "content-type": "text/html; charset=UTF-8", "cache-control": "no-store", ...PASSED };
  return new Response(html, { status, headers });
}

/** Headers of each response that passes through the edge (platform docs: fundamentals/reference/http-headers). */
const RAY = "8f0000000000000a-AMS";
const PASSED = { server: "cloudflare", "cf-ray": RAY };

/** Returns the response of an origin server with the changes that the edge makes. @param {Response} response */
export function passed(response) {
  const stamped = new Response(response.body, response);
  stamped.headers.set("cf-ray", RAY);
  return stamped;
}

/**
 * Returns the response of a rule that answers before a worker (platform docs: challenge pages have the header
 * cf-mitigated, whatever their status).
 * @param {FrontRule} rule
 */
export function answerOf({ kind, location }) {
  switch (kind) {
    case "redirect":
      return new Response(null, { status: 302, headers: { location, ...PASSED } });
    case "page":
      return new Response("<!doctype html><h1>Welcome</h1>", { headers: { "content-type": "text/html", ...PASSED } });
    case "block":
      return refusal(403, 1020, "Access denied");
    case "challenge": {
      const challenge = refusal(403, 0, "Just a moment...");
      challenge.headers.set("cf-mitigated", "challenge");
      return challenge;
    }
  }
}
