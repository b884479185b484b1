-- The newest form of a link's configuration row that the installed Worker knows (vocabulary.json, link_format).
alter table accounts add column edge_link_format INT not null default 1;
