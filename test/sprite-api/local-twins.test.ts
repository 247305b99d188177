// The operations of a sprite on its agent's own socket, with `/v1` in place of `/v1/sprites/{name}`: each by the real curl.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { agentOperations } from '../../src/contract/agent-operations.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { startDev } from '../support/dev-process.ts';
import { type CurlAnswer, startCurl, webSocketWords } from '../support/run-curl.ts';
import { tempDir } from '../support/temp-dir.ts';

type Id = keyof typeof platformOperations;

const PREFIX = '/v1/sprites/{name}';
const decisions = readFileSync(new URL('../../src/contract/DECISIONS.md', import.meta.url), 'utf8');

/** The operations of the platform that have no form on the socket, with the entry of the decisions that says why. */
const without: Partial<Record<Id, string>> = {
  proxyPort: 'What the agent’s socket does not serve of its sprite',
  restartSprite: 'What the agent’s socket does not serve of its sprite',
  postPortNotices: 'What the agent’s socket does not serve of its sprite',
};

interface Row {
  readonly id: Id;
  readonly method: string;
  readonly path: string;
  readonly isSocket: boolean;
}

const rows: readonly Row[] = (Object.entries(platformOperations) as [Id, Operation][])
  .filter(([, { path }]) => path.startsWith(`${PREFIX}/`))
  .map(([id, { method, path, upgrade }]) => ({
    id,
    method,
    path: `/v1${path.slice(PREFIX.length)}`,
    isSocket: upgrade === 'websocket',
  }));

const hasTwin = ({ method, path, isSocket }: Row) =>
  Object.values<Operation>(agentOperations).some(
    (local) =>
      local.method === method &&
      local.path === path &&
      (local.upgrade === 'websocket') === isSocket &&
      local.servedAt?.includes('socket') === true,
  );

test('every operation of a sprite is on the socket, or the decisions say why it is not', () => {
  const missing = rows.filter((row) => !hasTwin(row)).map(({ id }) => id);
  expect(missing).toEqual(Object.keys(without));
  for (const heading of Object.values(without)) expect(decisions).toContain(`### ${heading}\n`);
});

interface Call {
  /** What stands in the path for a name or an id. */
  readonly part?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly words?: readonly string[];
  readonly status?: number;
  /** What is printed; curl is ended then. Without it, curl ends by itself. */
  readonly wanted?: RegExp;
}

interface World {
  readonly dir: string;
  /** Calls one operation, and throws unless it answers as it should. */
  readonly call: (id: Id, call: Call) => Promise<CurlAnswer>;
  readonly start: (id: Id, call: Call) => ReturnType<typeof startCurl>;
}

const json = (body: object) => ['-H', 'content-type: application/json', '-d', JSON.stringify(body)];

function openWorld(socket: string, driven: Set<Id>): World {
  const start: World['start'] = (id, { part = '', query = {}, words = [] }) => {
    const row = rows.find((one) => one.id === id);
    if (row === undefined) throw new Error(`${id} is no operation of a sprite`);
    driven.add(id);
    const path = `${row.path.replace(/\{\w+\}/, part)}?${new URLSearchParams(query)}`;
    return startCurl(socket, path, [...(row.isSocket ? webSocketWords : ['-X', row.method]), ...words]);
  };
  return {
    dir: tempDir(),
    start,
    async call(id, call) {
      const curl = start(id, call);
      const answer = call.wanted === undefined ? await curl.all() : await curl.seen(call.wanted);
      await curl.end();
      expect(answer.status, `${id}: ${answer.text}`).toBe(call.status ?? 200);
      if (call.wanted !== undefined) expect(answer.text, id).toMatch(call.wanted);
      return answer;
    },
  };
}

