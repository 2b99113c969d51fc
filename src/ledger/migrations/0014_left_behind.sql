-- A person may also have to see to a message whose refusal its sender was not told, and to a result that the lab took back
-- after it had acknowledged it.
alter table tasks
  alter column order_id drop not null,
  add column message_id bigint references messages on delete cascade,
  add column delivery_id bigint references deliveries on delete cascade,
  add constraint tasks_about_one_thing check (num_nonnulls(order_id, message_id, delivery_id) = 1),
  drop constraint tasks_kind_check,
  add constraint tasks_kind_check check (
    kind in ('cancel', 'hold', 'release', 'change', 'update', 'merge', 'refusal', 'taken_back'));
create unique index tasks_message on tasks (message_id) where message_id is not null;
create unique index tasks_delivery on tasks (delivery_id) where delivery_id is not null;

-- Connectors that are configured no more, and through which one goes out what the lab is still to be told of them.
create table moved_connectors (
  name     text primary key,
  moved_to text not null check (moved_to <> name),
  moved_at timestamptz not null default now(),
  actor    text not null
);
