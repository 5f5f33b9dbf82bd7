// @ts-check

/** What a user of a queue without joins builds: a row that counts how many jobs are left. */
export const JOIN_TABLE = {
  create: 'create table bench_joins (run integer primary key, remaining integer not null)',
  open: 'insert into bench_joins (run, remaining) values ($1, $2)',
  decrement: 'update bench_joins set remaining = remaining - $2 where run = $1 returning remaining as left',
};
