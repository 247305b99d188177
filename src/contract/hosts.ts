// The platform processes on one database, as the operator sees them.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime } from './time.ts';

/**
 * Says who calls, signed, where one platform process passes a call on to another. A call with it needs no token, and is never passed on
 * again.
 */
export const PASSED_HEADER = 'remora-passed';

/**
 * `host` is the text of its `host-id` file; `machines` counts the machines that it runs or whose disks it has. `address` is where the
 * others reach it, `seen_at` its last sign of life.
 */
export const platformHost = z.object({
  host: z.string(),
  machines: z.int().nonnegative(),
  address: z.string().nullable(),
  version: z.string().nullable(),
  seen_at: dateTime.nullable(),
  /** When it was drained: it starts no machine and keeps none running; absent when it is not drained. */
  drained_at: dateTime.optional(),
  /** The memory of its machines that run or are suspended: a suspended machine keeps its reservation. */
  reserved_mb: z.int().nonnegative(),
  /** The memory that its machines held at its last sign of life; what they share counts for each. */
  resident_mb: z.int().nonnegative().nullable(),
  /** The memory that its machines may have together; null where nothing bounds it. */
  total_mb: z.int().nonnegative().nullable(),
  /** The boot of the kernel that it runs on. */
  boot_id: z.string().nullable(),
});

export const hostListResponse = z.object({ hosts: z.array(platformHost) });

const shared = { source: 'Remora', tag: 'Administration', servedAt: ['operator'], access: 'operator' } as const;
const ofOneHost = {
  ...shared,
  params: z.object({ host: z.string().min(1) }),
  answer: { kind: 'empty', status: 204 },
  errors: ['unauthorized', 'forbidden', 'not_found', 'invalid_state'],
} as const;

export const hostOperations = {
  listHosts: definePlatformOperation({
    method: 'GET',
    path: '/v1/hosts',
    summary: "List the platform processes on this database; at the platform's own socket only",
    ...shared,
    answer: { kind: 'json', status: 200, schema: hostListResponse },
    errors: ['unauthorized', 'forbidden', 'invalid_state'],
  }),
  drainHost: definePlatformOperation({
    method: 'POST',
    path: '/v1/hosts/{host}/drain',
    summary:
      "Stop the machines of a host and throw its snapshots away for maintenance; `self` is the one that answers; at the platform's own socket only",
    ...ofOneHost,
  }),
  undrainHost: definePlatformOperation({
    method: 'POST',
    path: '/v1/hosts/{host}/undrain',
    summary: "Let a drained host start machines again, those that it stopped too; at the platform's own socket only",
    ...ofOneHost,
  }),
  forgetHost: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/hosts/{host}',
    summary: "Give up a platform process that is gone for good; at the platform's own socket only",
    ...ofOneHost,
  }),
} as const;
