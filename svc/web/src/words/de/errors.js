/**
 * Fehlermeldungen und Abhilfen für jeden Fehlercode. Die API selbst antwortet auf Englisch. Die Texte ihrer Codes
 * stehen in svc/german/errors.py, weil auch E-Mails sie enthalten.
 */

import { ERRORS } from "../../german.js";

/** @type {typeof import("../en/errors.js").default} */
const errors = {
  ...ERRORS,
  offline: [
    "Der Dienst war nicht erreichbar.",
    "Prüfen Sie Ihre Verbindung, und versuchen Sie es erneut. Die Aktion wird nur einmal ausgeführt.",
  ],
  unexpected: [
    "Die Antwort kam nicht vom Dienst.",
    "Laden Sie die Seite neu. Wenn das Problem weiterhin besteht, wenden Sie sich an den Betreiber.",
  ],
  "invalid_bootstrap.expired": [
    "Das Bootstrap-Token ist abgelaufen.",
    "Erstellen Sie ein neues, und fügen Sie es hier ein.",
  ],
  "invalid_bootstrap.disabled": [
    "Das Bootstrap-Token ist deaktiviert.",
    "Aktivieren Sie es im Cloudflare-Dashboard, oder erstellen Sie ein neues.",
  ],
  "zone_not_active.paused": ["Die Zone des Hosts ist pausiert.", "Aktivieren Sie sie im Cloudflare-Dashboard wieder."],
};

export default errors;
