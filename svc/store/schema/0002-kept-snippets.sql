-- Each site keeps the snippet that its pages contain, so that an upgrade changes no page's Content-Security-Policy
-- hash. Before this migration, all sites had the same snippet. __PATH__ stands for the site's path.
alter table sites add column snippet TEXT not null default '';
update sites set snippet = '{let r,a,t=navigator,e=document,o=location,n=()=>e.prerendering||r==(a=o.pathname)||t.sendBeacon?.("__PATH__",[a,r||e.referrer,/[?&](?:utm_source|ref)=[^&#]*/.exec(o),t.webdriver].join`\n`,r=a);e.$v||(n(),self.navigation?navigation.addEventListener("currententrychange",n):setInterval(n,500),addEventListener("pageshow",i=>i.persisted&&n(r="//")),e.$v=e.onprerenderingchange=n)}';

-- Reasons why visitors do not reach the Worker although the site is set up (JSON list of notes).
alter table sites add column warnings TEXT not null default '[]';

-- The time from which every isolate serves the version (epoch ms). Null: not synced since this migration.
alter table sites add column live_at INT;
alter table links add column live_at INT;
alter table link_hosts add column live_at INT;
