// `remora secret …`: each function is one command.
import type { SecretOwner } from '../../contract/app-secrets.ts';
import type { Invocation } from '../command.ts';
import { readFlagFile } from '../read-flag-file.ts';
import { askPlatform, type PlatformClient } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

export async function listSecrets(invocation: Invocation): Promise<number> {
  const answer = await askPlatform(invocation, async (client) =>
    client.call('listAppSecrets', { params: { app_name: await toApp(invocation, client) } }),
  );
  return print(invocation, answer, [
    ['NAME', 'DIGEST', 'SET BY', 'SET'],
    ...answer.secrets.map(({ name, digest, owner, set_at }) => [name, digest, toWords(owner), toWhen(set_at)]),
  ]);
}

export async function setSecret(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const value = readFlagFile('the value', '-').replace(/\r?\n$/, '');
  const made = await askPlatform(invocation, async (client) =>
    client.call('setAppSecret', { params: { app_name: await toApp(invocation, client), name }, body: { value } }),
  );
  return print(invocation, made, [[made.name, made.digest]]);
}

export async function deleteSecret(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  await askPlatform(invocation, async (client) =>
    client.call('deleteAppSecret', { params: { app_name: await toApp(invocation, client), name } }),
  );
  return print(invocation, { deleted: name }, [[`${name} is deleted`]]);
}

async function toApp(invocation: Invocation, client: PlatformClient): Promise<string> {
  return invocation.text('app') ?? (await client.call('readOwnOrganization')).name;
}

function toWords(owner: SecretOwner): string {
  return owner.kind === 'operator' ? 'operator' : `extension ${owner.id}`;
}
