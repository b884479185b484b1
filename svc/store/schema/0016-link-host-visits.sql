-- When the service next requests a code from the link host, to check what visitors get (epoch ms). 0: as soon as the
-- host is live. Null: no request is due. This includes link hosts that were set before this migration.
alter table link_hosts add column visit_at INT;
-- The number of consecutive requests with a problem.
alter table link_hosts add column failed_visits INT not null default 0;
-- The problem of the last request (JSON note), once it has lasted for a while.
alter table link_hosts add column visit_error TEXT;
