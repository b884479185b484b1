-- 1: the counts of an imported day are estimates, because the other product counted only a sample.
alter table days add column estimated INT not null default 0;
