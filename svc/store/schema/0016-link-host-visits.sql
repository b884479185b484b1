-- When the service requests a code from the link host next, to check what visitors get (epoch ms). 0: as soon as the host
-- is live. Null: no request is due, also for link hosts that were set before this version.
alter table link_hosts add column visit_at INT;
-- Requests in a row with a problem.
alter table link_hosts add column failed_visits INT not null default 0;
-- The problem of the last request (JSON note), once it has lasted for a while.
alter table link_hosts add column visit_error TEXT;
