-- Before a call that creates something is repeated, the service is looked at, whatever the answer to it said.
alter table orders
  -- When the first call to create what the order asks for left, and what was there before it (known_request_ids): both stay
  -- until the order asks for something else.
  add column called_at timestamptz,
  -- The latest call was answered with a refusal that says nothing was done: one empty look is enough to send it again.
  add column is_refused boolean not null default false;
update orders set called_at = intent_at where intent = 'request';

-- Characters of Crockford's base 32, five random bits each; 15 at most. Byte 6 of a UUID holds its version.
create function random_code(length integer) returns text language sql volatile set search_path = pg_catalog as $$
  with random as materialized (select uuid_send(gen_random_uuid()) as bytes)
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + (get_byte(r.bytes, n) & 31), 1), '' order by n)
    from random r, unnest((array[0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15])[1:length]) as n
$$;

alter table ledger
  drop column secret,
  -- What all marks of this ledger begin with.
  add column mark_prefix text not null default random_code(4);

-- The mark of an order in the descriptions of its containers. It is random, so that a ledger that was restored from an older
-- copy gives none again.
create function new_mark() returns text language sql volatile set search_path from current as $$
  select coalesce((select l.mark_prefix from ledger l), random_code(4)) || '-' || random_code(10)
$$;

alter table orders
  drop column generation,
  add column mark text not null default new_mark(),
  -- The marks that it had before it asked for something else, or was done anew.
  add column former_marks text[] not null default '{}';
create unique index orders_mark on orders (mark);
create index orders_former_marks on orders using gin (former_marks) where former_marks <> '{}';

-- When an order that was sent again, since nothing was found of its first call, is looked for once more.
alter table orders add column recheck_at timestamptz;
create index orders_recheck on orders (recheck_at) where recheck_at is not null;

alter table tasks
  drop constraint tasks_kind_check,
  add constraint tasks_kind_check check (
    kind in ('cancel', 'hold', 'release', 'change', 'update', 'merge', 'refusal', 'taken_back', 'duplicate'));

-- A ledger that was restored from an older copy: how that is noticed, and what is done then.
alter table ledger
  -- Counts up before calls leave; the file beside the data has the number too.
  add column epoch bigint not null default 0,
  -- How often it was found to be an older copy.
  add column restores integer not null default 0,
  add column restored_at timestamptz,
  -- How that was noticed, in words.
  add column restored_by text,
  -- Since when facts may be missing.
  add column forgotten_since timestamptz,
  -- How many open orders there were to compare with the service.
  add column restored_open integer not null default 0,
  -- When a person decided that nothing is compared any more.
  add column restore_lifted_at timestamptz;

-- An order that is to be compared with the service before anything is submitted, and when that is tried next.
alter table orders add column compare_at timestamptz;
create index orders_compare on orders (compare_at) where compare_at is not null;

alter table orders
  drop constraint orders_overrides_check,
  add constraint orders_overrides_check check (overrides <@ array['number', 'containers', 'restored']);
