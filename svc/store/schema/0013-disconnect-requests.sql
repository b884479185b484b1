-- Accounts that the operator disconnects with `svc account disconnect`. Deleted together with the account's row.
create table disconnect_requests (
    account_id TEXT primary key references accounts (id) on delete cascade,
    requested_at INT not null,
    -- 1: do not wait until Cloudflare responds.
    forced INT not null default 0,
    -- Why the service waits (`WaitReason` in store/disconnect_requests.py). Null: it does not wait.
    waits_for TEXT
);
create index disconnect_requests_order on disconnect_requests (requested_at, account_id);

-- 1: the operator disconnected the account.
alter table former_accounts add column by_operator INT not null default 0;
-- The operator finds accounts by their Cloudflare account ID, and lists disconnected accounts by their age.
create index former_accounts_edge on former_accounts (edge_account_id);
create index accounts_age on accounts (created_at, id);
