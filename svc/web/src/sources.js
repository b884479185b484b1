/** Names of well-known sources. A source is the referring host, the id of an app, or a campaign's `utm_source`. */

/** By host, without subdomains such as `www` and `m`. */
const SITES = new Map(
  Object.entries({
    "baidu.com": "Baidu",
    "bing.com": "Bing",
    "bsky.app": "Bluesky",
    "chatgpt.com": "ChatGPT",
    "claude.ai": "Claude",
    "copilot.microsoft.com": "Copilot",
    "duckduckgo.com": "DuckDuckGo",
    "ecosia.org": "Ecosia",
    "facebook.com": "Facebook",
    "gemini.google.com": "Gemini",
    "github.com": "GitHub",
    "instagram.com": "Instagram",
    "linkedin.com": "LinkedIn",
    "lnkd.in": "LinkedIn",
    "mail.google.com": "Gmail",
    "medium.com": "Medium",
    "news.ycombinator.com": "Hacker News",
    "outlook.live.com": "Outlook",
    "perplexity.ai": "Perplexity",
    "pinterest.com": "Pinterest",
    "qwant.com": "Qwant",
    "reddit.com": "Reddit",
    "search.brave.com": "Brave Search",
    "startpage.com": "Startpage",
    "substack.com": "Substack",
    "t.co": "X",
    "t.me": "Telegram",
    "threads.net": "Threads",
    "tiktok.com": "TikTok",
    "twitter.com": "X",
    "wikipedia.org": "Wikipedia",
    "x.com": "X",
    "yahoo.com": "Yahoo",
    "yandex.ru": "Yandex",
    "youtube.com": "YouTube",
  }),
);
/** By the id of the app. */
const APPS = new Map(
  Object.entries({
    "com.google.android.gm": "Gmail",
    "com.google.android.googlequicksearchbox": "Google app",
    "com.facebook.katana": "Facebook app",
    "com.instagram.android": "Instagram app",
    "com.linkedin.android": "LinkedIn app",
    "com.reddit.frontpage": "Reddit app",
    "com.slack": "Slack",
    "com.twitter.android": "X app",
    "com.whatsapp": "WhatsApp",
    "com.microsoft.office.outlook": "Outlook app",
    "org.telegram.messenger": "Telegram",
  }),
);
// Google has a domain in each country.
const GOOGLE = /^google\.(com?\.)?[a-z]{2,3}$/;
const HOST = /^([a-z0-9-]+\.)+[a-z][a-z0-9-]+$/;

/**
 * @param {string} source
 * @returns {string | null} the name of a well-known site or app, or null
 */
export function sourceName(source) {
  const app = APPS.get(source);
  if (app !== undefined) return app;
  const labels = source.split(".");
  for (let i = 0; i < labels.length - 1; i += 1) {
    const host = labels.slice(i).join(".");
    const name = SITES.get(host);
    if (name !== undefined) return name;
    if (GOOGLE.test(host)) return "Google";
  }
  return null;
}

/**
 * @param {string} source
 * @returns {string | null} the address of the site, or null if the source is not a host
 */
export const sourceAddress = (source) => (HOST.test(source) && !APPS.has(source) ? `https://${source}/` : null);
