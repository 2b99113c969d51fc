-- Messages that come over a connection are answered there, and a message that comes again gets the same bytes again.
alter table messages
  -- Address of the sender; null for messages of files.
  add column peer text,
  -- What was answered; null where nothing was.
  add column reply bytea,
  -- A message with the control id of another one and other content: both are there for a person to compare.
  add column reuses bigint references messages;
create index messages_control_id on messages (connector, message_control_id, id) where message_control_id is not null;

-- Tries that the lab answered with an error, which is no outage: some of them need a person.
alter table deliveries add column error_answers integer not null default 0;
