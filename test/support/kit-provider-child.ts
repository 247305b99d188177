// A provider that is made with the kit, in a process of its own that can be killed: what it keeps is in the directory that is its first
// argument, its port is the second. Says its port, reads its settings from a line of standard input, and then does what further lines say:
// `hold STEP` has every change wait at that step, `go` lets them go on, `tell STATUS` sends a webhook of each resource.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { z } from 'zod';
import {
  createProviderHandler,
  openSqliteStore,
  Secret,
  startWebhookSender,
  toNodeListener,
} from '../../src/provider/index.ts';

const settings = z.object({
  platformUrl: z.string(),
  provisioning: z.string(),
  webhook: z.string(),
  /** How far its clock is ahead: what a former process has claimed for a time is free when that time is over. */
  ahead_ms: z.int(),
});

const say = (line: string) => void process.stdout.write(`${line}\n`);
const [, , dir = '', port = ''] = process.argv;
// It is killed, and would compile all of this at each start.
flushCompileCache();
const server = createServer();
await once(server.listen(Number(port), '127.0.0.1'), 'listening');
say(port);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const given = settings.parse(JSON.parse((await lines.next()).value ?? ''));
const [secret, webhookSecret] = [new Secret(given.provisioning), new Secret(given.webhook)];
const clock = { wall_ms: () => Date.now() + given.ahead_ms, mono_ms: () => performance.now() };

let held = '';
let gate = Promise.withResolvers<void>();

async function pass(step: string): Promise<void> {
  if (step !== held) return;
  say(`at ${step}`);
  await gate.promise;
}

async function around<T>(work: () => T): Promise<T> {
  await pass('before');
  const result = work();
  await pass('after');
  return result;
}

const resources = new Database(join(dir, 'resources.db'));
resources.exec(
  'CREATE TABLE IF NOT EXISTS resources (id INTEGER PRIMARY KEY AUTOINCREMENT, extension TEXT, region TEXT)',
);
const find = resources.prepare('SELECT id FROM resources WHERE extension = ?').pluck();
const insert = resources.prepare('INSERT INTO resources (extension) VALUES (?)');
const setRegion = resources.prepare('UPDATE resources SET region = ? WHERE id = ?');
const remove = resources.prepare('DELETE FROM resources WHERE id = ?');
const list = resources.prepare('SELECT id FROM resources').pluck();
const toNumber = (id: string) => Number(id.replace('kit-', ''));
const onError = (error: unknown) => process.stderr.write(`${error}\n`);

const store = await openSqliteStore({ path: join(dir, 'kit.db'), sealKey: secret });
const handler = createProviderHandler({
  baseUrl: `http://127.0.0.1:${port}/remora`,
  provisioningSecrets: () => [secret],
  store,
  clock,
  onError,
  provision: ({ id }) =>
    around(() => {
      const known = find.get(id) ?? insert.run(id).lastInsertRowid;
      return { id: `kit-${known}`, config: { [`KEY_${id.toUpperCase()}`]: `canary-config-${id}` } };
    }),
  update: (id, { primary_region = null }) => around(() => void setRegion.run(primary_region, toNumber(id))),
  read: (id) => ({ id, status: 'ready', plan: 'small' }),
  remove: (id) => around(() => void remove.run(toNumber(id))),
});
const serve: typeof handler.serve = async (request) => {
  const answer = await handler.serve(request);
  if (request.method !== 'GET') await pass('answer');
  return answer;
};
server.on(
  'request',
  toNodeListener(Object.assign(async (request: Request) => await handler(request), handler, { serve })),
);
const sender = startWebhookSender({
  platformApiUrl: given.platformUrl,
  provider: 'kit',
  webhookSecrets: () => [webhookSecret],
  outbox: store.outbox,
  onGivenUp: (notice, reason) => onError(`${notice.action} is given up: ${reason}`),
  onError,
  clock,
});
say('serving');

for (;;) {
  const { value: line, done } = await lines.next();
  if (done === true) break;
  const [command, word = ''] = line.split(' ');
  if (command === 'hold') {
    held = word;
    gate = Promise.withResolvers();
  } else if (command === 'go') {
    held = '';
    gate.resolve();
  } else if (command === 'tell') {
    for (const id of list.all()) {
      await sender.send({ action: 'resource.updated', resource: { id: `kit-${id}`, status: word } });
    }
  }
  say(`done ${line}`);
}
