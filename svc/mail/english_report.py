"""The English texts of email reports and alerts."""

from __future__ import annotations

from svc import note_texts
from svc.mail.words import AlertWords, ReportWords

REPORT = ReportWords(
    titles={"weekly": "Weekly report for {name}", "monthly": "Monthly report for {name}"},
    subject="{title}: {views} views",
    span="{first} to {last} (UTC)",
    views="Views",
    visitors="Visitors",
    bots="Filtered bots",
    more="{part}% more than the {before} in the previous period",
    less="{part}% fewer than the {before} in the previous period",
    same="as many as in the previous period",
    no_before="no data for the previous period",
    chart="Views per day",
    weekdays=("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    sites="Sites",
    more_sites="Number of further sites: {n}",
    pages="Most viewed pages",
    sources="Sources",
    links="Clicks on short links",
    bot_reasons="Filtered bots by reason",
    notes="Notes",
    more_notes="The report has more notes.",
    no_lists="The lists of pages, sources and bots are missing, because they could not be read from the Cloudflare"
    " account in time.",
    listed_from="The lists of pages, sources and bots begin on {day}. Earlier details have been deleted.",
    names={"": "Direct / none", "(other)": "Other"},
    reasons={
        "head": "HEAD request",
        "empty": "No user agent",
        "prefetch": "Prefetch",
        "webdriver": "Automated browser",
        "headless": "Headless browser",
        "preview": "Link preview",
        "list": "Known bot",
    },
    complete="These numbers are complete: all counts of this period have arrived.",
    missing_day="Not complete yet: some counts of one day have not arrived. The report shows them once they arrive.",
    missing_days="Not complete yet: some counts of {n} days have not arrived. The report shows them once they arrive.",
    agrees="The statement of counts for {day} has no differences.",
    differs="The statement of counts for {day} has differences. The owner can check it in the report.",
    open="Open report",
    why="You get this email because {address} is subscribed to reports about {name} at {service_url}. To unsubscribe,"
    " open this link:",
    unsubscribe="Unsubscribe",
    note_texts=note_texts.ENGLISH,
)

ALERT = AlertWords(
    subjects={
        "spike": "Many more views than usual: {host}",
        "drop": "Far fewer views than usual: {host}",
        "silence": "No views: {host}",
    },
    counts={
        "spike": "{host} had {views} views from {begin} to {end}.",
        "drop": "{host} had only {views} views from {begin} to {end}.",
        "silence": "{host} had no views from {begin} to {end}.",
    },
    usual="Usually, there are about {usual} views at this time of the week.",
    rare="Views are rare at this time of the week.",
    snippet={
        "present": "We requested https://{host}/ and found the snippet. Check whether visitors can reach the site, and"
        " whether a consent tool or a content security policy blocks the snippet.",
        "absent": "We requested https://{host}/ and did not find the snippet in the page. Add the snippet to the pages"
        " again. If a tag manager adds it, check the tag manager.",
        "unread": "We requested https://{host}/ but could not read the page. Check whether visitors can reach the"
        " site.",
    },
    once="You will not get another alert while the number of views remains unusual.",
    open="View the report:",
    why="You get this email because {address} is subscribed to alerts about {host} at {service_url}. To unsubscribe"
    " from all reports and alerts, open this link:",
)