async function driveServices({ call }: World): Promise<void> {
  const one = { part: 'one' };
  const service = { cmd: 'sh', args: ['-c', 'echo up; exec sleep 600'] };
  await call('putService', { ...one, query: { duration: '1s' }, words: json(service), wanted: /"complete"/ });
  await call('listServices', { wanted: /"name":"one"/ });
  await call('readService', { ...one, wanted: /"cmd":"sh"/ });
  await call('followServiceLogs', { ...one, query: { duration: '60s' }, wanted: /"data":"up/ });
  await call('signalService', { words: json({ name: 'one', signal: 'SIGCONT' }), status: 204 });
  await call('restartService', { ...one, query: { duration: '0' }, wanted: /"complete"/ });
  await call('stopService', { ...one, wanted: /"stopped"/ });
  await call('startService', { ...one, query: { duration: '0' }, wanted: /"complete"/ });
  await call('deleteService', { ...one, status: 204 });
}

async function driveFiles({ call, dir }: World): Promise<void> {
  const at = (path: string) => ({ query: { path, workingDir: dir } });
  const text = ['-H', 'content-type: application/octet-stream', '--data-binary', 'some words'];
  await call('writeFile', { ...at('a'), words: text, wanted: /"size":10/ });
  await call('readFile', { ...at('a'), wanted: /some words$/ });
  await call('copyFiles', { words: json({ source: 'a', dest: 'b', workingDir: dir }), wanted: /"count":1/ });
  await call('renameFile', { words: json({ source: 'b', dest: 'c', workingDir: dir }), wanted: /"dest":/ });
  await call('changeFileMode', { words: json({ path: 'c', mode: '0600', workingDir: dir }), wanted: /0600/ });
  const owner = { path: 'c', uid: process.getuid?.() ?? 0, workingDir: dir };
  // Everybody may open this socket: an owner is changed at one that only root may open.
  await call('changeFileOwner', { words: json(owner), status: 403, wanted: /"EPERM"/ });
  await call('listFiles', { ...at('.'), wanted: /"count":2/ });
  await call('deleteFiles', { ...at('c'), wanted: /"count":1/ });
  await call('watchFiles', { status: 101, wanted: /\r\n\r\n/ });
}

async function driveProcesses({ call, start }: World): Promise<void> {
  await call('execOverHttp', { query: { cmd: 'pwd' }, wanted: /\/home\n/ });
  await call('control', { status: 101, wanted: /\r\n\r\n/ });
  const running = start('exec', { query: { cmd: 'cat', stdin: 'true', detachable: 'true' } });
  expect((await running.seen(/session_info/)).status).toBe(101);
  const { text } = await call('listProcesses', { wanted: /"id":"\w+"/ });
  const [, part = ''] = /"id":"(\w+)"/.exec(text) ?? [];
  await call('attachProcess', { part, status: 101, wanted: /session_info/ });
  await call('killProcess', { part, query: { signal: 'SIGKILL' }, wanted: /"complete"/ });
  await running.end();
}

async function driveRecords({ call }: World): Promise<void> {
  await call('checkSprite', { wanted: /"disk":"ok"/ });
  await call('listSpritePorts', { wanted: /"ports":/ });
  await call('watchSpritePorts', { wanted: /"port_list"/ });
  await call('readNetworkPolicy', { wanted: /"rules":\[\]/ });
  await call('explainNetworkPolicy', { words: json({ host: 'example.com' }), wanted: /"nothing is restricted"/ });
  await call('listRefusedConnections', { wanted: /"refused":\[\]/ });
  // What is in a machine reads its policies, and its owner sets them at the platform.
  const refused = { status: 403, wanted: /"forbidden"/ };
  await call('setNetworkPolicy', { words: json({ rules: [] }), ...refused });
  for (const kind of ['Privileges', 'Resources'] as const) {
    await call(`read${kind}Policy`, { wanted: /\{\}/ });
    await call(`set${kind}Policy`, { words: json({}), ...refused });
    await call(`delete${kind}Policy`, refused);
  }
}

/** The restore ends the machine, and with it the agent that passes the answer on. */
async function driveCheckpoints({ call }: World): Promise<void> {
  const created = { words: json({ comment: 'of a test' }), wanted: /"complete"/ };
  await call('createCheckpoint', created);
  await call('createCheckpoint', created);
  await call('listCheckpoints', { wanted: /"v0".*"v1"|"v1".*"v0"/s });
  await call('readCheckpoint', { part: 'v0', wanted: /of a test/ });
  await call('deleteCheckpoint', { part: 'v0', status: 204 });
  await call('restoreCheckpoint', { part: 'v1', wanted: /"info"/ });
}

test('each of them is served to curl', async () => {
  await using dev = await startDev({ dir: tempDir() });
  const driven = new Set<Id>();
  const world = openWorld(dev.record.socket, driven);
  await Promise.all([driveServices, driveFiles, driveProcesses, driveRecords].map((drive) => drive(world)));
  await world.call('upgradeSprite', { status: 204 });
  await driveCheckpoints(world);
  const twins = rows.filter(hasTwin).map(({ id }) => id);
  expect(twins.filter((id) => !driven.has(id))).toEqual([]);
  process.stdout.write(`curl --unix-socket: ${driven.size} of ${twins.length} operations passed\n`);
});
