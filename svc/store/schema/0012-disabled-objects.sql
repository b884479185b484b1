-- When and why the operator disabled the site or link; null: it is enabled. A deleted row keeps both columns, so that
-- its owner cannot use the host or the code again.
alter table sites add column disabled_at INT;
alter table sites add column disabled_reason TEXT;
alter table links add column disabled_at INT;
alter table links add column disabled_reason TEXT;
create index sites_disabled on sites (host) where disabled_at is not null;
create index links_disabled on links (code) where disabled_at is not null;
-- The operator finds a site by its host.
create index sites_by_host on sites (host);
