// `remora app …`: each function is one command.
import type { Invocation } from '../command.ts';
import { askPlatform } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

export async function listApps(invocation: Invocation): Promise<number> {
  const answer = await askPlatform(invocation, (client) => client.call('listApps'));
  return print(invocation, answer, [
    ['NAME', 'ORGANIZATION', 'MACHINES', 'CREATED'],
    ...answer.apps.map(({ name, organization, machines, created_at }) => [
      name,
      organization,
      String(machines),
      toWhen(created_at),
    ]),
  ]);
}

export async function createApp(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const made = await askPlatform(invocation, (client) => client.call('createApp', { body: { name } }));
  return print(invocation, made, [[made.name]]);
}

export async function deleteApp(invocation: Invocation): Promise<number> {
  const [app_name = ''] = invocation.operands;
  await askPlatform(invocation, (client) => client.call('deleteApp', { params: { app_name } }));
  return print(invocation, { deleted: app_name }, [[`${app_name} is deleted`]]);
}
