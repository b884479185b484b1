/** The page that the link host shows for URLs without a link, in the visitor's language. */

import { htmlOf, htmlPage } from "./html_page.js";
import vocabulary from "./vocabulary.json" with { type: "json" };

/** @type {Record<import("./languages.js").Language, [string, string]>} title and text */
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

/** @param {import("./languages.js").Language} language @returns {string} HTML */
export function pageIn(language) {
  const [title, text] = TEXTS[language];
  return htmlOf(language, title, `<p>${text}</p>`);
}

/** @param {Request} request GET or HEAD @returns {Response} */
export const notFoundPage = (request) =>
  htmlPage(request, pageIn, {
    status: 404,
    headers: { "content-security-policy": vocabulary.not_found_policy, "referrer-policy": "no-referrer" },
  });
