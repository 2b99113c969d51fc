-- Who sent a message, as far as the message says (MSH-3.1 and MSH-4.1 with ^ between): each numbers its messages by
-- itself, also behind one connection. Null where it says nothing, for CSV, and for those from before.
alter table messages add column sender text;

-- Messages that came over a connection and were answered, whose orders are still to be made; a row for each commit.
create table arrivals (
  id          bigint generated always as identity,
  connector   text not null,
  message_ids bigint[] not null,
  -- Whether the answer to each was all that the sender is told of it as a whole.
  is_told     boolean[] not null,
  -- Of the messages together.
  bytes       bigint not null,
  arrived_at  timestamptz not null default now(),
  primary key (connector, id)
);
