// The tables of Suspend and Replication that speak of machines, row by row, with whether the platform does what they say. Pure.
import { toMarkdownTable } from './markdown-table.ts';

/** The title of the table in the specification, and the first cells of the row. */
export type SuspendRow = readonly [table: string, row: string, state: 'done' | 'recorded', what: string];

const eligibility = 'Suspend eligibility';
const automatic = 'Automatic suspend configuration';
const moves = 'States and transitions';
const endpoints = 'Machines API';

export const suspendRows: readonly SuspendRow[] = [
  [eligibility, 'memory', 'done', '2,048 MB are taken, 2,049 MB refused with 422 `not_eligible`'],
  [eligibility, 'swap', 'done', '`init.swap_size_mb` over 0 is refused'],
  [eligibility, 'schedule', 'done', 'a machine with `schedule` is refused'],
  [
    eligibility,
    'last update',
    'done',
    'by the time of the last change of the configuration; an update brings it up to date',
  ],
  [automatic, 'auto_stop_machines', 'done', 'of each app and region one machine in 5 min, by the word of its agent'],
  [automatic, 'auto_start_machines', 'done', 'a request starts a machine; with `false` only those that run get some'],
  [automatic, 'concurrency type', 'done', '`requests`: WebSockets count as requests'],
  [automatic, 'concurrency soft_limit', 'done', 'above it another machine is started; `hard_limit` requests wait'],
  [moves, 'running, suspend operation, machine is eligible', 'done', '`suspending`, then `suspended`'],
  [moves, 'suspended, start operation, snapshot still valid', 'done', 'the same instance goes on'],
  [moves, 'suspended, stop operation then start operation', 'done', 'another instance; `cold_start` is `stopped`'],
  [moves, 'suspended, start operation, snapshot discarded', 'done', 'another instance; `cold_start` says why'],
  [endpoints, 'POST suspend', 'done', '200 when it is accepted; the freeze comes later'],
  [endpoints, 'GET wait', 'done', 'any state; 408 after `timeout`'],
  [endpoints, 'POST start', 'done', '`previous_state`, `migrated`, `cold_start`'],
  [endpoints, 'a suspend through the local socket', 'done', "also at the agent's socket, without a token"],
];

export function toSuspendRowTable(): string {
  return toMarkdownTable(['table', 'row', 'state', 'here'], suspendRows);
}
