create table if not exists month(
  month integer,
  target text,
  totals text not null,
  primary key(month, target)
) without rowid;
