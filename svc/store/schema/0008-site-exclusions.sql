-- Visitors whose views the Worker does not count: networks, countries and autonomous systems (JSON lists).
alter table sites add column excluded_networks TEXT not null default '[]';
alter table sites add column excluded_countries TEXT not null default '[]';
alter table sites add column excluded_asns TEXT not null default '[]';
