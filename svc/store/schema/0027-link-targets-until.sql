-- The time until which the targets in link_targets are those that visitors can reach (epoch ms): the next start or end
-- of the link's period. Null: there is none, or no targets are listed.
alter table links add column targets_until INT;
create index links_targets_until on links (targets_until) where targets_until is not null;
-- Older versions listed the targets of these links whether or not visitors could reach them.
update links set targets_version = 0
where split is not null or after_url is not null or starts_at is not null or ends_at is not null;
