-- How a service decides what its specification leaves open, as it was last seen; a start compares with it. Holds names
-- of fields, filters and words, never values of records.
create table service_findings (
  -- Address of the service: another one may do as it likes.
  service       text not null,
  kind          text not null,
  list          text not null,
  name          text not null default '',
  value         text not null,
  -- Before the last change; null while it never changed.
  before        text,
  -- Changes that an operator should know of.
  drifts        bigint not null default 0,
  found_at      timestamptz not null default now(),
  drifted_at    timestamptz,
  primary key (service, kind, list, name),
  check ((drifts = 0) = (drifted_at is null))
);
