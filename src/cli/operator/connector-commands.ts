// `remora connector …`: each function is one command.

import type { AccessPolicyRequest } from '../../contract/access-policy.ts';
import { accessPolicyRequest } from '../../contract/access-policy.ts';
import type { Connection } from '../../contract/connectors.ts';
import { toFieldProblem } from '../../contract/field-problem.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { findConnector } from '../find-connector.ts';
import { readFlagFile } from '../read-flag-file.ts';
import { readSecretFlag } from '../read-secret-flag.ts';
import { askPlatform, type PlatformClient } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

export async function listConnectors(invocation: Invocation): Promise<number> {
  const query = { provider: invocation.text('provider') };
  const answer = await askPlatform(invocation, (client) => client.call('listConnections', { query }));
  return print(invocation, answer, [
    ['ID', 'NAME', 'PROVIDER', 'TYPE', 'ACCOUNT', 'CREATED', 'POLICY'],
    ...answer.connections.map((row) => [
      row.id,
      row.name ?? '-',
      row.provider,
      row.connection_type ?? '-',
      row.provider_account_name ?? row.provider_account_id,
      toWhen(row.inserted_at),
      toPolicyText(row),
    ]),
  ]);
}

export async function showConnector(invocation: Invocation): Promise<number> {
  const connection = await withConnector(invocation, async (found) => found.connection);
  return print(invocation, connection, [
    ['id', connection.id],
    ['name', connection.name ?? '-'],
    ['provider', connection.provider],
    ['type', connection.connection_type ?? '-'],
    ['account', connection.provider_account_name ?? connection.provider_account_id],
    ['policy', toPolicyText(connection)],
    ['scopes', connection.scopes ?? '-'],
    ['token ends', toWhen(connection.token_expires_at)],
    ['made for', connection.user_id ?? '-'],
    ['created', toWhen(connection.inserted_at)],
    ...(connection.notes ?? []).map(({ title, body }) => ['note', `${title === null ? '' : `${title}: `}${body}`]),
  ]);
}

export async function createConnector(invocation: Invocation): Promise<number> {
  const { text, operands } = invocation;
  const [provider = ''] = operands;
  const keyFile = text('api-key-file');
  if (keyFile === undefined) throw new UsageError('connector create: --api-key-file names a file, or - for the input');
  const policy = text('policy');
  const body = {
    provider,
    name: text('name'),
    api_key: readSecretFlag('--api-key-file', keyFile, invocation.out),
    base_api_url: text('base-api-url'),
    ...(policy === undefined ? {} : { access_policy: parsePolicy('--policy', policy) }),
  };
  const { connection } = await askPlatform(invocation, (client) => client.call('createApiKeyConnection', { body }));
  return print(invocation, connection, [[connection.id, connection.provider, connection.provider_account_id]]);
}

export async function connectorPolicy(invocation: Invocation): Promise<number> {
  const [, given] = invocation.operands;
  const access_policy =
    given === undefined ? undefined : parsePolicy('policy', given === '-' ? readFlagFile('policy', '-') : given);
  const connection = await withConnector(invocation, async (found) => {
    if (access_policy === undefined) return found.connection;
    const { client, params } = found;
    return (await client.call('updateConnection', { params, body: { access_policy } })).connection;
  });
  invocation.out.line(toPolicyText(connection));
  return exitCode.ok;
}

export async function nameConnector(invocation: Invocation): Promise<number> {
  const [, given = ''] = invocation.operands;
  const body = { name: given === '-' ? null : given };
  const connection = await withConnector(invocation, async ({ client, params }) => {
    return (await client.call('updateConnection', { params, body })).connection;
  });
  return print(invocation, connection, [[connection.id, connection.name ?? '-']]);
}

export async function deleteConnector(invocation: Invocation): Promise<number> {
  const id = await withConnector(invocation, async ({ client, params }) => {
    await client.call('deleteConnection', { params });
    return params.id;
  });
  return print(invocation, { deleted: id }, [[`${id} is deleted`]]);
}

interface Found {
  readonly client: PlatformClient;
  readonly connection: Connection;
  readonly params: { readonly id: string };
}

/** Finds the connector with the first operand as its id, or else as its name. Throws when there is none. */
async function withConnector<T>(invocation: Invocation, work: (found: Found) => Promise<T>): Promise<T> {
  const [given = ''] = invocation.operands;
  return await askPlatform(invocation, async (client) => {
    const { connections } = await client.call('listConnections');
    const connection = findConnector(connections, given);
    if (connection === undefined) throw new Error(`there is no connector ${given}`);
    return await work({ client, connection, params: { id: connection.id } });
  });
}

/** A missing policy is shown as `{}`: no sprite may use the connector. */
function toPolicyText({ access_policy = {} }: Connection): string {
  return JSON.stringify(access_policy);
}

function parsePolicy(what: string, given: string): AccessPolicyRequest {
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch {
    throw new UsageError(`${what} takes a JSON object such as {"allow_all":true}`);
  }
  const parsed = accessPolicyRequest.safeParse(value, { error: toFieldProblem });
  if (parsed.success) return parsed.data;
  throw new UsageError(
    `${what}: ${parsed.error.issues.map(({ path, message }) => [...path, message].join(': ')).join(', ')}`,
  );
}
