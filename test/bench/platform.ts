// The platform with many sprites, and its gateway beside the agent's, in one run: `npm run bench:platform -- [--sprites N] [--rounds N]`.
// A real platform process on SQLite; the provider and the load are local. What counts are ratios, not numbers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { toTable } from '../../src/cli/table.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import { measureDecision_us } from './gateway/decision.ts';
import { startAgent, waitFor } from './gateway/subjects.ts';
import { measureList } from './platform/list.ts';
import { measureLookups } from './platform/lookups.ts';
import { endProcess, runPlatform, startPlatform } from './platform/platform.ts';
import { toProviderFile } from './platform/provider-file.ts';
import { measureRoute, type Route, type RouteCost } from './platform/route.ts';
import { seedSprites, toSpriteName } from './platform/seed.ts';
import { type Figure, percentile, printTable } from './table.ts';

const { values } = parseArgs({
  options: { sprites: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '3' } },
});
const count = Number(values.sprites);
const rounds = Number(values.rounds);
const LIST_ROUNDS = 500;
const LIST_BAR = 1.5;
/** The policy that the stand-in of the agent's own benchmark has. */
const policy = {
  allow_all: true,
  allowed_endpoints: ['/v1/*'],
  blocked_endpoints: ['/v1/admin*', '/v1/files', '/v1/fine_tuning/*'],
};

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(dir, { recursive: true }));

const upstream = spawn(
  process.execPath,
  [new URL('gateway/upstream.ts', import.meta.url).pathname, join(dir, 'u.sock')],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
stack.defer(() => endProcess(upstream));
const [line]: Buffer[] = await once(upstream.stdout, 'data');
const upstreamPort = Number(String(line));

const keyFile = join(dir, 'key');
writeFileSync(keyFile, await runPlatform(['key']), { mode: 0o600 });
const providers = join(dir, 'providers.toml');
writeFileSync(providers, toProviderFile(upstreamPort));
const place = ['--dir', join(dir, 'p'), '--key-file', keyFile, '--providers', providers];
const tokenFile = join(dir, 'token');

async function start() {
  return await startPlatform([...place, '--log-level', 'info', '--organization', 'acme', '--token-file', tokenFile]);
}

console.error(`making ${count} sprites`);
await (await start()).end();
const tokens = await seed();
const spriteToken = tokens[0] ?? '';
const apiKey = join(dir, 'api-key');
writeFileSync(apiKey, 'sk-of-the-benchmark');
const made = ['connector', 'create', 'acme', 'openai', '--api-key-file', apiKey, '--policy', JSON.stringify(policy)];
const connector = (await runPlatform([...made, ...place])).split(/\s/)[0] ?? '';

const platform = await start();
stack.defer(() => platform.end());
const figures: Figure[] = [];
const organizationToken = readFileSync(tokenFile, 'utf8').trim();
for (const prefix of ['', 'web-', 'web-0000']) {
  console.error(`reading the list${prefix === '' ? '' : ` of ${prefix}`}`);
  const { first_ms, last_ms, sprites } = await measureList(platform.url, organizationToken, prefix, LIST_ROUNDS);
  const of = `${sprites} sprites${prefix === '' ? '' : ` that begin with ${prefix}`}`;
  const ratio = percentile(last_ms, 0.5) / percentile(first_ms, 0.5);
  figures.push(
    { what: `${of}: first page, p50 · p99`, value: toMilliseconds(first_ms) },
    { what: `${of}: last page, p50 · p99`, value: toMilliseconds(last_ms) },
    { what: `${of}: last to first`, value: ratio.toFixed(2), bar: `≤ ${LIST_BAR}`, met: ratio <= LIST_BAR },
  );
}

const own = await openAgent('own', upstreamPort, 'bench', 'bench-token', '/v1/gateway/openai/conn_1/v1/1k');
const through = `/v1/gateway/openai/${connector}/v1/1k`;
const agent = await openAgent('through', platform.port, toSpriteName(0), spriteToken, through);
const authorization = [`Authorization: Bearer ${spriteToken}`];
const routes: readonly Route[] = [
  { name: 'direct', place: upstreamPort, target: '/v1/1k', processes: {} },
  {
    name: 'agent → stand-in',
    place: own.path,
    target: '/v1/gateway/openai/conn_1/v1/1k',
    processes: { agent: own.pid },
  },
  {
    name: 'platform → provider',
    place: platform.port,
    target: through,
    headers: authorization,
    processes: { platform: platform.pid },
  },
  {
    name: 'agent → platform → provider',
    place: agent.path,
    target: through,
    processes: { agent: agent.pid, platform: platform.pid },
  },
];
const costs = new Map<string, RouteCost[]>();
for (let round = 0; round < rounds; round += 1) {
  console.error(`calls through the gateways, round ${round + 1} of ${rounds}`);
  for (const route of routes) {
    for (const connections of [1, 32]) {
      const key = `${route.name} ${connections}`;
      costs.set(key, [...(costs.get(key) ?? []), await measureRoute(route, connections)]);
    }
  }
}
await platform.end();
console.error('looking up tokens');
const lookups = await measureLookups(join(dir, 'p'), tokens);
const decision_us = measureDecision_us();

figures.push(
  { what: 'policy decisions a second, target read and policy asked', value: (1e6 / decision_us).toFixed(0) },
  { what: `callers found by token a second, of ${count} tokens`, value: lookups.toFixed(0) },
);
printTable(`${count} sprites in one organization`, figures);
for (const connections of [1, 32]) {
  console.log(`\ngateway, 1 KB, ${connections} connection${connections === 1 ? '' : 's'}, medians of ${rounds} rounds`);
  const rows = routes.map(({ name }) => toRow(name, costs.get(`${name} ${connections}`) ?? []));
  const heads = ['', 'requests/s', 'median ms', 'p99 ms', 'CPU agent µs', 'CPU platform µs'];
  for (const text of toTable([heads, ...rows])) console.log(text);
}

async function seed() {
  await using storage = openSqliteStorage(join(dir, 'p'));
  return await seedSprites(storage, 'acme', count);
}

async function openAgent(name: string, port: number, sprite: string, token: string, target: string) {
  const home = join(dir, name);
  mkdirSync(home);
  const child = startAgent(home, { port, sprite, token });
  stack.defer(() => endProcess(child));
  const path = join(home, 's.sock');
  await waitFor(child, path, target);
  if (child.pid === undefined) throw new Error('the agent did not start');
  return { path, pid: child.pid };
}

function toRow(name: string, measured: readonly RouteCost[]): string[] {
  const of = (read: (cost: RouteCost) => number | undefined) =>
    percentile(
      measured.map((cost) => read(cost) ?? Number.NaN),
      0.5,
    );
  const cpu = (process: string) => of((cost) => cost.cpu_us[process]);
  const text = (value: number, digits: number) => (Number.isNaN(value) ? '' : value.toFixed(digits));
  return [
    name,
    text(
      of(({ perSecond }) => perSecond),
      0,
    ),
    text(of(({ median_us }) => median_us) / 1_000, 2),
    text(of(({ p99_us }) => p99_us) / 1_000, 2),
    text(cpu('agent'), 0),
    text(cpu('platform'), 0),
  ];
}

function toMilliseconds(times_ms: readonly number[]): string {
  return `${percentile(times_ms, 0.5).toFixed(2)} · ${percentile(times_ms, 0.99).toFixed(2)} ms`;
}
