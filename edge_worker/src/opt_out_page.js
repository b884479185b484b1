/** The page on which visitors turn counting off and on for their browser. The page is in the visitor's language. */

import { htmlOf } from "./html_page.js";

/**
 * @typedef {object} Texts
 * @property {string} title
 * @property {string} on says that views from this browser are counted @property {string} off says that they are not
 * @property {string} turnOff @property {string} turnOn labels of the button
 * @property {string} cookie explains what the cookie stores
 */

/** @type {Record<import("./languages.js").Language, Texts>} */
export const TEXTS = {
  en: {
    title: "Visit counting",
    on: "This website counts visits. Counting is on in this browser.",
    off: "Counting is off in this browser.",
    turnOff: "Turn counting off",
    turnOn: "Turn counting on",
    cookie: "While counting is off, a cookie in this browser stores your choice for at most 400 days.",
  },
  de: {
    title: "Besuchszählung",
    on: "Diese Website zählt Besuche. In diesem Browser ist die Zählung eingeschaltet.",
    off: "In diesem Browser ist die Zählung ausgeschaltet.",
    turnOff: "Zählung ausschalten",
    turnOn: "Zählung einschalten",
    cookie:
      "Nur solange die Zählung ausgeschaltet ist, speichert ein Cookie in diesem Browser Ihre Wahl, höchstens 400 Tage lang.",
  },
  fr: {
    title: "Comptage des visites",
    on: "Ce site compte les visites. Le comptage est activé dans ce navigateur.",
    off: "Le comptage est désactivé dans ce navigateur.",
    turnOff: "Désactiver le comptage",
    turnOn: "Activer le comptage",
    cookie:
      "Uniquement lorsque le comptage est désactivé, un cookie enregistre votre choix dans ce navigateur, pendant 400 jours au maximum.",
  },
  es: {
    title: "Recuento de visitas",
    on: "Este sitio web cuenta las visitas. El recuento está activado en este navegador.",
    off: "El recuento está desactivado en este navegador.",
    turnOff: "Desactivar el recuento",
    turnOn: "Activar el recuento",
    cookie:
      "Solo mientras el recuento está desactivado, una cookie guarda su elección en este navegador, durante un máximo de 400 días.",
  },
  it: {
    title: "Conteggio delle visite",
    on: "Questo sito conta le visite. Il conteggio è attivo in questo browser.",
    off: "Il conteggio è disattivato in questo browser.",
    turnOff: "Disattiva il conteggio",
    turnOn: "Attiva il conteggio",
    cookie:
      "Solo quando il conteggio è disattivato, un cookie memorizza la scelta in questo browser, per un massimo di 400 giorni.",
  },
  nl: {
    title: "Bezoeken tellen",
    on: "Deze website telt bezoeken. In deze browser staat het tellen aan.",
    off: "In deze browser staat het tellen uit.",
    turnOff: "Tellen uitschakelen",
    turnOn: "Tellen inschakelen",
    cookie: "Alleen als het tellen uitstaat, bewaart een cookie uw keuze in deze browser, maximaal 400 dagen.",
  },
  pt: {
    title: "Contagem de visitas",
    on: "Este site conta as visitas. A contagem está ativada neste navegador.",
    off: "A contagem está desativada neste navegador.",
    turnOff: "Desativar a contagem",
    turnOn: "Ativar a contagem",
    cookie:
      "Apenas enquanto a contagem está desativada, um cookie guarda a sua escolha neste navegador, no máximo durante 400 dias.",
  },
  pl: {
    title: "Zliczanie wizyt",
    on: "Ta strona zlicza wizyty. W tej przeglądarce zliczanie jest włączone.",
    off: "W tej przeglądarce zliczanie jest wyłączone.",
    turnOff: "Wyłącz zliczanie",
    turnOn: "Włącz zliczanie",
    cookie:
      "Tylko gdy zliczanie jest wyłączone, plik cookie zapamiętuje ten wybór w tej przeglądarce, najwyżej przez 400 dni.",
  },
  ja: {
    title: "アクセス数の計測",
    on: "このウェブサイトはアクセス数を計測しています。このブラウザーでは計測がオンです。",
    off: "このブラウザーでは計測がオフです。",
    turnOff: "計測をオフにする",
    turnOn: "計測をオンにする",
    cookie: "計測がオフの間だけ、選択内容が Cookie としてこのブラウザーに保存されます（最長400日間）。",
  },
  zh: {
    title: "访问统计",
    on: "本网站统计访问次数。此浏览器的统计已开启。",
    off: "此浏览器的统计已关闭。",
    turnOff: "关闭统计",
    turnOn: "开启统计",
    cookie: "仅在统计关闭期间，此浏览器用一个 Cookie 保存您的选择，最长 400 天。",
  },
};

/**
 * @param {import("./languages.js").Language} language
 * @param {boolean} isOff true if counting is off in this browser
 * @returns {string} HTML
 */
export function pageIn(language, isOff) {
  const { title, on, off, turnOff, turnOn, cookie } = TEXTS[language];
  const form = `<form method="post" action="${isOff ? "?on" : "?off"}"><button>${isOff ? turnOn : turnOff}</button></form>`;
  return htmlOf(language, title, `<p>${isOff ? off : on}</p>${form}<p><small>${cookie}</small></p>`);
}
