-- 1: the Worker offers the site's visitors a page that turns counting off for their browser.
alter table sites add column visitor_opt_out INT not null default 0;
