create table if not exists meta(key text primary key, value) without rowid;
create table if not exists config(key text primary key, version integer not null, body text) without rowid;
create table if not exists event_log(
  id integer primary key,
  lines text not null,
  writes text not null default '',
  drops text not null default '',
  tally text not null default ''
);
create table if not exists event_page(id integer primary key, lines text not null);
create table if not exists day(target text, day integer, totals text, primary key(target, day)) without rowid;
create table if not exists hour(
  target text,
  day integer,
  hour integer,
  views integer,
  bots integer,
  visitors text,
  primary key(target, day, hour)
) without rowid;
create table if not exists ledger(
  day integer,
  entry text,
  counts text not null,
  primary key(day, entry)
) without rowid;
create table if not exists salt(day integer primary key, salt text not null);
create table if not exists outbox(id integer primary key, made_at integer not null, part text not null);
insert or ignore into meta(key, value) values ('config_version', 0), ('state', '{}');
