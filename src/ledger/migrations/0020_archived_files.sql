-- Archived files that are looked at again: what is written to one behind its archiving was not taken.
create table archived_files (
  file_id     bigint primary key references files on delete cascade,
  path        text not null,
  -- As it was read.
  size_bytes  bigint not null,
  -- Nanoseconds since 1970, which are too many for a number.
  modified    text not null,
  archived_at timestamptz not null default now(),
  -- When the next look is due; empty once the file was seen to have changed.
  due_at      timestamptz
);
create index archived_files_due on archived_files (due_at) where due_at is not null;

alter table tasks
  add column file_id bigint references files on delete cascade,
  drop constraint tasks_about_one_thing,
  add constraint tasks_about_one_thing check (num_nonnulls(order_id, message_id, delivery_id, file_id) = 1),
  drop constraint tasks_kind_check,
  add constraint tasks_kind_check check (
    kind in ('cancel', 'hold', 'release', 'change', 'update', 'merge', 'refusal', 'taken_back', 'duplicate', 'late_write'));
create unique index tasks_file on tasks (file_id) where file_id is not null;
