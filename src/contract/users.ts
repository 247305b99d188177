// Users and their membership in organizations, for the operator of a platform (Extensions API, What the service does: each request
// carries a user with an alias).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { userRole } from './sign-on.ts';
import { dateTime } from './time.ts';

/** One membership; `organization` is the slug, `organization_id` the id that providers get. */
export const membership = z.object({ organization: z.string(), organization_id: z.string(), role: userRole });
export type Membership = z.infer<typeof membership>;

/** `email_alias` is the address that providers get in place of `email`. It never changes. */
export const userRecord = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  email_alias: z.string(),
  organizations: z.array(membership),
  created_at: dateTime,
});
export type UserRecord = z.infer<typeof userRecord>;

/** `organization_alias` reaches the admins of the organization that the list is of. */
export const userListResponse = z.object({
  users: z.array(userRecord),
  organization_alias: z.string().optional(),
  next_continuation_token: z.string().optional(),
});

export const listUsersRequest = z.object({
  organization: z.string().min(1).max(63).optional(),
  continuation_token: z.string().max(128).optional(),
});

export const createUserRequest = z.object({
  email: z.email().max(254),
  name: z
    .string()
    .min(1)
    .max(128)
    .regex(/^\P{Cc}+$/u, 'expected text without control characters'),
  organization: z.string().min(1).max(63),
  role: userRole,
});
export type CreateUserRequest = z.infer<typeof createUserRequest>;

/** `password` is not stored, and no later answer shows it. */
export const createdUser = z.object({ user_id: z.string(), email_alias: z.string(), password: z.string() });
export type CreatedUser = z.infer<typeof createdUser>;

export const userPassword = z.object({ user_id: z.string(), password: z.string() });

export const setRoleRequest = z.object({ role: userRole });

const tag = 'Administration';
const source = 'Remora';
const servedAt = ['operator'] as const;
const access = 'operator';
/** `user`: the id or the email address. */
const params = z.object({ user: z.string().min(1).max(254) });
const memberParams = params.extend({ organization: z.string().min(1).max(63) });

export const userOperations = {
  listUsers: definePlatformOperation({
    method: 'GET',
    path: '/v1/users',
    summary: "List the users, of one organization when named, by id; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    query: listUsersRequest,
    answer: { kind: 'json', status: 200, schema: userListResponse },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found'],
  }),
  createUser: definePlatformOperation({
    method: 'POST',
    path: '/v1/users',
    summary: "Make a user of an organization, with a password that is shown once; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    noStore: true,
    body: createUserRequest,
    answer: { kind: 'json', status: 201, schema: createdUser },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'already_exists'],
  }),
  readUser: definePlatformOperation({
    method: 'GET',
    path: '/v1/users/{user}',
    summary: "Read one user by id or email address; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    params,
    answer: { kind: 'json', status: 200, schema: userRecord },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  deleteUser: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/users/{user}',
    summary: "Delete a user; the alias ends, and so does each sign-on; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    params,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  resetPassword: definePlatformOperation({
    method: 'POST',
    path: '/v1/users/{user}/password',
    summary:
      "Give a user a new password, which is shown once; sessions in browsers end; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    noStore: true,
    params,
    answer: { kind: 'json', status: 200, schema: userPassword },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  setMember: definePlatformOperation({
    method: 'PUT',
    path: '/v1/users/{user}/organizations/{organization}',
    summary: "Make a user a member of an organization, or change the role there; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    params: memberParams,
    body: setRoleRequest,
    answer: { kind: 'json', status: 200, schema: userRecord },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found'],
  }),
  removeMember: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/users/{user}/organizations/{organization}',
    summary: "Take a user out of an organization; sign-ons for it end; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    params: memberParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
} as const;
