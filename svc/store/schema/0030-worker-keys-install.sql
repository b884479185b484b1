-- The operation that uploads the Worker with this key. Several attempts of one operation have different keys, and
-- Cloudflare may apply an earlier attempt after a later one. Null in rows that an older version stored.
alter table worker_keys add column install_id TEXT;
