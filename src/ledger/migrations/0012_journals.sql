-- How far the journal file of a connector has been taken into the ledger: what it holds of messages up to this number is
-- here already.
create table journals (
  connector text primary key,
  through   bigint not null
);
