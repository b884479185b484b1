"""The German texts of email reports and alerts."""

from __future__ import annotations

from svc.mail.words import AlertWords, ReportWords
from svc.note_texts import NoteText

REPORT = ReportWords(
    titles={"weekly": "Wochenbericht für {name}", "monthly": "Monatsbericht für {name}"},
    subject="{title}: {views} Aufrufe",
    span="{first} bis {last} (UTC)",
    views="Aufrufe",
    visitors="Besucher",
    bots="Aussortierte Bots",
    more="{part} % mehr als im Zeitraum davor: {before}",
    less="{part} % weniger als im Zeitraum davor: {before}",
    same="so viele wie im Zeitraum davor",
    no_before="keine Daten für den Zeitraum davor",
    chart="Aufrufe pro Tag",
    weekdays=("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"),
    sites="Websites",
    more_sites="Anzahl weiterer Websites: {n}",
    pages="Meistbesuchte Seiten",
    sources="Quellen",
    links="Klicks auf Kurzlinks",
    bot_reasons="Aussortierte Bots nach Grund",
    notes="Notizen",
    more_notes="Der Bericht enthält weitere Notizen.",
    no_lists="Die Listen der Seiten, Quellen und Bots fehlen, weil sie nicht rechtzeitig aus dem Cloudflare-Konto"
    " gelesen werden konnten.",
    listed_from="Die Listen der Seiten, Quellen und Bots beginnen am {day}. Ältere Einzelheiten wurden gelöscht.",
    names={"": "Direkt oder ohne Angabe", "(other)": "Andere"},
    reasons={
        "head": "HEAD-Anfrage",
        "empty": "Ohne User-Agent",
        "prefetch": "Vorab geladen",
        "webdriver": "Automatisierter Browser",
        "headless": "Headless-Browser",
        "preview": "Linkvorschau",
        "list": "Bekannter Bot",
    },
    complete="Die Zahlen sind vollständig: Alle Zählungen dieses Zeitraums sind angekommen.",
    missing_day="Noch nicht vollständig: Von einem Tag fehlen noch Zählungen. Der Bericht zeigt sie, sobald sie"
    " angekommen sind.",
    missing_days="Noch nicht vollständig: Von {n} Tagen fehlen noch Zählungen. Der Bericht zeigt sie, sobald sie"
    " angekommen sind.",
    agrees="Der Zählnachweis für den {day} enthält keine Abweichungen.",
    differs="Der Zählnachweis für den {day} enthält Abweichungen. Der Inhaber kann ihn im Bericht prüfen.",
    open="Bericht öffnen",
    why="Sie erhalten diese E-Mail, weil {address} Berichte über {name} bei {service_url} abonniert hat. Öffnen Sie"
    " diesen Link, um sie abzubestellen:",
    unsubscribe="Abbestellen",
    note_texts={
        "imported": NoteText("Bis {until} aus einem anderen Produkt importiert, danach von diesem Dienst gezählt."),
        "snippet_rotated": NoteText("Snippet ersetzt. Aufrufe mit dem alten Snippet werden noch bis {until} gezählt."),
        "worker_updated": NoteText("Worker aktualisiert."),
        "hours_refused": NoteText(
            "Das kostenlose Tageskontingent an Datenbankzeilen war größtenteils aufgebraucht, deshalb fehlen"
            " Stundenwerte für {hours} h. Die Tagessumme ist vollständig."
        ),
        "route_missing": NoteText(
            "Die Route der Website fehlte bei der Prüfung am {since}. Bis sie wiederhergestellt ist, werden keine"
            " Aufrufe gezählt.",
            "Die Route der Website fehlte bei der Prüfung am {since} und wurde am {until} wiederhergestellt. Aufrufe"
            " dazwischen und kurz davor wurden nicht gezählt.",
        ),
        "link_host_route_missing": NoteText(
            "Die Route des Link-Hosts {host} fehlte bei der Prüfung am {since}. Bis sie wiederhergestellt ist,"
            " funktionieren die Links nicht.",
            "Die Route des Link-Hosts {host} fehlte bei der Prüfung am {since} und wurde am {until} wiederhergestellt."
            " Dazwischen und kurz davor funktionierten die Links nicht.",
        ),
    },
)

ALERT = AlertWords(
    subjects={
        "spike": "Viel mehr Aufrufe als üblich: {host}",
        "drop": "Viel weniger Aufrufe als üblich: {host}",
        "silence": "Keine Aufrufe: {host}",
    },
    counts={
        "spike": "{host} hatte vom {begin} bis zum {end} {views} Aufrufe.",
        "drop": "{host} hatte vom {begin} bis zum {end} nur {views} Aufrufe.",
        "silence": "{host} hatte vom {begin} bis zum {end} keine Aufrufe.",
    },
    usual="Zu dieser Zeit der Woche sind etwa {usual} Aufrufe üblich.",
    rare="Zu dieser Zeit der Woche sind Aufrufe selten.",
    snippet={
        "present": "Wir haben https://{host}/ abgerufen und das Snippet gefunden. Prüfen Sie, ob die Website für"
        " Besucher erreichbar ist und ob ein Consent-Tool oder eine Content Security Policy das Snippet blockiert.",
        "absent": "Wir haben https://{host}/ abgerufen und das Snippet in der Seite nicht gefunden. Fügen Sie es wieder"
        " in die Seiten ein. Wenn ein Tag-Manager das Snippet einfügt, prüfen Sie den Tag-Manager.",
        "unread": "Wir haben https://{host}/ abgerufen, konnten die Seite aber nicht lesen. Prüfen Sie, ob die Website"
        " für Besucher erreichbar ist.",
    },
    once="Solange dieser Zustand andauert, erhalten Sie keine weitere Warnung.",
    open="Bericht ansehen:",
    why="Sie erhalten diese E-Mail, weil {address} Warnungen zu {host} auf {service_url} abonniert hat. Um alle"
    " Berichte und Warnungen abzubestellen, öffnen Sie diesen Link:",
)
