// Extension resources at a provider: what the platform sends and what the provider answers (Extensions API, Provisioning
// request, Provisioning response and Provider endpoints).

import { costsAnswer, costsRequest } from './extension-costs.ts';
import { extensionResource, machineEvent } from './extension-webhooks.ts';
import * as z from './lazy-zod.ts';
import { defineOperation } from './operation.ts';
import { queryInteger } from './query-values.ts';
import { userRole } from './sign-on.ts';
import { unixSeconds } from './time.ts';

/** The parameters that are signed with a request (Extensions API, Request signing): in the body for POST and PATCH. */
const signature = {
  url: z.string().min(1),
  nonce: z.string().min(1).max(256),
  timestamp: unixSeconds,
};

/**
 * Extensions API, Provisioning request. The regions and the address are for extensions that know regions or run on the platform.
 * `organization_email`: DECISIONS.md, "Alias of the organization in a request".
 */
export const provisioningRequest = z.object({
  name: z.string().min(1),
  id: z.string().min(1),
  organization_id: z.string().min(1),
  organization_name: z.string(),
  organization_email: z.string().optional(),
  user_id: z.string().min(1),
  user_email: z.string(),
  user_role: userRole,
  primary_region: z
    .string()
    .regex(/^[a-z]{3}$/, 'expected three lower-case letters')
    .optional(),
  read_regions: z.array(z.string()).optional(),
  ip_address: z.ipv6().optional(),
  ...signature,
});
export type ProvisioningRequest = z.infer<typeof provisioningRequest>;

/**
 * Extensions API, Provisioning response. The platform uses `id` in every later call; `config` becomes environment variables.
 */
export const provisioningResponse = z.object({
  id: z.string().min(1),
  config: z.record(z.string(), z.string()),
  name: z.string().optional(),
  platform_app_name: z.string().optional(),
});
export type ProvisioningResponse = z.infer<typeof provisioningResponse>;

/** The answer to an update: any part of the provisioning response (DECISIONS.md, "Answer to an extension update"). */
export const extensionUpdateResponse = provisioningResponse.partial();
export type ExtensionUpdateResponse = z.infer<typeof extensionUpdateResponse>;

/** The signed query of GET and DELETE (Extensions API, Request signing). */
export const signedQuery = z.object({ ...signature, timestamp: queryInteger(0, 99_999_999_999) });
export type SignedQuery = z.infer<typeof signedQuery>;

export const extensionParams = z.object({ extension_id: z.string().min(1) });

const tag = 'Extension provider';
const source = 'Extensions API, Provider endpoints';
/** Every call is signed instead of carrying a bearer token. */
const access = 'none';

export const providerOperations = {
  provisionExtension: defineOperation({
    method: 'POST',
    path: '/extensions',
    summary: 'Provision an extension; signed',
    source,
    tag,
    access,
    body: provisioningRequest,
    answer: { kind: 'json', status: 200, schema: provisioningResponse },
    errors: ['invalid_request', 'unauthorized', 'conflict'],
  }),
  updateExtension: defineOperation({
    method: 'PATCH',
    path: '/extensions/{extension_id}',
    summary: 'Update an extension; signed',
    source,
    tag,
    access,
    params: extensionParams,
    body: provisioningRequest,
    answer: { kind: 'json', status: 200, schema: extensionUpdateResponse },
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
  readExtension: defineOperation({
    method: 'GET',
    path: '/extensions/{extension_id}',
    summary: 'The current status of an extension, for usage display and readiness polling; signed',
    source: `${source} (path not shown)`,
    tag,
    access,
    params: extensionParams,
    query: signedQuery,
    answer: { kind: 'json', status: 200, schema: extensionResource },
    errors: ['unauthorized', 'not_found'],
  }),
  deleteExtension: defineOperation({
    method: 'DELETE',
    path: '/extensions/{extension_id}',
    summary: 'Deprovision an extension; signed',
    source: `${source} (not shown)`,
    tag,
    access,
    params: extensionParams,
    query: signedQuery,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'not_found'],
  }),
  signOnExtension: defineOperation({
    method: 'GET',
    path: '/extensions/{extension_id}/sso',
    summary: 'Redirect to the extension when logged in, to the platform for sign-on otherwise',
    source,
    tag,
    access,
    params: extensionParams,
    answer: { kind: 'raw' },
    errors: ['unauthorized', 'not_found'],
  }),
  receiveMachineEvent: defineOperation({
    method: 'POST',
    path: '/extensions/events',
    summary: 'Take a machine event in CloudEvents form; signed',
    source: 'Extensions API, Provider endpoints; Extensions API, Webhooks from the platform to the provider',
    tag,
    access,
    body: machineEvent,
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request', 'unauthorized'],
  }),
  readCosts: defineOperation({
    method: 'GET',
    path: '/billing',
    summary: 'What the extensions have cost in a period; signed',
    source: 'Extensions API, What the service does (path not shown)',
    tag,
    access,
    query: costsRequest.extend(signedQuery.shape),
    answer: { kind: 'json', status: 200, schema: costsAnswer },
    errors: ['invalid_request', 'unauthorized'],
  }),
} as const;
