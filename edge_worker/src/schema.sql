create table if not exists meta(k text primary key, v) without rowid;
--
create table if not exists cfg(k text primary key, ver integer not null, j text) without rowid;
--
create index if not exists cfg_by_ver on cfg(ver);
--
create table if not exists part(id integer primary key, body text not null, f text not null default '', x text not null default '');
--
create table if not exists sorted(id integer primary key, body text not null);
--
create table if not exists day(t text, d integer, j text, primary key(t,d)) without rowid;
--
create table if not exists hr(t text, d integer, h integer, v integer, b integer, u text, primary key(t,d,h)) without rowid;
--
create table if not exists salt(d integer primary key, s text not null);
--
create table if not exists out(id integer primary key, born integer not null, body text not null);
--
insert or ignore into meta(k, v) values ('schema', 1), ('cfg_ver', 0), ('state', '{}');
