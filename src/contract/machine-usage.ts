// How long machines were in each state and what volumes took, by day (DECISIONS.md, "Usage of machines and volumes").

import { gatewayUsageRequest } from './gateway-usage.ts';
import * as z from './lazy-zod.ts';
import { machineStates } from './machine-events.ts';
import { definePlatformOperation } from './operation.ts';

const day = z.iso.date();
const seconds = z.number().nonnegative();

/** The machines of one app in one state, on one day in UTC. */
export const machineUsage = z.object({ day, app: z.string(), state: z.enum(machineStates), seconds });

/** The volumes of one app on one day in UTC: gigabytes times seconds. */
export const volumeUsage = z.object({ day, app: z.string(), gb_seconds: seconds });

export const machineUsageList = z.object({ machines: z.array(machineUsage), volumes: z.array(volumeUsage) });

/** First and last day; when both are absent, the last thirty days. */
export const machineUsageRequest = gatewayUsageRequest.pick({ since: true, until: true });

export const machineUsageOperations = {
  readMachineUsage: definePlatformOperation({
    method: 'GET',
    path: '/v1/machines/usage',
    summary: 'How long the machines of each app were in each state, and what their volumes took, by day up to now',
    source: 'Remora',
    tag: 'Machines',
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    query: machineUsageRequest,
    answer: { kind: 'json', status: 200, schema: machineUsageList },
    errors: ['invalid_request', 'unauthorized', 'forbidden'],
  }),
} as const;
