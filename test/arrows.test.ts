// The shape of the source, read from its imports: who may import whom, which packages each part may use, where randomness
// comes from, and that what decides touches nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../src/', import.meta.url).pathname;

/** The arrows between the folders. Inside some of them the rooms have arrows of their own. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  core: ['contract'],
  linux: ['core'],
  http: ['contract', 'core', 'linux'],
  sqlite: ['core', 'linux'],
  client: ['contract', 'core'],
  dns: ['core'],
  agent: ['contract', 'core', 'linux', 'http', 'sqlite', 'client', 'dns'],
  platform: ['contract', 'core', 'linux', 'http', 'sqlite', 'client'],
  supervisor: ['contract', 'core', 'linux', 'http'],
  network: ['contract', 'core', 'linux', 'http', 'dns'],
  provider: ['contract', 'core', 'sqlite'],
  cli: [
    'contract',
    'core',
    'linux',
    'http',
    'sqlite',
    'client',
    'agent',
    'platform',
    'supervisor',
    'network',
    'provider',
  ],
};

/** Rooms that stay closed to a folder which may import the rest of theirs: what serves HTTP knows nothing of what passes through. */
const closed: Readonly<Record<string, readonly string[]>> = { http: ['core/gateway'] };

/** Every room of the same folder may import these, which import no room. */
const shared: readonly string[] = [
  'core',
  'agent/beat.ts',
  'agent/parts.ts',
  'agent/platform-word.ts',
  'agent/policy-of-boot.ts',
  'agent/process-link.ts',
  'agent/start-detached.ts',
  'agent/upstream.ts',
  'platform/changes.ts',
];

