// Apps: the names under which an organization has its machines.

import { appName } from './app-name.ts';
import * as z from './lazy-zod.ts';
import { appParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime } from './time.ts';

/** `machines` counts the machines of the app, whatever their state. */
export const app = z.object({
  name: z.string(),
  organization: z.string(),
  machines: z.int().nonnegative(),
  created_at: dateTime,
});
export type App = z.infer<typeof app>;

export const appListResponse = z.object({ apps: z.array(app) });

/** `organization` is that of the token when absent, and no token makes an app of another one. */
export const createAppRequest = z.object({ name: appName, organization: z.string().min(1).max(63).optional() });
export type CreateAppRequest = z.infer<typeof createAppRequest>;

const tag = 'Machines';
const source = 'Remora';
const access = 'organization';

export const appOperations = {
  createApp: definePlatformOperation({
    method: 'POST',
    path: '/v1/apps',
    summary: 'Make an app, whose name no other app of the platform has',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    body: createAppRequest,
    answer: { kind: 'json', status: 201, schema: app },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'read_only', 'already_exists', 'limit_reached'],
  }),
  listApps: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps',
    summary: 'List the apps of the organization, by name',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    answer: { kind: 'json', status: 200, schema: appListResponse },
    errors: ['unauthorized', 'forbidden'],
  }),
  readApp: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}',
    summary: 'Read one app',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: appParams,
    answer: { kind: 'json', status: 200, schema: app },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  deleteApp: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/apps/{app_name}',
    summary: 'Delete an app that has no machines; the one that is named like its organization stays',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: appParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'forbidden', 'read_only', 'not_found', 'conflict'],
  }),
} as const;
