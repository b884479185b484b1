"""The German texts of all emails."""

from __future__ import annotations

from svc.german.errors import GERMAN_ERRORS
from svc.german.findings import GERMAN_FINDINGS, GERMAN_REMAINING_RESOURCES
from svc.mail.german_report import ALERT, REPORT
from svc.mail.words import Formats, Text, Words

_MONTHS = (
    "Januar", "Februar", "März", "April", "Mai", "Juni",
    "Juli", "August", "September", "Oktober", "November", "Dezember",
)  # fmt: skip

_BROKEN_TARGETS = (
    "Bei diesen Zielen Ihrer Links besteht seit mindestens einem Tag ein Problem:\n\n{targets}\n\n"
    "Öffnen Sie jedes Ziel in einem Browser. Wenn es nicht funktioniert, ändern Sie den Link oder die Seite. Wenn es"
    " funktioniert, weist der Server nur unsere Anfragen ab, und Sie können das Problem ignorieren.\n\n"
    "Links ansehen:\n\n{link}\n\n"
    "Sie erhalten höchstens eine solche E-Mail pro Tag, und jedes Problem wird nur einmal gemeldet. In Ihrem Profil"
    " oder mit PATCH /v1/me können Sie diese E-Mails abschalten."
)

GERMAN = Words(
    language="de",
    formats=Formats(
        thousands=".",
        decimal=",",
        months=_MONTHS,
        date="{day}. {month} {year}",
        moment="{date}, {time} Uhr (UTC)",
    ),
    hour="{hours} Stunde",
    hours="{hours} Stunden",
    confirm=Text(
        "Bestätigen Sie Ihre E-Mail-Adresse für {service}",
        "Öffnen Sie diesen Link, um Ihre E-Mail-Adresse zu bestätigen:\n\n{link}\n\n"
        "Der Link ist {expiry} gültig. Wenn Sie sich nicht bei {service_url} registriert haben, können Sie diese E-Mail"
        " ignorieren.",
        "E-Mail-Adresse bestätigen",
    ),
    choose_password=Text(
        "Bestätigen Sie Ihre E-Mail-Adresse für {service}",
        "Mit dieser E-Mail-Adresse hat sich jemand mehrmals bei {service_url} registriert. Wenn Sie das waren, öffnen"
        " Sie diesen Link, um ein Passwort zu wählen und Ihre Adresse zu bestätigen:\n\n{link}\n\n"
        "Der Link ist {expiry} gültig. Wenn Sie das nicht waren, können Sie diese E-Mail ignorieren.",
        "Passwort wählen",
    ),
    account_exists=Text(
        "Sie haben bereits ein Benutzerkonto bei {service}",
        "Jemand wollte sich mit dieser E-Mail-Adresse bei {service_url} registrieren. Sie haben dort aber bereits ein"
        " Benutzerkonto.\n\n"
        "Wenn Sie das waren, melden Sie sich stattdessen an. Falls Sie Ihr Passwort vergessen haben, können Sie es auf"
        " der Anmeldeseite zurücksetzen. Wenn Sie das nicht waren, können Sie diese E-Mail ignorieren.",
    ),
    reset=Text(
        "Setzen Sie Ihr Passwort für {service} zurück",
        "Öffnen Sie diesen Link, um ein neues Passwort festzulegen:\n\n{link}\n\n"
        "Der Link ist {expiry} gültig. Wenn Sie kein neues Passwort angefordert haben, können Sie diese E-Mail"
        " ignorieren. Ihr Passwort bleibt unverändert.",
        "Neues Passwort festlegen",
    ),
    password_changed=Text(
        "Ihr Passwort für {service} wurde geändert",
        "Das Passwort Ihres Benutzerkontos bei {service_url} wurde geändert, und alle anderen Browser wurden"
        " abgemeldet.\n\n"
        "Wenn Sie es selbst geändert haben, müssen Sie nichts tun. Andernfalls setzen Sie Ihr Passwort sofort auf der"
        " Anmeldeseite zurück. Damit werden alle Sitzungen beendet. Prüfen Sie danach Ihre API-Schlüssel.",
    ),
    invitation=Text(
        "Einladung zu {service}",
        "Der Betreiber von {service_url} hat Sie eingeladen. Öffnen Sie diesen Link, um sich mit dieser E-Mail-Adresse"
        " zu registrieren:\n\n{link}\n\n"
        "Der Link kann einmal verwendet werden und läuft am {expiry} ab. Wenn Sie sich nicht registrieren möchten,"
        " können Sie diese E-Mail ignorieren.",
        "Registrieren",
    ),
    confirm_new_address=Text(
        "Bestätigen Sie Ihre neue E-Mail-Adresse für {service}",
        "Öffnen Sie diesen Link, um diese E-Mail-Adresse für Ihr Benutzerkonto bei {service_url} zu verwenden:\n\n"
        "{link}\n\n"
        "Der Link ist {expiry} gültig. Wenn Sie diese Änderung nicht angefordert haben, können Sie diese E-Mail"
        " ignorieren.",
        "Neue Adresse bestätigen",
    ),
    address_in_use=Text(
        "Diese E-Mail-Adresse hat bereits ein Benutzerkonto bei {service}",
        "Jemand wollte diese E-Mail-Adresse für ein anderes Benutzerkonto bei {service_url} verwenden. Ihr"
        " Benutzerkonto wurde nicht geändert.\n\n"
        "Wenn Sie das waren, melden Sie sich stattdessen mit dieser Adresse an. Andernfalls können Sie diese E-Mail"
        " ignorieren.",
    ),
    email_change_requested=Text(
        "Ihre E-Mail-Adresse bei {service} soll geändert werden",
        "Jemand, der mit Ihrem Benutzerkonto bei {service_url} angemeldet ist, möchte die E-Mail-Adresse in {new_email}"
        " ändern. Die Änderung wird wirksam, sobald der Link in unserer E-Mail an die neue Adresse geöffnet wird.\n\n"
        "Wenn Sie das waren, müssen Sie nichts tun. Andernfalls öffnen Sie diesen Link, um Ihre Adresse zu behalten und"
        " ein neues Passwort festzulegen:\n\n{link}\n\n"
        "Der Link gilt bis {expiry}, auch wenn die Adresse schon geändert wurde. Er beendet alle Sitzungen. Prüfen Sie"
        " danach Ihre API-Schlüssel.",
        "Bisherige Adresse behalten",
    ),
    disabled={
        "link": Text(
            "Ihr Link {name} wurde gesperrt",
            "Der Betreiber dieses Dienstes hat Ihren Link {name} gesperrt.\n\nGrund: {reason}\n\n"
            "Wer den Link aufruft, sieht jetzt dasselbe wie bei einem unbekannten Link. Der Bericht bleibt erhalten."
            " Nur der Betreiber kann den Link wieder freigeben. Link ansehen:\n\n{link}",
            "Link ansehen",
        ),
        "site": Text(
            "Ihre Website {name} wurde gesperrt",
            "Der Betreiber dieses Dienstes hat Ihre Website {name} gesperrt.\n\nGrund: {reason}\n\n"
            "Aufrufe der Website werden nicht mehr gezählt. Der Bericht bleibt erhalten. Nur der Betreiber kann die"
            " Website wieder freigeben. Website ansehen:\n\n{link}",
            "Website ansehen",
        ),
    },
    enabled={
        "link": Text(
            "Ihr Link {name} ist wieder freigegeben",
            "Der Betreiber dieses Dienstes hat Ihren Link {name} wieder freigegeben. Link ansehen:\n\n{link}",
            "Link ansehen",
        ),
        "site": Text(
            "Ihre Website {name} ist wieder freigegeben",
            "Der Betreiber dieses Dienstes hat Ihre Website {name} wieder freigegeben. Website ansehen:\n\n{link}",
            "Website ansehen",
        ),
    },
    disconnected=Text(
        "Ihr Cloudflare-Konto {name} wurde getrennt",
        "Der Betreiber von {service_url} hat Ihr Cloudflare-Konto {name} getrennt. Aufrufe der Websites werden nicht"
        " mehr gezählt, und die Kurzlinks funktionieren nicht mehr. Summen und Berichte bleiben erhalten.",
    ),
    disconnected_tokens="Der Dienst kann sein eigenes API-Token nicht löschen. Löschen Sie dieses Token im"
    " Cloudflare-Dashboard:",
    deleted=Text(
        "Ihr Benutzerkonto bei {service} wurde gelöscht",
        "Ihr Benutzerkonto bei {service_url} wurde gelöscht, einschließlich aller Websites, Links, Summen und"
        " API-Schlüssel.",
    ),
    deleted_tokens="Diese Tokens ließen sich nicht automatisch löschen. Löschen Sie sie im Cloudflare-Dashboard:",
    deleted_left="Diese Ressourcen ließen sich nicht aus Cloudflare entfernen. Löschen Sie sie dort, wenn Sie sie nicht"
    " mehr brauchen:",
    deleted_end="Dies ist unsere letzte E-Mail an Sie. Ihre E-Mail-Adresse ist bei uns nicht mehr gespeichert.",
    well=Text(
        "{name}: Alles wieder in Ordnung",
        "Mit dem Konto {name} ist alles wieder in Ordnung. Sie müssen nichts tun.\n\nKonto ansehen:\n\n{link}",
        "Konto ansehen",
    ),
    needs_attention=Text(
        "Problem mit dem Konto {name}: {problem}",
        "Beim Konto {name} gibt es ein Problem.\n\n{details}\n\nKonto ansehen:\n\n{link}",
        "Konto ansehen",
    ),
    cause="Was ist passiert? {cause}",
    remedy="Was ist zu tun? {remedy}",
    about_notices="Sie erhalten eine E-Mail pro Problem und eine weitere, wenn das Konto wieder in Ordnung ist. In"
    " Ihrem Profil oder mit PATCH /v1/me können Sie diese E-Mails abschalten.",
    problems={
        "revoked": "Das Arbeits-Token des Kontos ist abgelaufen oder wurde in Cloudflare gelöscht oder deaktiviert.",
        "permission_error": "Dem Arbeits-Token des Kontos fehlt eine Berechtigung.",
        "resource_drift": "Ressourcen des Dienstes in Cloudflare wurden außerhalb des Dienstes geändert oder gelöscht.",
        "no_connection": "Der Worker des Kontos hat sich seit einem Tag nicht gemeldet.",
        "token_expires_soon": "Das Arbeits-Token des Kontos läuft bald ab.",
        "over": "Das Konto hat ein Limit seines Cloudflare-Tarifs erreicht.",
    },
    other_problem="Beim Konto gibt es ein Problem.",
    expires_on="Das Arbeits-Token des Kontos läuft am {day} (UTC) ab.",
    limits={
        "requests": "Am {day} haben die Worker des Kontos {used} Anfragen verarbeitet; der Tarif erlaubt {limit} pro"
        " Tag.",
        "writes": "Am {day} haben die Datenbanken des Kontos {used} Zeilen geschrieben; der Tarif erlaubt {limit} pro"
        " Tag.",
        "reads": "Am {day} haben die Datenbanken des Kontos {used} Zeilen gelesen; der Tarif erlaubt {limit} pro Tag.",
        "size": "Die Datenbank des Workers belegt {used} MB von {limit} MB, die der Tarif des Kontos erlaubt.",
    },
    suggestions={
        "shorter_hourly_retention": "Bewahren Sie Aufschlüsselungen kürzer auf (einstellbar auf der Seite des Kontos),"
        " oder wechseln Sie zu einem größeren Cloudflare-Tarif.",
        "shorter_month_retention": "Bewahren Sie Aufschlüsselungen für weniger Monate auf (einstellbar auf der Seite"
        " des Kontos), oder wechseln Sie zu einem größeren Cloudflare-Tarif.",
    },
    upgrade="Wechseln Sie zu einem größeren Cloudflare-Tarif, oder löschen Sie einige Websites dieses Kontos.",
    report_confirm={
        "reports": Text(
            "Bestätigen Sie E-Mail-Berichte zu {about}",
            "{owner} möchte Ihnen E-Mail-Berichte zu {about} senden: mit Aufrufen, Besuchern und den meistbesuchten"
            " Seiten. Öffnen Sie diesen Link, um zuzustimmen oder abzulehnen:\n\n{link}\n\n"
            "Ohne Ihre Zustimmung erhalten Sie keine Berichte. Diese E-Mail kommt von {service_url}.",
            "Zustimmen oder ablehnen",
        ),
        "alerts": Text(
            "Bestätigen Sie E-Mail-Warnungen zu {about}",
            "{owner} möchte Ihnen E-Mail-Warnungen zu {about} senden, wenn die Zahl der Aufrufe ungewöhnlich hoch"
            " oder niedrig ist. Öffnen Sie diesen Link, um zuzustimmen oder abzulehnen:\n\n{link}\n\n"
            "Ohne Ihre Zustimmung erhalten Sie keine Warnungen. Diese E-Mail kommt von {service_url}.",
            "Zustimmen oder ablehnen",
        ),
        "reports_and_alerts": Text(
            "Bestätigen Sie E-Mail-Berichte und Warnungen zu {about}",
            "{owner} möchte Ihnen E-Mail-Berichte und Warnungen zu {about} senden. Die Berichte enthalten Aufrufe,"
            " Besucher und die meistbesuchten Seiten. Eine Warnung erhalten Sie, wenn die Zahl der Aufrufe ungewöhnlich"
            " hoch oder niedrig ist. Öffnen Sie diesen Link, um zuzustimmen oder abzulehnen:\n\n{link}\n\n"
            "Ohne Ihre Zustimmung erhalten Sie weder Berichte noch Warnungen. Diese E-Mail kommt von {service_url}.",
            "Zustimmen oder ablehnen",
        ),
    },
    several_sites="mehrere Websites",
    broken_target=Text("Ein Ziel Ihres Links {code} ist nicht erreichbar", _BROKEN_TARGETS, "Links ansehen"),
    broken_targets=Text("Nicht erreichbare Ziele Ihrer Links: {count}", _BROKEN_TARGETS, "Links ansehen"),
    target_problems={
        "http_404": "Seite nicht gefunden, Status 404",
        "http_410": "Seite gelöscht, Status 410",
        "tls_failed": "keine sichere Verbindung möglich",
        "unknown_host": "Hostname existiert nicht",
    },
    more_broken_targets="Anzahl weiterer nicht erreichbarer Ziele: {count}",
    report=REPORT,
    alert=ALERT,
    errors=GERMAN_ERRORS,
    findings=GERMAN_FINDINGS,
    remaining=GERMAN_REMAINING_RESOURCES,
)
