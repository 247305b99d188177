// The secrets of an app: variables that only the programs in its machines see.
import * as z from './lazy-zod.ts';
import { appParams, machineParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { knownSecretName, secretName, secretValue } from './secret-name.ts';
import { dateTime } from './time.ts';

/** Who has set a secret, and takes it away: people, or an extension. */
export const secretOwner = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('operator') }),
  z.object({ kind: z.literal('extension'), id: z.string() }),
]);
export type SecretOwner = z.infer<typeof secretOwner>;

/**
 * A secret without its value. `digest`: 16 hex digits that are others for another value; they are made with a key of the platform, so
 * that nobody can try values.
 */
export const appSecret = z.object({ name: z.string(), digest: z.string(), owner: secretOwner, set_at: dateTime });
export type AppSecret = z.infer<typeof appSecret>;

export const appSecretList = z.object({ secrets: z.array(appSecret) });
export const setAppSecretRequest = z.object({ value: secretValue });

/** What the agent of a machine gets of its app: the only answer that has values. */
export const machineSecrets = z.object({ secrets: z.array(z.object({ name: z.string(), value: z.string() })) });

const path = '/v1/apps/{app_name}/secrets';
const one = `${path}/{name}` as const;
const shared = {
  source: 'Remora',
  tag: 'Machines',
  servedAt: ['tcp', 'operator'],
  access: 'organization',
} as const;
const found = ['invalid_request', 'unauthorized', 'forbidden', 'not_found'] as const;

export const appSecretOperations = {
  listAppSecrets: definePlatformOperation({
    ...shared,
    method: 'GET',
    path,
    summary: 'List the secrets of an app by name, without their values',
    params: appParams,
    answer: { kind: 'json', status: 200, schema: appSecretList },
    errors: found,
  }),
  setAppSecret: definePlatformOperation({
    ...shared,
    method: 'PUT',
    path: one,
    summary: 'Set a secret of an app: a variable that programs started in its machines from then on see',
    params: z.object({ ...appParams.shape, name: secretName }),
    body: setAppSecretRequest,
    answer: { kind: 'json', status: 200, schema: appSecret },
    errors: [...found, 'read_only', 'secret_conflict', 'limit_reached', 'not_configured'],
  }),
  deleteAppSecret: definePlatformOperation({
    ...shared,
    method: 'DELETE',
    path: one,
    summary: 'Delete a secret of an app; programs that run keep it, and later ones do not get it',
    params: z.object({ ...appParams.shape, name: knownSecretName }),
    answer: { kind: 'empty', status: 204 },
    errors: [...found, 'read_only', 'secret_conflict'],
  }),
} as const;

export const machineSecretOperations = {
  readMachineSecrets: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/secrets',
    summary:
      'Read the secrets of the app of the calling machine, with their values; only the incarnation that is served gets them',
    source: 'Remora',
    tag: 'Machines',
    servedAt: ['tcp'],
    access: 'agent',
    noStore: true,
    judgesIncarnation: true,
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: machineSecrets },
    errors: [
      'invalid_request',
      'unauthorized',
      'forbidden',
      'not_found',
      'incarnation_conflict',
      'rewound',
      'record_altered',
      'not_ready',
    ],
  }),
} as const;
