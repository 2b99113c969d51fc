-- What the ledger's statements ask the server about itself, as the simulation has it: the time, the sessions and their locks. This
-- schema stands before pg_catalog in the search path, so that the statements are the program's own, unchanged.
create schema sim;

create function sim.now() returns timestamptz language sql stable as
$$ select current_setting('sim.now')::timestamptz $$;
create function sim.clock_timestamp() returns timestamptz language sql stable as
$$ select current_setting('sim.now')::timestamptz $$;
create function sim.pg_postmaster_start_time() returns timestamptz language sql stable as
$$ select current_setting('sim.started')::timestamptz $$;
create function sim.pg_backend_pid() returns integer language sql stable as
$$ select current_setting('sim.pid')::integer $$;

create table sim.sessions (
  pid              integer primary key,
  application_name text not null,
  backend_start    timestamptz not null
);
create table sim.locks (
  pid     integer not null references sim.sessions on delete cascade,
  classid oid not null,
  objid   oid not null,
  primary key (classid, objid)
);
create view sim.pg_stat_activity as
select s.pid, s.application_name, s.backend_start, current_database() as datname
  from sim.sessions s;
create view sim.pg_locks as
select 'advisory'::text as locktype, l.classid, l.objid, l.pid, true as granted,
       (select d.oid from pg_catalog.pg_database d where d.datname = current_database()) as database
  from sim.locks l;

create function sim.pg_try_advisory_lock(class integer, object integer) returns boolean language plpgsql as $$
begin
  insert into sim.locks values (current_setting('sim.pid')::integer, class::bigint::oid, (object::bigint & 4294967295)::oid)
      on conflict do nothing;
  return exists (select 1
                   from sim.locks l
                  where l.classid = class::bigint::oid
                    and l.objid = (object::bigint & 4294967295)::oid
                    and l.pid = current_setting('sim.pid')::integer);
end $$;
create function sim.pg_advisory_unlock(class integer, object integer) returns boolean language plpgsql as $$
begin
  delete from sim.locks l
   where l.classid = class::bigint::oid
     and l.objid = (object::bigint & 4294967295)::oid
     and l.pid = current_setting('sim.pid')::integer;
  return found;
end $$;
create function sim.pg_terminate_backend(target integer) returns boolean language plpgsql as $$
begin
  delete from sim.sessions s where s.pid = target;
  return found;
end $$;

-- Marks come from the seed, too.
create or replace function cryobridge.random_code(length integer) returns text language sql volatile as $$
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + floor(random() * 32)::integer, 1), '')
    from generate_series(1, length)
$$;