/**
 * The rooms inside agent, platform and core: which may import which, from the lowest to the highest. A name that ends in `.ts` is one file
 * of a room that is higher up, or at the top of the folder.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  core: [],
  'core/connections': [],
  'core/ports': ['core/connections'],
  'core/http': [],
  'core/gateway': ['core/http'],
  'core/dns': [],
  'core/network-policy/presets': [],
  'core/network-policy': ['core/dns', 'core/network-policy/presets'],
  'core/websocket': [],
  'core/holds': [],
  'core/machine': [],
  'core/replication': [],
  'core/resume': [],
  'core/idle': ['core/connections', 'core/holds', 'core/machine'],
  'agent/config': [],
  'agent/database-thread': [],
  'agent/events': [],
  'agent/access': [],
  'agent/restart': [],
  'agent/resume': ['agent/access', 'agent/events', 'agent/restart'],
  'agent/resume-reports': ['agent/events', 'agent/resume'],
  'agent/hooks': ['agent/resume'],
  'agent/holds': ['agent/events', 'agent/restart'],
  'agent/idle': ['agent/events'],
  'agent/machine': ['agent/config', 'agent/events', 'agent/hooks', 'agent/resume'],
  'agent/ports': ['agent/access', 'agent/events'],
  'agent/channel': [],
  'agent/app-secrets': [],
  'agent/network': ['agent/access'],
  'agent/supervisor': ['agent/access', 'agent/app-secrets'],
  'agent/program-policy': ['agent/access', 'agent/supervisor'],
  'agent/systemd': ['agent/agent-log.ts', 'agent/config'],
  'agent/replication/follow': [],
  'agent/replication/cache': ['agent/database-thread', 'agent/replication/replica.ts'],
  'agent/replication/readers': ['agent/replication/cache', 'agent/replication/replica.ts'],
  'agent/replication/mount': ['agent/replication/replica.ts'],
  'agent/replication': [
    'agent/events',
    'agent/replication/cache',
    'agent/replication/follow',
    'agent/replication/mount',
    'agent/replication/readers',
  ],
  'agent/gateway/policies': [],
  'agent/gateway/audit': ['agent/database-thread', 'agent/gateway/gateway-schema.ts'],
  'agent/gateway': ['agent/access', 'agent/events', 'agent/gateway/audit', 'agent/gateway/policies'],
  'agent/own-sprite': ['agent/access', 'agent/gateway'],
  'agent/upgrade': ['agent/access'],
  'agent/status': ['agent/config', 'agent/gateway'],
  agent: [
    'agent/access',
    'agent/channel',
    'agent/config',
    'agent/events',
    'agent/gateway',
    'agent/holds',
    'agent/hooks',
    'agent/idle',
    'agent/machine',
    'agent/network',
    'agent/own-sprite',
    'agent/ports',
    'agent/program-policy',
    'agent/replication',
    'agent/resume',
    'agent/resume-reports',
    'agent/restart',
    'agent/status',
    'agent/supervisor',
    'agent/systemd',
    'agent/upgrade',
  ],
  'platform/storage': [],
  'platform/images': [],
  'platform/images/build': ['platform/images'],
  'platform/catalogue': [],
  'platform/upstream': ['platform/catalogue'],
  'platform/channels': [
    'platform/fencing',
    'platform/machines/access',
    'platform/machines/records',
    'platform/storage',
    'platform/tokens',
  ],
  'platform/network-policies': ['platform/channels', 'platform/storage'],
  'platform/program-policies': ['platform/channels', 'platform/storage'],
  'platform/sprite-api': [
    'platform/network-policies',
    'platform/program-policies',
    'platform/hosts',
    'platform/channels',
    'platform/machines/access',
    'platform/machines/drivers',
    'platform/machines/moves',
    'platform/machines/records',
    'platform/sprites',
    'platform/tokens',
  ],
  'platform/idle': [
    'platform/channels',
    'platform/machines/access',
    'platform/machines/moves',
    'platform/machines/records',
    'platform/proxy',
    'platform/storage',
  ],
  'platform/organizations': ['platform/storage'],
  'platform/fencing': ['platform/storage'],
  'platform/usage': ['platform/storage', 'platform/tokens'],
  'platform/hosts': ['platform/storage', 'platform/usage'],
  'platform/tokens': [
    'platform/fencing',
    'platform/organizations',
    'platform/sprites/sprite-store.ts',
    'platform/storage',
  ],
  'platform/apps': ['platform/organizations', 'platform/storage', 'platform/tokens'],
  'platform/mail': ['platform/users'],
  'platform/sign-on': ['platform/storage', 'platform/tokens', 'platform/users'],
  'platform/users': [
    'platform/machine-notices/notice-outbox.ts',
    'platform/organizations',
    'platform/storage',
    'platform/tokens',
  ],
  'platform/sign-on/upstream': ['platform/sign-on', 'platform/tokens', 'platform/upstream', 'platform/users'],
  'platform/vault': ['platform/storage'],
  'platform/extension-providers': ['platform/apps', 'platform/storage', 'platform/tokens', 'platform/vault'],
  'platform/app-secrets': [
    'platform/apps',
    'platform/machines/access',
    'platform/storage',
    'platform/tokens',
    'platform/vault',
  ],
  'platform/provider-calls': ['platform/extension-providers'],
  'platform/extensions/costs': [
    'platform/extension-providers',
    'platform/provider-calls',
    'platform/storage',
    'platform/tokens',
  ],
  'platform/machine-notices': ['platform/extension-providers', 'platform/provider-calls', 'platform/storage'],
  'platform/extensions': [
    'platform/app-secrets',
    'platform/apps',
    'platform/extension-providers',
    'platform/extensions/webhooks/webhook-store.ts',
    'platform/organizations',
    'platform/provider-calls',
    'platform/storage',
    'platform/tokens',
    'platform/users',
    'platform/vault',
  ],
  'platform/extensions/webhooks': [
    'platform/extension-providers',
    'platform/extensions',
    'platform/organizations',
    'platform/storage',
    'platform/tokens',
    'platform/users',
  ],
  'platform/machines/drivers': [],
  'platform/machines/drivers/process/checkpoints/tree': [],
  'platform/machines/drivers/process/checkpoints': [
    'platform/machines/drivers',
    'platform/machines/drivers/process/checkpoints/tree',
  ],
  'platform/machines/drivers/qemu/guest': [
    'platform/machines/drivers',
    'platform/machines/drivers/qemu/machine-files.ts',
    'platform/machines/drivers/qemu/short-path.ts',
  ],
  'platform/machines/drivers/qemu/qmp': [
    'platform/machines/drivers/qemu/machine-files.ts',
    'platform/machines/drivers/qemu/short-path.ts',
  ],
  'platform/machines/drivers/qemu/egress': ['platform/machines/drivers/qemu/guest'],
  'platform/machines/drivers/qemu/emulator': [
    'platform/machines/drivers',
    'platform/machines/drivers/qemu/egress',
    'platform/machines/drivers/qemu/guest',
    'platform/machines/drivers/qemu/machine-files.ts',
    'platform/machines/drivers/qemu/qmp',
    'platform/machines/drivers/qemu/short-path.ts',
  ],
  'platform/machines/drivers/qemu/snapshots': [
    'platform/machines/drivers',
    'platform/machines/drivers/qemu/emulator',
    'platform/machines/drivers/qemu/machine-files.ts',
    'platform/machines/drivers/qemu/machine-note.ts',
    'platform/machines/drivers/qemu/qmp',
    'platform/machines/drivers/qemu/short-path.ts',
  ],
  'platform/machines/drivers/qemu': [
    'platform/images',
    'platform/machines/drivers',
    'platform/machines/drivers/qemu/egress',
    'platform/machines/drivers/qemu/emulator',
    'platform/machines/drivers/qemu/guest',
    'platform/machines/drivers/qemu/qmp',
    'platform/machines/drivers/qemu/snapshots',
  ],
  'platform/machines/drivers/process': ['platform/machines/drivers', 'platform/machines/drivers/process/checkpoints'],
  'platform/port-notices': ['platform/storage', 'platform/tokens'],
  'platform/machines/records': [
    'platform/machine-notices/notice-outbox.ts',
    'platform/machines/drivers',
    'platform/organizations',
    'platform/storage',
    'platform/tokens',
    'platform/usage',
  ],
  'platform/machines/moves': [
    'platform/fencing',
    'platform/machine-notices/notice-outbox.ts',
    'platform/machines/drivers',
    'platform/machines/records',
    'platform/port-notices',
    'platform/storage',
  ],
  'platform/machines/access': [
    'platform/fencing',
    'platform/machines/drivers',
    'platform/machines/records',
    'platform/tokens',
  ],
  'platform/machines': [
    'platform/apps',
    'platform/fencing',
    'platform/machines/drivers',
    'platform/machines/access',
    'platform/machines/moves',
    'platform/machines/records',
    'platform/storage',
    'platform/tokens',
  ],
  'platform/sprites/watch': [
    'platform/organizations',
    'platform/sprites/sprite-record.ts',
    'platform/sprites/sprite-store.ts',
    'platform/storage',
    'platform/tokens',
  ],
  'platform/sprites': [
    'platform/apps',
    'platform/machines/moves',
    'platform/machines/records',
    'platform/organizations',
    'platform/storage',
    'platform/tokens',
  ],
  'platform/machines-api': [
    'platform/apps',
    'platform/machines',
    'platform/machines/access',
    'platform/machines/drivers',
    'platform/machines/moves',
    'platform/machines/records',
    'platform/sprites',
    'platform/storage',
    'platform/tokens',
  ],
  'platform/connectors/records': ['platform/storage', 'platform/vault'],
  'platform/connectors/provisioning': [
    'platform/catalogue',
    'platform/connectors/records',
    'platform/upstream',
    'platform/vault',
  ],
  'platform/connectors/oauth': [
    'platform/catalogue',
    'platform/connectors/provisioning',
    'platform/connectors/records',
    'platform/storage',
    'platform/tokens',
    'platform/upstream',
    'platform/vault',
  ],
  'platform/connectors': [
    'platform/catalogue',
    'platform/connectors/oauth',
    'platform/connectors/provisioning',
    'platform/connectors/records',
    'platform/storage',
    'platform/tokens',
    'platform/upstream',
    'platform/vault',
  ],
  'platform/gateway/usage': ['platform/storage', 'platform/tokens'],
  'platform/gateway': [
    'platform/app-secrets',
    'platform/catalogue',
    'platform/connectors',
    'platform/connectors/records',
    'platform/fencing',
    'platform/gateway/usage',
    'platform/sprites',
    'platform/storage',
    'platform/tokens',
    'platform/upstream',
  ],
  'platform/observability': ['platform/connectors', 'platform/storage', 'platform/tokens'],
  'platform/proxy': [
    'platform/apps',
    'platform/channels',
    'platform/machines/records',
    'platform/organizations',
    'platform/sign-on',
    'platform/sprites',
    'platform/storage',
    'platform/tokens',
    'platform/users',
  ],
  'platform/operator': [
    'platform/app-secrets',
    'platform/apps',
    'platform/connectors',
    'platform/extension-providers',
    'platform/extensions',
    'platform/extensions/webhooks/webhook-store.ts',
    'platform/extensions/costs',
    'platform/fencing',
    'platform/gateway/usage',
    'platform/hosts',
    'platform/machine-notices',
    'platform/machines',
    'platform/machines-api',
    'platform/machines/moves',
    'platform/machines/records',
    'platform/organizations',
    'platform/sprites',
    'platform/storage',
    'platform/tokens',
    'platform/users',
    'platform/vault',
  ],
  platform: [
    'platform/app-secrets',
    'platform/network-policies',
    'platform/program-policies',
    'platform/apps',
    'platform/catalogue',
    'platform/channels',
    'platform/connectors',
    'platform/connectors/oauth',
    'platform/connectors/records',
    'platform/extension-providers',
    'platform/extensions',
    'platform/extensions/webhooks',
    'platform/extensions/costs',
    'platform/fencing',
    'platform/gateway',
    'platform/gateway/usage',
    'platform/hosts',
    'platform/idle',
    'platform/machine-notices',
    'platform/machines',
    'platform/machines-api',
    'platform/machines/access',
    'platform/machines/drivers',
    'platform/machines/drivers/process',
    'platform/machines/drivers/qemu',
    'platform/machines/moves',
    'platform/machines/records',
    'platform/mail',
    'platform/observability',
    'platform/operator',
    'platform/organizations',
    'platform/port-notices',
    'platform/provider-calls',
    'platform/proxy',
    'platform/sign-on',
    'platform/sign-on/upstream',
    'platform/sprite-api',
    'platform/sprites',
    'platform/sprites/watch',
    'platform/storage',
    'platform/tokens',
    'platform/upstream',
    'platform/usage',
    'platform/users',
    'platform/vault',
  ],
};

const packages: Readonly<Record<string, readonly string[]>> = {
  contract: ['zod'],
  core: ['zod', 'ipaddr.js'],
  linux: ['split2'],
  http: ['zod', 'undici', 'rou3', 'ws'],
  sqlite: ['better-sqlite3'],
  client: ['zod', 'undici'],
  dns: [],
  agent: ['zod', 'undici', 'ws', 'pino', 'smol-toml'],
  platform: [
    'zod',
    'undici',
    'ws',
    'pino',
    'postgres',
    'prom-client',
    'smol-toml',
    'oauth4webapi',
    '@node-oauth/oauth2-server',
    'nodemailer',
    'smtp-server',
  ],
  supervisor: ['zod', 'undici', 'ws', '@lydell/node-pty'],
  network: ['zod'],
  provider: ['zod', 'oauth4webapi'],
  cli: ['zod', 'undici', 'ws', 'pino', 'smol-toml', 'better-sqlite3', 'rolldown'],
};

/** What of Node computes and touches nothing outside the process. */
const pureModules = ['node:util', 'node:buffer', 'node:crypto', 'node:url', 'node:assert'];

