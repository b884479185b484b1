-- Where the link host redirects `/` and paths without a link. Null: it shows a page.
alter table link_hosts add column root_url TEXT;
alter table link_hosts add column not_found_url TEXT;
-- Why the worker does not have the link host's version (JSON note), like the column of the same name in sites and links.
alter table link_hosts add column config_error TEXT;
