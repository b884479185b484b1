BEGIN TRANSACTION;
CREATE TABLE accounts (
    id text primary key,
    user_id integer not null references users (id),
    edge_account_id text not null unique,
    name text not null,
    plan text not null default 'free',
    state text not null,
    token_id text,
    token_name text,
    token_expires_at integer,
    sealed_token blob,
    token_made_at integer,
    token_refused_at integer,
    token_refusals integer not null default 0,
    suspected_at integer,
    well_at integer,
    error text,
    warnings text not null default '[]',
    revoke_tokens text not null default '[]',
    bootstrap_expires_at integer,
    location text,
    database_id text,
    database_sought_at integer,
    script_etag text,
    edge_bundle text,
    edge_schema integer,
    installed_at integer,
    install_id text,
    heard_at integer,
    config_version integer not null,
    synced_version integer not null,
    asked_version integer not null default 0,
    restored_as_of integer,
    push text,
    last_part integer default 0,
    advice text,
    advice_due_at integer,
    told text not null default '{}',
    notice_due_at integer,
    created_at integer not null
);
INSERT INTO "accounts" VALUES('acc_quj5j56zbpubykh6wd5v',1,'00000000000000000000000000000003','Shop','free','pending',NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,'[]','[]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,0,0,NULL,NULL,0,NULL,NULL,'{"seen": {}, "owed": true}',NULL,1795233600000);
CREATE TABLE days (
    target text not null,
    day integer not null,
    views integer not null,
    bots integer not null,
    visitors integer not null,
    as_of integer not null,
    final integer not null,
    imported integer not null default 0,
    primary key (target, day)
) without rowid;
INSERT INTO "days" VALUES('lnk_37a4e7huztbjbpt7g3lh',20777,2,0,1,1795219200000,1,0);
INSERT INTO "days" VALUES('lnk_37a4e7huztbjbpt7g3lh',20778,2,0,1,1795222800000,0,0);
INSERT INTO "days" VALUES('lnk_itoiaizbcqxxhfprjzqs',20777,2,0,1,1795219200000,1,0);
INSERT INTO "days" VALUES('lnk_itoiaizbcqxxhfprjzqs',20778,2,0,1,1795222800000,0,0);
INSERT INTO "days" VALUES('site_2bhyamsrnrmymzxhc5kc',20777,3,1,2,1795219200000,1,0);
INSERT INTO "days" VALUES('site_2bhyamsrnrmymzxhc5kc',20778,3,1,2,1795222800000,0,0);
INSERT INTO "days" VALUES('site_pxkezseftk3knpre2qoz',20777,3,1,2,1795219200000,1,0);
INSERT INTO "days" VALUES('site_pxkezseftk3knpre2qoz',20778,3,1,2,1795222800000,0,0);
CREATE TABLE departures (
    user_id integer primary key references users (id) on delete cascade,
    email text not null,
    access_digest text not null unique,
    began_at integer not null
);
CREATE TABLE devices (
    user_id integer not null references users (id) on delete cascade,
    digest text not null,
    seen_at integer not null,
    primary key (user_id, digest)
);
INSERT INTO "devices" VALUES(1,'i3BF7Sey6f0JaUQSx7osSiI3SQjcSFGZ_9UEaV6vSfo',1795233600000);
CREATE TABLE events (
    user_id integer not null references trails (user_id) on delete cascade,
    number integer not null,
    at integer not null,
    via text not null,
    ip text,
    action text not null,
    target text,
    outcome text not null,
    edge_account_id text,
    count integer not null,
    primary key (user_id, number)
) without rowid;
INSERT INTO "events" VALUES(1,1,1795233600000,'session','192.0.2.7','user.change',NULL,'done',NULL,1);
INSERT INTO "events" VALUES(1,2,1795233600000,'service',NULL,'account.state','acc_5im6wqqbljf74xglci5i','pending','00000000000000000000000000000002',1);
INSERT INTO "events" VALUES(1,3,1795233600000,'service',NULL,'account.connect','acc_5im6wqqbljf74xglci5i','renew_lost','00000000000000000000000000000002',1);
INSERT INTO "events" VALUES(1,4,1795233600000,'service',NULL,'account.state','acc_quj5j56zbpubykh6wd5v','pending','00000000000000000000000000000003',1);
INSERT INTO "events" VALUES(1,5,1795233600000,'service',NULL,'account.connect','acc_quj5j56zbpubykh6wd5v','renew_lost','00000000000000000000000000000003',1);
CREATE TABLE final_days (
    account_id text not null references accounts (id) on delete cascade,
    day integer not null,
    primary key (account_id, day)
);
INSERT INTO "final_days" VALUES('acc_quj5j56zbpubykh6wd5v',20777);
CREATE TABLE former_accounts (
    id text primary key,
    user_id integer not null references users (id) on delete cascade,
    edge_account_id text not null,
    name text not null,
    disconnected_at integer not null,
    counted_until integer,
    revoke_token text,
    things_left text not null,
    told_with_user integer not null default 0
);
INSERT INTO "former_accounts" VALUES('acc_5im6wqqbljf74xglci5i',1,'00000000000000000000000000000002','Shop',1795233600000,1795222800000,'svc-op_old','[{"kind": "worker", "why": "changed", "facts": {"worker": "svc-edge"}}]',0);
CREATE TABLE hours (
    target text not null,
    at integer not null,
    views integer not null,
    bots integer not null,
    visitors integer not null,
    as_of integer not null,
    final integer not null,
    primary key (target, at)
) without rowid;
INSERT INTO "hours" VALUES('lnk_37a4e7huztbjbpt7g3lh',1795132800000,2,0,1,1795219200000,1);
INSERT INTO "hours" VALUES('lnk_37a4e7huztbjbpt7g3lh',1795219200000,2,0,1,1795222800000,0);
INSERT INTO "hours" VALUES('lnk_itoiaizbcqxxhfprjzqs',1795132800000,2,0,1,1795219200000,1);
INSERT INTO "hours" VALUES('lnk_itoiaizbcqxxhfprjzqs',1795219200000,2,0,1,1795222800000,0);
INSERT INTO "hours" VALUES('site_2bhyamsrnrmymzxhc5kc',1795132800000,3,1,2,1795219200000,1);
INSERT INTO "hours" VALUES('site_2bhyamsrnrmymzxhc5kc',1795219200000,3,1,2,1795222800000,0);
INSERT INTO "hours" VALUES('site_pxkezseftk3knpre2qoz',1795132800000,3,1,2,1795219200000,1);
INSERT INTO "hours" VALUES('site_pxkezseftk3knpre2qoz',1795219200000,3,1,2,1795222800000,0);
CREATE TABLE idempotency (
    user_id integer not null references users (id) on delete cascade,
    edge_accounts text,
    method text not null,
    path text not null,
    key text not null,
    body_digest text not null,
    status integer not null,
    content_type text not null,
    headers text not null,
    body blob not null,
    expires_at integer not null,
    primary key (user_id, method, path, key)
);
INSERT INTO "idempotency" VALUES(1,NULL,'POST','/v1/sites','one','digest',201,'application/json','{}',X'7B7D',1795320000000);
CREATE TABLE keys (
    id text primary key,
    user_id integer not null references users (id) on delete cascade,
    digest text not null unique,
    name text,
    prefix text not null,
    scopes text not null,
    allow_accounts text,
    allow_ips text,
    created_at integer not null,
    last_used integer
);
INSERT INTO "keys" VALUES('key_vqwg3fszdpktq7lt2ejm',1,'_9N7ox72DoHR1DA915j9sJW2LYiAw7PGvsZ8KYq4zAk',NULL,'svc_x','["sites"]',NULL,NULL,1795233600000,NULL);
CREATE TABLE link_hosts (
    account_id text primary key references accounts (id) on delete cascade,
    host text not null,
    zone_id text not null,
    state text not null,
    route_id text,
    error text,
    version integer not null
);
INSERT INTO "link_hosts" VALUES('acc_quj5j56zbpubykh6wd5v','go.example.com','zone','route_pending',NULL,NULL,1);
CREATE TABLE links (
    id text primary key,
    account_id text not null,
    user_id integer not null references users (id) on delete cascade,
    code text  not null,
    url text not null,
    rules text not null,
    state text not null,
    config_error text,
    version integer not null,
    created_at integer not null
);
INSERT INTO "links" VALUES('lnk_itoiaizbcqxxhfprjzqs','acc_5im6wqqbljf74xglci5i',1,'sale26','https://shop.example.com/sale','[]','deleted',NULL,3,1795233600000);
INSERT INTO "links" VALUES('lnk_37a4e7huztbjbpt7g3lh','acc_quj5j56zbpubykh6wd5v',1,'sale26','https://shop.example.com/sale','[]','active',NULL,3,1795233600000);
CREATE TABLE mail_tokens (
    digest text primary key,
    user_id integer not null,
    purpose text not null,
    mail_id text not null,
    expires_at integer not null
);
INSERT INTO "mail_tokens" VALUES('WQ7E9Q3EOs-Gl95wVAWRUelknKX65BTLas7UhoOmq2Q',1,'reset','mail_shkhq5qssovpv4kgx2no',1795320000000);
CREATE TABLE operations (
    id text primary key,
    account_id text not null,
    edge_account_id text not null,
    kind text not null,
    state text not null,
    step text not null,
    error text,
    attempts integer not null,
    token_asked_at integer,
    token_id text,
    open_uploads integer not null default 0,
    created_at integer not null,
    updated_at integer not null
);
INSERT INTO "operations" VALUES('op_3isnhgd7ru2kr2gnmkrm','acc_5im6wqqbljf74xglci5i','00000000000000000000000000000002','connect','failed','token','{"code": "renew_lost", "message": "The outcome of the renewal is unknown; details.revoke_token names the token to revoke.", "details": null}',0,1795233600000,NULL,0,1795233600000,1795233600000);
INSERT INTO "operations" VALUES('op_mbljolh3vygjlgqzdifp','acc_5im6wqqbljf74xglci5i','00000000000000000000000000000002','disconnect','done','routes',NULL,0,NULL,NULL,0,1795233600000,1795233600000);
INSERT INTO "operations" VALUES('op_x76ljx3ybvhllo63aphq','acc_quj5j56zbpubykh6wd5v','00000000000000000000000000000003','connect','failed','token','{"code": "renew_lost", "message": "The outcome of the renewal is unknown; details.revoke_token names the token to revoke.", "details": null}',0,1795233600000,NULL,0,1795233600000,1795233600000);
CREATE TABLE outbox (
    id text primary key,
    kind text not null,
    address text not null,
    user_id integer references users (id) on delete cascade,
    account_id text references accounts (id) on delete cascade,
    facts text not null,
    attempts integer not null default 0,
    unsure integer not null default 0,
    trouble text,
    created_at integer not null,
    due_at integer not null,
    ends_at integer not null
);
INSERT INTO "outbox" VALUES('mail_sl3ncilapx7xeisy64qd','account','person1@example.com',1,'acc_quj5j56zbpubykh6wd5v','{"trouble": "revoked"}',0,0,NULL,1795233600000,1795233600000,1795492800000);
CREATE TABLE pushed (
    account_id text primary key references accounts (id) on delete cascade,
    as_of integer not null
);
INSERT INTO "pushed" VALUES('acc_quj5j56zbpubykh6wd5v',1795222800000);
CREATE TABLE refused_hours (
    account_id text not null,
    at integer not null,
    primary key (account_id, at)
);
INSERT INTO "refused_hours" VALUES('acc_5im6wqqbljf74xglci5i',1795136400000);
INSERT INTO "refused_hours" VALUES('acc_5im6wqqbljf74xglci5i',1795222800000);
INSERT INTO "refused_hours" VALUES('acc_quj5j56zbpubykh6wd5v',1795136400000);
INSERT INTO "refused_hours" VALUES('acc_quj5j56zbpubykh6wd5v',1795222800000);
CREATE TABLE retiring_paths (
    site_id text not null references sites (id) on delete cascade,
    path text not null,
    route_id text,
    until integer not null,
    ended_version integer,
    primary key (site_id, path)
);
INSERT INTO "retiring_paths" VALUES('site_pxkezseftk3knpre2qoz','/new','route',1795233600000,NULL);
CREATE TABLE rollouts (
    id integer primary key autoincrement,
    bundle text not null,
    state text not null,
    reason text,
    watched integer not null default 1,
    wave integer not null default 0,
    wave_began_at integer,
    wave_size integer,
    updated integer not null default 0,
    failed integer not null default 0,
    started_at integer not null,
    changed_at integer not null,
    looked_at integer not null,
    patient_until integer not null default 0
);
CREATE TABLE serving (
    epoch integer not null,
    looks integer not null,
    backed_up_at integer
);
INSERT INTO "serving" VALUES(0,0,NULL);
CREATE TABLE sessions (
    id text primary key,
    user_id integer not null references users (id) on delete cascade,
    family_digest text not null unique,
    browser text not null,
    device_digest text not null,
    created_at integer not null,
    access_digest text not null unique,
    access_expires_at integer not null,
    refresh_digest text not null,
    refresh_expires_at integer not null,
    previous_digest text,
    previous_access_digest text unique,
    previous_access_until integer,
    salt text not null,
    issued_at integer not null
);
INSERT INTO "sessions" VALUES('ses_prrpml7fg2vrbjfso36s',1,'f-M6yRLI1FxRpWFUucWn1ksUvesMiOy0hyVqt-EI4OdEw','Firefox on Linux','d-M6yRLI1FxRpWFUucWn1ksUvesMiOy0hyVqt-EI4OdEw',1795233600000,'a-M6yRLI1FxRpWFUucWn1ksUvesMiOy0hyVqt-EI4OdEw',1795320000000,'r-M6yRLI1FxRpWFUucWn1ksUvesMiOy0hyVqt-EI4OdEw',1795320000000,NULL,NULL,NULL,'salt',1795233600000);
CREATE TABLE sites (
    id text primary key,
    account_id text not null,
    user_id integer not null references users (id) on delete cascade,
    host text not null,
    zone_id text not null,
    state text not null,
    path text not null,
    script_name text not null,
    excluded_paths text not null,
    respect_gpc integer not null,
    route_id text,
    error text,
    config_error text,
    first_view_at integer,
    version integer not null,
    created_at integer not null
);
INSERT INTO "sites" VALUES('site_2bhyamsrnrmymzxhc5kc','acc_5im6wqqbljf74xglci5i',1,'shop.example.com','zone','deleted','/ab3/x9k','k3f','["/admin"]',1,NULL,NULL,NULL,1795233600000,2,1795233600000);
INSERT INTO "sites" VALUES('site_pxkezseftk3knpre2qoz','acc_quj5j56zbpubykh6wd5v',1,'shop.example.com','zone','route_pending','/ab3/x9k','k3f','["/admin"]',1,NULL,NULL,NULL,1795233600000,2,1795233600000);
CREATE TABLE trails (
    user_id integer primary key references users (id) on delete cascade,
    length integer not null default 0
);
INSERT INTO "trails" VALUES(1,5);
CREATE TABLE unwanted_routes (
    account_id text not null references accounts (id) on delete cascade,
    zone_id text not null,
    host text not null,
    pattern text not null,
    route_id text,
    site_id text,
    again_at integer,
    primary key (account_id, zone_id, pattern)
);
INSERT INTO "unwanted_routes" VALUES('acc_quj5j56zbpubykh6wd5v','zone','shop.example.com','shop.example.com/old*',NULL,'site_pxkezseftk3knpre2qoz',NULL);
CREATE TABLE users (
    id integer primary key autoincrement,
    email text,
    password_hash text not null,
    email_confirmed integer not null,
    plan text not null,
    notify integer not null default 1,
    email_refused_at integer,
    created_at integer not null
);
INSERT INTO "users" VALUES(1,'person1@example.com','hash',1,'free',1,NULL,1795233600000);
CREATE TABLE wave_accounts (
    account_id text primary key references accounts (id) on delete cascade,
    wave integer,
    due_at integer not null,
    since integer not null,
    operation_id text,
    push_before text
);
INSERT INTO "wave_accounts" VALUES('acc_quj5j56zbpubykh6wd5v',0,1795233600000,1795233600000,NULL,NULL);
CREATE TABLE worker_keys (
    digest text primary key,
    account_id text not null references accounts (id) on delete cascade,
    valid_until integer
);
INSERT INTO "worker_keys" VALUES('P-_jTxYwLWDuPGJUoCdYisXAvBp2FsqHzkNbMbR_F90','acc_quj5j56zbpubykh6wd5v',NULL);
CREATE UNIQUE INDEX users_email on users (lower(email)) where email_confirmed = 1;
CREATE INDEX users_sign_ups on users (lower(email), id);
CREATE INDEX users_unconfirmed on users (created_at) where email_confirmed = 0;
CREATE INDEX events_age on events (at);
CREATE INDEX sessions_user on sessions (user_id);
CREATE INDEX sessions_expiry on sessions (refresh_expires_at);
CREATE INDEX mail_tokens_user on mail_tokens (user_id, purpose);
CREATE INDEX mail_tokens_mail on mail_tokens (mail_id);
CREATE INDEX mail_tokens_expiry on mail_tokens (expires_at);
CREATE INDEX devices_age on devices (seen_at);
CREATE INDEX keys_user on keys (user_id);
CREATE INDEX idempotency_expiry on idempotency (expires_at);
CREATE INDEX idempotency_large on idempotency (user_id) where length(body) > 4096;
CREATE INDEX accounts_user on accounts (user_id);
CREATE INDEX accounts_state on accounts (state);
CREATE INDEX former_accounts_user on former_accounts (user_id);
CREATE INDEX former_accounts_age on former_accounts (disconnected_at);
CREATE INDEX outbox_user on outbox (user_id);
CREATE INDEX outbox_account on outbox (account_id, created_at);
CREATE INDEX outbox_address on outbox (address, kind);
CREATE INDEX outbox_asked on outbox (due_at) where account_id is null;
CREATE INDEX outbox_notices on outbox (due_at) where account_id is not null;
CREATE INDEX outbox_end on outbox (ends_at);
CREATE UNIQUE INDEX operations_running on operations (edge_account_id) where state = 'running';
CREATE INDEX operations_account on operations (account_id);
CREATE INDEX operations_age on operations (updated_at);
CREATE INDEX wave_accounts_wave on wave_accounts (wave);
CREATE INDEX worker_keys_account on worker_keys (account_id);
CREATE INDEX worker_keys_expiry on worker_keys (valid_until);
CREATE UNIQUE INDEX sites_host on sites (account_id, host) where state <> 'deleted';
CREATE INDEX sites_user on sites (user_id, created_at, id);
CREATE INDEX sites_version on sites (account_id, version);
CREATE UNIQUE INDEX links_code on links (account_id, code) where state = 'active';
CREATE INDEX links_by_age on links (user_id, state, created_at, id);
CREATE INDEX links_by_code on links (user_id, state, lower(code), code, id);
CREATE INDEX links_version on links (account_id, version);
CREATE INDEX hours_age on hours (at);
CREATE INDEX refused_hours_age on refused_hours (at);
CREATE INDEX final_days_age on final_days (day);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('users',1);
COMMIT;
pragma user_version = 1;
