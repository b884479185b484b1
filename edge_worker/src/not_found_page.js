/** The page for addresses of the link host without a link, in the visitor's language. */

import { cut } from "./text.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/** @type {Record<string, [string, string]>} title and text by language; the first language is the default */
export const TEXTS = {
  en: ["Page not found", "There is nothing at this address. Check it for typing errors."],
  de: ["Seite nicht gefunden", "Unter dieser Adresse gibt es nichts. Prüfen Sie die Adresse auf Tippfehler."],
  fr: ["Page introuvable", "Il n’y a rien à cette adresse. Vérifiez qu’elle est correcte."],
  es: ["Página no encontrada", "No hay nada en esta dirección. Compruebe que sea correcta."],
  it: ["Pagina non trovata", "Non c’è nulla a questo indirizzo. Verificare che sia corretto."],
  nl: ["Pagina niet gevonden", "Op dit adres is niets te vinden. Controleer of het klopt."],
  pt: ["Página não encontrada", "Não há nada neste endereço. Verifique se está correto."],
  pl: ["Nie znaleziono strony", "Pod tym adresem nic nie ma. Sprawdź, czy jest poprawny."],
  ja: ["ページが見つかりません", "このアドレスには何もありません。入力に誤りがないかご確認ください。"],
  zh: ["找不到页面", "此地址没有内容。请检查是否输入有误。"],
};

export const STYLE =
  ":root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:30rem;margin:15vh auto;padding:0 1rem}";

/** Browsers send at most a few hundred characters. The rest of a longer header is ignored. */
const LANGUAGE_CHARS = 500;

/** A language range with its weight (RFC 9110, 12.5.4). The region does not matter. */
const RANGE = /^([a-z]{1,8})(?:-[a-z0-9]{1,8})*(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * Returns the language of the page with the highest weight. In a tie, the first one in the header wins.
 * @param {string} header Accept-Language
 * @returns {string} "en" if the header has no language of the page
 */
export function languageOf(header) {
  const full = header.length <= LANGUAGE_CHARS;
  // The last range of a truncated header may be incomplete.
  const ranges = cut(header, LANGUAGE_CHARS).toLowerCase().split(",");
  let best = "en";
  let highest = 0;
  for (const range of full ? ranges : ranges.slice(0, -1)) {
    const [, language = "", q = "1"] = RANGE.exec(range.trim()) ?? [];
    const weight = Number(q);
    if (weight > highest && Object.hasOwn(TEXTS, language)) [best, highest] = [language, weight];
  }
  return best;
}

/** @param {string} language a key of TEXTS @returns {string} HTML */
export function pageIn(language) {
  const [title, text] = /** @type {[string, string]} */ (TEXTS[language]);
  return (
    `<!doctype html><html lang="${language}"><meta charset="utf-8"><title>${title}</title>` +
    `<meta name="viewport" content="width=device-width"><style>${STYLE}</style><h1>${title}</h1><p>${text}</p>\n`
  );
}

/** @param {Request} request GET or HEAD @returns {Response} */
export function notFoundPage({ headers, method }) {
  const language = languageOf(headers.get("accept-language") ?? "");
  return new Response(method === "HEAD" ? null : pageIn(language), {
    status: 404,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-language": language,
      vary: "accept-language",
      "cache-control": "no-store",
      "content-security-policy": vocabulary.not_found_policy,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-robots-tag": "noindex",
    },
  });
}
