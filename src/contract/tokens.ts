// The bearer tokens of an organization, without their text.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryInteger } from './query-values.ts';
import { dateTime } from './time.ts';

/** `read` opens every operation that changes nothing, and no call through the gateway. */
export const tokenAccess = z.enum(['full', 'read']);

/** `sprite` is the name of the sprite that a token stands for; null for one of the whole organization. */
export const tokenRecord = z.object({
  id: z.string(),
  name: z.string().nullable(),
  sprite: z.string().nullable(),
  /** The machine that the platform made it for; null for one that a person made. */
  machine: z.string().nullable(),
  access: tokenAccess,
  user_id: z.string().nullable(),
  created_at: dateTime,
  /** When the token ends; null = never. */
  expires_at: dateTime.nullable(),
});
export type TokenRecord = z.infer<typeof tokenRecord>;

/** `token` is the text. It is not stored, and no later answer shows it. */
export const createdToken = tokenRecord.extend({ token: z.string() });
export type CreatedToken = z.infer<typeof createdToken>;

export const createTokenRequest = z.object({
  name: z.string().min(1).max(128).optional(),
  sprite: z.string().min(1).max(63).optional(),
  access: tokenAccess.default('full'),
  user_id: z.string().min(1).max(256).optional(),
  expires_at: dateTime.optional(),
});
export type CreateTokenRequest = z.infer<typeof createTokenRequest>;

export const tokenListResponse = z.object({
  tokens: z.array(tokenRecord),
  next_continuation_token: z.string().optional(),
});
export type TokenListResponse = z.infer<typeof tokenListResponse>;

export const listTokensRequest = z.object({
  max_results: queryInteger(1, 500).default(100),
  continuation_token: z.string().max(128).optional(),
});
export type ListTokensRequest = z.infer<typeof listTokensRequest>;

const tag = 'Administration';
const source = 'Remora';
const access = 'organization';

export const tokenOperations = {
  listTokens: definePlatformOperation({
    method: 'GET',
    path: '/v1/tokens',
    summary: 'List the tokens of the organization in the order in which they were made, without their text',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    query: listTokensRequest,
    answer: { kind: 'json', status: 200, schema: tokenListResponse },
    errors: ['invalid_request', 'unauthorized', 'forbidden'],
  }),
  createToken: definePlatformOperation({
    method: 'POST',
    path: '/v1/tokens',
    summary:
      'Make a token of the organization or of one sprite, which may do no more than its maker; its text is shown once',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    body: createTokenRequest,
    answer: { kind: 'json', status: 201, schema: createdToken },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found'],
  }),
  deleteToken: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/tokens/{id}',
    summary: 'Revoke a token; calls that were begun with it end within two seconds',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: z.object({ id: z.string().min(1) }),
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
} as const;
