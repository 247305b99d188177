// Why a machine is awake, and when the platform would put it to sleep.
import * as z from './lazy-zod.ts';
import { machineParams, machineStatus } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime } from './time.ts';

/**
 * Those from `hold` to `primary` are the words of the agent. `traffic`: requests through the proxy and calls that are arriving.
 * `min_machines_running`, `capacity`: the other machines of the app are too few, or cannot take what is in flight. `setting`: nothing puts it to sleep.
 * `agent`: it does not answer, and nobody else knows whether there is work. `elsewhere`: the platform does not run this machine.
 */
export const wakeReasonKind = z.enum([
  'traffic',
  'hold',
  'gateway_call',
  'call',
  'session',
  'connection',
  'suspend_state',
  'primary',
  'min_machines_running',
  'capacity',
  'cordon',
  'lease',
  'setting',
  'not_eligible',
  'agent',
  'elsewhere',
]);

export const wakeReason = z.object({
  kind: wakeReasonKind,
  /** The owner: as in the agent's own answer, or the setting. */
  owner: z.string(),
  since: dateTime.nullable(),
  reason: z.string().optional(),
});
export type WakeReason = z.infer<typeof wakeReason>;

/** What happens to the machine without work; `of` is what the time comes from. */
export const sleepRule = z.object({
  of: z.enum(['sprite', 'app']),
  move: z.enum(['suspend', 'stop']),
  after_ms: z.number().nonnegative(),
});

export const machineIdle = z.object({
  machine_id: z.string(),
  state: machineStatus,
  /** True when the machine runs and nothing keeps it awake. */
  idle: z.boolean(),
  /** The time since which there has been no work and no traffic; null while there is some, and while nobody knows. */
  idle_since: dateTime.nullable(),
  /** Empty for a machine that does not run. */
  kept_awake_by: z.array(wakeReason),
  /** Null where nothing puts it to sleep. */
  sleep: sleepRule.nullable(),
  /** When it would sleep if nothing came; null while something keeps it awake, and when it does not run. */
  would_sleep_at: dateTime.nullable(),
  /** When a sprite that is warm becomes cold; null for every other machine. */
  would_be_cold_at: dateTime.nullable(),
  /** The last time that the platform wanted to put it to sleep and did not, since this platform process began. */
  last_refusal: z.object({ at: dateTime, message: z.string() }).optional(),
});
export type MachineIdle = z.infer<typeof machineIdle>;

export const machineIdleOperations = {
  readMachineIdle: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/idle',
    summary: 'What keeps a machine awake, since when, and when it would be put to sleep',
    source: 'Remora',
    tag: 'Machines',
    servedAt: ['tcp', 'operator'],
    access: 'every',
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: machineIdle },
    errors: [
      'unauthorized',
      'not_found',
      'invalid_state',
      'other_host',
      'not_reachable',
      'too_many_requests',
      'incarnation_conflict',
      'rewound',
    ],
  }),
} as const;
