// The token of another organization inside a sprite: no operation finds the sprite, by its name or by its id, and its machine is not woken.
import { request } from 'node:http';
import { expect, test } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import type { Secret } from '../../src/core/secret.ts';
import { openAgentMachine } from '../support/agent-machine.ts';

const inside = Object.entries(platformOperations as Readonly<Record<string, Operation>>).filter(
  ([, { path, access }]) => path.startsWith('/v1/sprites/{name}') && access !== 'agent',
);

function ask(url: string, token: Secret, { method, upgrade }: Operation): Promise<number | undefined> {
  const switching = {
    connection: 'Upgrade',
    upgrade: upgrade ?? '',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
  };
  return new Promise((resolve, reject) => {
    const asking = request(url, {
      method: method === '*' ? 'GET' : method,
      agent: false,
      headers: { authorization: `Bearer ${token.reveal()}`, ...(upgrade === undefined ? {} : switching) },
    });
    asking.once('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asking.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode);
    });
    asking.once('error', reject).end();
  });
}

test('the token of another organization reaches nothing, and wakes nothing', async () => {
  const machine = await openAgentMachine({ trustMachines: true });
  const { platform } = machine;
  await machine.channel();
  expect((await machine.post('suspend')).status).toBe(200);
  expect((await machine.wait('state=suspended')).status).toBe(200);
  await platform.admin.createOrganization('hostile');
  const token = await platform.admin.createToken({ organization: 'hostile' });
  const { id } = (await platform.call({ path: '/v1/sprites/dev-1' })).json;
  const found: string[] = [];
  let refused = 0;
  for (const [name, operation] of inside) {
    for (const sprite of ['dev-1', id as string]) {
      const path = operation.path.replace('{name}', sprite).replaceAll(/\{\w+\}/g, 'x');
      const status = await ask(`${platform.url}${path}?path=/x&cmd=x`, token, operation);
      if (status === 404) refused += 1;
      // A request that is wrong in itself may be refused before anything is looked for.
      else if (status !== 400) found.push(`${name} ${sprite}: ${status}`);
    }
  }
  expect(found).toEqual([]);
  expect(refused).toBeGreaterThan(40);
  const after = await platform.call({ path: `/v1/apps/acme/machines/${machine.id}` });
  expect(after.json.state).toBe('suspended');
});
