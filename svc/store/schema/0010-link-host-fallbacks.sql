-- Where the link host redirects `/` and paths without a link. Null: the link host shows a page.
alter table link_hosts add column root_url TEXT;
alter table link_hosts add column not_found_url TEXT;
-- Why the Worker's database does not contain this version (JSON note), as in the tables sites and links.
alter table link_hosts add column config_error TEXT;