/** The one file that may ask for randomness, and the one of core that touches the world. */
const RANDOMNESS = 'core/urandom.ts';

const randomNames =
  /\b(Math\s*\.\s*random|getRandomValues|randomUUID|randomFill(Sync)?|randomInt|generateKey(Pair)?(Sync)?)\b/;
const randomMember = /\.\s*(randomBytes|randomUUID|pseudoRandomBytes)\b/;
const randomImport = /import\s*\{[^}]*\b(randomBytes|pseudoRandomBytes)\b[^}]*\}\s*from\s*['"](node:)?crypto['"]/;

interface Source {
  /** The path below `src/`. */
  readonly path: string;
  readonly text: string;
}

function readSources(): Source[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[cm]?[jt]s$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Comments may speak of what code may not do. */
function withoutComments(text: string): string {
  return text.replaceAll(/(^|[\s({,;])\/\*[\s\S]*?\*\//g, '$1').replaceAll(/(^|[\s;{}(),])\/\/.*$/gm, '$1');
}

function importsOf({ text }: Source): string[] {
  const code = withoutComments(text);
  const found = [
    ...code.matchAll(/^\s*(?:import|export)\b[^;'"]*?\bfrom\s*['"]([^'"]+)['"]/gm),
    ...code.matchAll(/^\s*import\s*['"]([^'"]+)['"]/gm),
    ...code.matchAll(/\b(?:import|require)\s*\(\s*['"`]([^'"`]+)['"`]/g),
  ];
  const unreadable = [...code.matchAll(/\b(?:import|require)\s*\(\s*(?!['"`])\S+/g)].map(() => 'computed:import');
  return [...found.map((match) => match[1] ?? ''), ...unreadable];
}

/** What is wrong with one file, in words; empty when nothing is. */
function faultsOf(source: Source): string[] {
  const folder = source.path.split('/')[0] ?? '';
  const allowed = arrows[folder];
  if (allowed === undefined) return [`${source.path}: src/${folder} is not a part of the product`];
  const faults: string[] = [];
  for (const name of importsOf(source)) {
    const fault = name.startsWith('.')
      ? faultOfPath(source.path, folder, name)
      : faultOfPackage(source.path, folder, name);
    if (fault !== undefined) faults.push(`${source.path}: ${fault}`);
  }
  const code = withoutComments(source.text);
  const random =
    source.path !== RANDOMNESS && [randomNames, randomMember, randomImport].some((each) => each.test(code));
  if (random) faults.push(`${source.path}: takes randomness from the process instead of ${RANDOMNESS}`);
  return faults;
}

function faultOfPath(path: string, folder: string, name: string): string | undefined {
  const target = normalize(join(dirname(path), name));
  if (target.startsWith('..')) return target === '../package.json' ? undefined : `imports ${name} outside src`;
  const other = target.split('/')[0] ?? '';
  if (other === folder) return faultOfRoom(path, target);
  if (!arrows[folder]?.includes(other)) return `${folder} may not import ${other} (${name})`;
  const room = closed[folder]?.find((each) => target.startsWith(`${each}/`));
  return room === undefined ? undefined : `${folder} may not import ${room} (${name})`;
}

function faultOfRoom(path: string, target: string): string | undefined {
  const [room, other] = [dirname(path), dirname(target)];
  if (room === other || rooms[room.split('/')[0] ?? ''] === undefined) return undefined;
  const allowed = rooms[room]?.concat(shared);
  if (allowed === undefined) return `${room} is no room that is known`;
  return allowed.includes(other) || allowed.includes(target)
    ? undefined
    : `${room} may not import ${other} (${target})`;
}

/** Where each file of the product leads, below `src/`. */
function readGraph(): ReadonlyMap<string, readonly string[]> {
  return new Map(
    readSources().map((source) => [
      source.path,
      importsOf(source)
        .filter((name) => name.startsWith('.'))
        .map((name) => normalize(join(dirname(source.path), name))),
    ]),
  );
}

function faultOfPackage(path: string, folder: string, name: string): string | undefined {
  if (name === 'computed:import') return 'has an import whose target cannot be read';
  if (name.startsWith('node:')) {
    if (folder === 'contract') return `contract may not import ${name}`;
    const touches = folder === 'core' && path !== RANDOMNESS && !pureModules.includes(name);
    return touches ? `core may not touch the world (${name})` : undefined;
  }
  const bare = name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
  return packages[folder]?.includes(bare) ? undefined : `${folder} may not use the package ${bare}`;
}

test('every import of the source is one that its part may have, and randomness has one source', () => {
  const sources = readSources();
  expect(sources.length).toBeGreaterThan(20);
  expect(sources.flatMap(faultsOf)).toEqual([]);
});

test('no file imports itself by a way round; types, and what is loaded later, do not count', () => {
  const graph = new Map(
    readSources().map(({ path, text }) => [
      path,
      [...withoutComments(text).matchAll(/^(?:import|export)\b(?! type\b)[^;'"]*?\bfrom\s*'(\.[^']+)'/gm)].map(
        ([, name]) => normalize(join(dirname(path), name ?? '')),
      ),
    ]),
  );
  const done = new Set<string>();
  const open: string[] = [];
  const rounds: string[][] = [];
  function visit(path: string): void {
    if (open.includes(path)) rounds.push([...open.slice(open.indexOf(path)), path]);
    if (done.has(path) || open.includes(path)) return;
    open.push(path);
    for (const target of graph.get(path) ?? []) visit(target);
    open.pop();
    done.add(path);
  }
  for (const path of graph.keys()) visit(path);
  expect(rounds).toEqual([]);
});

test('no file takes more than types of node:http but by the one that does without its facade', () => {
  const having = readSources().filter(({ text }) => /^(?:import|export) (?!type )[^;]*'(?:node:)?http';/m.test(text));
  expect(having.map(({ path }) => path)).toEqual([]);
});

/** The line of a process or of this one; `/proc/stat` of the kernel has another form. */
const PROCESS_STAT = /(?:self|\}|pid\)),?\s*'?\/?'?stat['`]/;

test('the id of the boot and the line of a process are each read in one file, below linux', () => {
  const sources = readSources();
  const having = (pattern: RegExp) =>
    sources.filter(({ text }) => pattern.test(withoutComments(text))).map(({ path }) => path);
  expect(having(/random.{1,6}boot_id/)).toEqual(['linux/boot-id.ts']);
  // One needs fields of its own environment, which no other reader wants.
  expect(having(PROCESS_STAT).sort()).toEqual(['linux/processes/process-table.ts', 'linux/take-variable.ts']);
});

test.each([
  'readFileSync(`/proc/\u0024{pid}/stat`)',
  "readFileSync(join(root, String(pid), 'stat'))",
  "readFileSync('/proc/self/stat')",
])('a reader of the line of a process is noticed: %s', (text) => {
  expect(text).toMatch(PROCESS_STAT);
});

/** What costs a process twice as much when it is imported by name, and the one file through which it is used. */
const dear: Readonly<Record<string, string>> = {
  undici: 'http/undici.ts',
  'node:http': 'http/node-http.ts',
  'node:https': 'http/node-http.ts',
};

/** Files that no daemon loads. */
const ofNoDaemon = /^cli\/dev\//;

/** The dear names whose values, and not only types, a source imports by name. */
function dearImportsOf({ path, text }: Source): string[] {
  const statements = withoutComments(text).matchAll(/^import\s+(?!type\b)([^;'"]*?)\s*from '([^']+)'/gm);
  return [...statements].flatMap(([, what = '', name = '']) => {
    const isOfValues = !/^\{(\s*type\s[^,}]*,?)+\s*\}$/.test(what);
    return isOfValues && dear[name] !== undefined && dear[name] !== path ? [name] : [];
  });
}

test('undici and node:http are loaded by the one file each that does so cheaply', () => {
  const sources = readSources().filter(({ path }) => !ofNoDaemon.test(path));
  expect(sources.flatMap((source) => dearImportsOf(source).map((name) => [source.path, name]))).toEqual([]);
});

test.each([
  ["import { Agent, type Dispatcher } from 'undici';", ['undici']],
  ["import {\n  type IncomingMessage,\n  request,\n} from 'node:http';", ['node:http']],
  ["import { type IncomingMessage, type ServerResponse } from 'node:http';", []],
  ["import type { Dispatcher } from 'undici';", []],
])('a dear import is told from one of types: %s', (text, expected) => {
  expect(dearImportsOf({ path: 'agent/a.ts', text })).toEqual(expected);
});

test('every arrow between rooms is used', () => {
  const graph = readGraph();
  const used = new Set(
    [...graph].flatMap(([path, targets]) =>
      targets.flatMap((target) => [target, dirname(target)].map((other) => `${dirname(path)} -> ${other}`)),
    ),
  );
  const listed = Object.entries(rooms).flatMap(([room, others]) => others.map((other) => `${room} -> ${other}`));
  expect(listed.filter((arrow) => !used.has(arrow))).toEqual([]);
});

test('no import of the source is overlooked', () => {
  for (const { path, text } of readSources()) {
    const statements = text
      .split('\n')
      .filter((line) => /^(import|export|\}).*\sfrom '[^']+';$|^import '[^']+';$/.test(line));
    expect(importsOf({ path, text }).length, path).toBeGreaterThanOrEqual(statements.length);
  }
});

test.each([
  ['agent/a.ts', "import { x } from '../platform/x.ts';", 'agent may not import platform'],
  ['platform/a.ts', "import type { X } from '../agent/x.ts';", 'platform may not import agent'],
  ['provider/sub/a.ts', "export { x } from '../../http/x.ts';", 'provider may not import http'],
  ['core/a.ts', "const x = await import('../http/x.ts');", 'core may not import http'],
  ['core/a.ts', "import {\n  x,\n  y,\n} from '../sqlite/open.ts';", 'core may not import sqlite'],
  ['contract/a.ts', "import '../core/x.ts';", 'contract may not import core'],
  ['http/a.ts', "import { x } from '../cli/x.ts';", 'http may not import cli'],
  ['http/a.ts', "import { x } from '../core/gateway/x.ts';", 'http may not import core/gateway'],
  ['client/a.ts', "import { x } from '../../test/x.ts';", 'outside src'],
  ['core/gateway/a.ts', "import { x } from '../resume/x.ts';", 'core/gateway may not import core/resume'],
  ['core/a.ts', "import { x } from './ports/x.ts';", 'core may not import core/ports'],
  ['agent/access/a.ts', "import { x } from '../gateway/gateway.ts';", 'agent/access may not import agent/gateway'],
  ['agent/events/a.ts', "import { x } from '../agent.ts';", 'agent/events may not import agent (agent/agent.ts)'],
  ['platform/storage/a.ts', "import { x } from '../sprites/sprite-store.ts';", 'may not import platform/sprites'],
  ['agent/misc/a.ts', "import { x } from '../log.ts';", 'agent/misc is no room'],
  ['utils/a.ts', '', 'not a part of the product'],
  ['contract/a.ts', "import { z } from 'zod/mini';\nimport pino from 'pino';", 'may not use the package pino'],
  ['contract/a.ts', "import { readFileSync } from 'node:fs';", 'contract may not import node:fs'],
  ['core/a.ts', "import { createServer } from 'node:http';", 'core may not touch the world (node:http)'],
  ['core/a.ts', "import { spawn } from 'node:child_process';", 'core may not touch the world (node:child_process)'],
  ['core/a.ts', "import { request } from 'undici';", 'may not use the package undici'],
  ['agent/a.ts', "import fs from 'fs';", 'may not use the package fs'],
  ['agent/a.ts', 'const x = await import(name);', 'cannot be read'],
  ['agent/a.ts', 'const x = Math.random();', 'randomness'],
  ['agent/a.ts', "import { randomBytes } from 'node:crypto';", 'randomness'],
  ['agent/a.ts', "import { createHmac, randomUUID } from 'node:crypto';", 'randomness'],
  ['agent/a.ts', 'const x = crypto.getRandomValues(new Uint8Array(8));', 'randomness'],
  ['agent/a.ts', 'const x = nodeCrypto.randomBytes(8);', 'randomness'],
  ['agent/a.ts', "const any = '*/*';\nconst x = Math.random(); /* y */", 'randomness'],
  ['core/other.ts', 'const x = globalThis.crypto.randomUUID();', 'randomness'],
])('a bad sample is refused: %s with %j', (path, text, expected) => {
  expect(faultsOf({ path, text })).toEqual([expect.stringContaining(expected)]);
});

test.each([
  ['agent/a.ts', "import { randomBytes } from '../core/urandom.ts';\nconst x = randomBytes(8);"],
  ['agent/a.ts', '// never Math.random\n/** nor randomUUID */\nconst url = "https://example.com"; // Math.random'],
  ['core/a.ts', "import { createHash } from 'node:crypto';\nimport type { X } from '../contract/x.ts';"],
  ['core/urandom.ts', "import { openSync } from 'node:fs';"],
  ['agent/gateway/a.ts', "import { x } from './audit/x.ts';\nimport { y } from '../parts.ts';"],
  ['core/idle/a.ts', "import { x } from '../holds/x.ts';"],
  ['http/a.ts', "import { x } from '../core/http/x.ts';"],
  ['cli/a.ts', "const agent = await import('../agent/agent.ts');"],
])('a good sample passes: %s with %j', (path, text) => {
  expect(faultsOf({ path, text })).toEqual([]);
});
