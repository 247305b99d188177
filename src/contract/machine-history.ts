// The events of a machine, as a list and as a stream.
import * as z from './lazy-zod.ts';
import { machineEvent } from './machine-events.ts';
import { machineParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { queryBoolean, queryClamped } from './query-values.ts';

/** How many events of a machine are kept. */
export const EVENTS_KEPT = 100;

export const listMachineEventsRequest = z.object({
  limit: queryClamped(1, EVENTS_KEPT).default(EVENTS_KEPT),
});

/** `after`: the id of the last event that the caller knows; without it the stream begins with all that are kept. */
export const followMachineEventsRequest = z.object({
  after: queryClamped(0, 999_999_999_999_999).default(0),
  follow: queryBoolean().default(false),
});

const shared = {
  method: 'GET',
  path: '/v1/apps/{app_name}/machines/{machine_id}/events',
  source: 'Fly Machines API',
  tag: 'Machines',
  servedAt: ['tcp', 'operator'],
  params: machineParams,
} as const;

export const machineHistoryOperations = {
  listMachineEvents: definePlatformOperation({
    ...shared,
    summary: 'The last events of a machine, the newest first',
    access: 'every',
    query: listMachineEventsRequest,
    answer: { kind: 'json', status: 200, schema: z.array(machineEvent) },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'incarnation_conflict', 'rewound'],
  }),
  followMachineEvents: definePlatformOperation({
    ...shared,
    summary: 'The last events of a machine, the oldest first, and with follow=true those that come',
    access: 'organization',
    query: followMachineEventsRequest,
    answer: { kind: 'stream', status: 200, schema: machineEvent },
    form: 'stream',
    errors: ['invalid_request', 'unauthorized', 'not_found', 'too_many_requests'],
  }),
} as const;
