-- forward_query: 1 if the Worker adds the query of the short URL to the target. starts_at, ends_at: the link's period
-- (epoch ms). after_url: where clicks outside of the period go. split: JSON, the variants of a split link; null: none.
alter table links add column forward_query INT not null default 0;
alter table links add column starts_at INT;
alter table links add column ends_at INT;
alter table links add column after_url TEXT;
alter table links add column split TEXT;
