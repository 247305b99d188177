// Organizations: an organization reads its own record, the operator of a platform works with all of them.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryBoolean } from './query-values.ts';

/** Names the organization that a call concerns. Read only at the platform's own socket. */
export const ORGANIZATION_HEADER = 'remora-organization';

/** The socket of the operator, in the directory of the platform. */
export const OPERATOR_SOCKET = 'platform.sock';

const displayName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^\p{Cc}\p{Cf}]+$/u, 'expected text without control characters');
const limit = z.int().min(0).max(1_000_000).nullable();

/**
 * How many sprites may be running or warm at once; null = any number. `creation_limit`: how many may be created in a minute; null = as many as
 * the platform lets each organization.
 */
export const organizationRecord = z.object({
  name: z.string(),
  /** What providers of extensions show it as; null = the name. */
  display_name: z.string().nullable(),
  running_limit: limit,
  warm_limit: limit,
  creation_limit: limit,
});
export type OrganizationRecord = z.infer<typeof organizationRecord>;

export const organizationListResponse = z.object({ organizations: z.array(organizationRecord) });

export const createOrganizationRequest = z.object({
  name: z.string().min(1).max(63),
  display_name: displayName.optional(),
  running_limit: limit.optional(),
  warm_limit: limit.optional(),
  creation_limit: limit.optional(),
});

/** Fields that are absent stay as they are. */
export const updateOrganizationRequest = z.object({
  display_name: displayName.nullable().optional(),
  running_limit: limit.optional(),
  warm_limit: limit.optional(),
  creation_limit: limit.optional(),
});

/** `force`: its sprites and connectors go with it; else an organization that has some is refused. */
export const deleteOrganizationRequest = z.object({ force: queryBoolean().default(false) });

const tag = 'Administration';
const source = 'Remora';
const params = z.object({ name: z.string().min(1) });

export const organizationOperations = {
  readOwnOrganization: definePlatformOperation({
    method: 'GET',
    path: '/v1/organization',
    summary: 'Read the organization that the token belongs to',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    answer: { kind: 'json', status: 200, schema: organizationRecord },
    errors: ['unauthorized', 'forbidden'],
  }),
  listOrganizations: definePlatformOperation({
    method: 'GET',
    path: '/v1/organizations',
    summary: "List the organizations by name; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    answer: { kind: 'json', status: 200, schema: organizationListResponse },
    errors: ['unauthorized', 'forbidden'],
  }),
  createOrganization: definePlatformOperation({
    method: 'POST',
    path: '/v1/organizations',
    summary: "Make an organization; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    body: createOrganizationRequest,
    answer: { kind: 'json', status: 201, schema: organizationRecord },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'already_exists'],
  }),
  readOrganization: definePlatformOperation({
    method: 'GET',
    path: '/v1/organizations/{name}',
    summary: "Read one organization; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    params,
    answer: { kind: 'json', status: 200, schema: organizationRecord },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  updateOrganization: definePlatformOperation({
    method: 'PATCH',
    path: '/v1/organizations/{name}',
    summary: "Change the limits of an organization; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    params,
    body: updateOrganizationRequest,
    answer: { kind: 'json', status: 200, schema: organizationRecord },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found'],
  }),
  deleteOrganization: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/organizations/{name}',
    summary:
      "Delete an organization, and with force=true its sprites and connectors; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    params,
    query: deleteOrganizationRequest,
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'conflict', 'other_host', 'invalid_state'],
  }),
} as const;
