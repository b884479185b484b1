-- The user's texts about a link. title_folded: the title in the form in which titles are searched
-- (svc/model/link_texts.py). tags: the tags in order, each between two spaces; '' without tags.
alter table links add column tags TEXT not null default '';
alter table links add column title TEXT;
alter table links add column title_folded TEXT;
alter table links add column note TEXT;
