// A WebSocket into a machine that cannot be reached or woken: each operation answers the upgrade with the error, as it answers a call, so
// that a caller reads the code and the message.
import { rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { openAgentMachine } from '../support/agent-machine.ts';
import type { TestPlatform } from '../support/open-platform.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const paths = ['/exec?cmd=true', '/exec/1', '/control', '/fs/watch', '/proxy'];

interface Refusal {
  readonly path: string;
  readonly status: number | undefined;
  readonly error: unknown;
  readonly hasMessage: boolean;
  readonly marker: unknown;
}

function refusalOf({ url, token }: TestPlatform, sprite: string, path: string): Promise<Refusal> {
  const target = `${url.replace('http', 'ws')}/v1/sprites/${sprite}${path}`;
  const socket = new WebSocket(target, { headers: { authorization: `Bearer ${token.reveal()}` } });
  onTestFinished(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('open', () => reject(new Error(`${path} was opened`)));
    socket.once('unexpected-response', (_request, response: IncomingMessage) => {
      readText(response).then((text) => {
        const { error, message } = JSON.parse(text);
        const marker = response.headers['remora-error'];
        resolve({ path, status: response.statusCode, error, hasMessage: typeof message === 'string', marker });
      }, reject);
    });
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response) text += part;
  return text;
}

async function expectRefused(platform: TestPlatform, sprite: string, status: number, error: string): Promise<void> {
  const refusals = [];
  for (const path of paths) refusals.push(await refusalOf(platform, sprite, path));
  expect(refusals).toEqual(paths.map((path) => ({ path, status, error, hasMessage: true, marker: error })));
}

test('a machine that does not start, one for which no place is free, one that is away, and none', async () => {
  const broken = join(tempDir(), 'broken');
  const script = `test -e ${broken} && { echo no such disk; exit 3; }; exec "$0" ${remoraPath} agent`;
  const { platform, post, wait } = await openAgentMachine({
    trustMachines: true,
    agentCommand: { command: '/bin/sh', args: ['-c', script, process.execPath] },
  });
  await expectRefused(platform, 'none', 404, 'not_found');

  const body = { name: 'far', external: true };
  expect((await platform.call({ method: 'POST', path: '/v1/sprites', body })).status).toBe(201);
  await expectRefused(platform, 'far', 503, 'not_reachable');

  writeFileSync(broken, '');
  expect((await post('stop')).status).toBe(200);
  expect((await wait('state=stopped')).status).toBe(200);
  await expectRefused(platform, 'dev-1', 504, 'start_failed');

  rmSync(broken);
  await platform.admin.setLimits('acme', { running_limit: 0 });
  await expectRefused(platform, 'dev-1', 429, 'concurrent_sprite_limit_exceeded');
});
