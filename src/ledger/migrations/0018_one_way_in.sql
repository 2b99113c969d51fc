-- Messages are committed with their orders before they are answered: nothing stands in front of the ledger any more, and
-- no orders are made later.
drop table arrivals;
drop table journals;
