// What happens to a machine: the states that it is in (Suspend and Replication, States and transitions), why the memory of a suspended one
// was thrown away, and the record of each event.
import * as z from './lazy-zod.ts';
import { unixMilliseconds } from './time.ts';

/** Those of Suspend and Replication, and `created`, `failed` and `destroyed` of the Fly Machines API. */
export const machineStates = [
  'created',
  'starting',
  'running',
  'suspending',
  'suspended',
  'stopped',
  'failed',
  'destroyed',
] as const;

/**
 * `deploy`: the machine was updated. `migrate`: it moved to another host. `lost`, `corrupted`: its snapshot is gone, or is not what was
 * written. `maintenance`: its host was drained, or another version wrote the snapshot. `stopped`: it was stopped. `expired`: the snapshot
 * was older than the platform keeps one.
 */
export const discardCause = z.enum(['deploy', 'migrate', 'lost', 'corrupted', 'maintenance', 'stopped', 'expired']);
export type DiscardCause = z.infer<typeof discardCause>;

/**
 * `start` is a boot, `resume` goes on from a snapshot; `started` and `suspended` end such a move, `suspend_failed` says that the machine runs
 * on. `exit`: the instance ended, on request or by itself. `discard`: its snapshot was thrown away. `fail`: it is not started again by
 * itself any more. `policy_refused`: nothing in it is reached, because a policy of its sprite does not hold in it; `message` says why.
 */
export const machineEventType = z.enum([
  'create',
  'start',
  'resume',
  'started',
  'suspend',
  'suspended',
  'suspend_cancelled',
  'suspend_failed',
  'stop',
  'exit',
  'discard',
  'fail',
  'update',
  'destroy',
  'policy_refused',
]);
export type MachineEventType = z.infer<typeof machineEventType>;

/** How an instance ended; `oom_killed` is absent where nobody knows. */
export const machineExitEvent = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  requested: z.boolean(),
  oom_killed: z.boolean().optional(),
});
export type MachineExitEvent = z.infer<typeof machineExitEvent>;

/**
 * `status` is the state after the event. `cause` is that of a discard, of the cold start that follows it, and of a stop for maintenance.
 * `id` grows by one with each event of a machine.
 */
export const machineEvent = z.object({
  id: z.string().regex(/^\d{1,15}$/),
  type: machineEventType,
  status: z.enum(machineStates),
  source: z.enum(['user', 'platform', 'machine']),
  timestamp: unixMilliseconds,
  instance_id: z.string().optional(),
  cause: discardCause.optional(),
  exit: machineExitEvent.optional(),
  message: z.string().optional(),
});
export type MachineEvent = z.infer<typeof machineEvent>;
