// What a call costs the platform, beside what it costs the agent, in one run: `npm run bench:platform-call -- [--sprites N] [--rounds N]
// [--only sqlite,postgres] [--profile DIR]`. Both are the built program; the provider and the load are local. What counts are ratios.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { toTable } from '../../src/cli/table.ts';
import { Secret } from '../../src/core/secret.ts';
import { openStorage } from '../../src/platform/storage/open-storage.ts';
import { makeBuiltProgram } from '../support/built-program.ts';
import { isWithoutPostgres, openPostgresServer } from '../support/postgres-server.ts';
import { startAgent, waitFor } from './gateway/subjects.ts';
import { endProcess, runPlatform, startPlatform } from './platform/platform.ts';
import { toProviderFile } from './platform/provider-file.ts';
import { measureRoute, type Route, type RouteCost } from './platform/route.ts';
import { seedSprites, toSpriteName } from './platform/seed.ts';
import { percentile } from './table.ts';

const { values } = parseArgs({
  options: {
    sprites: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: 'sqlite,postgres' },
    profile: { type: 'string' },
  },
});
const count = Number(values.sprites);
const rounds = Number(values.rounds);
const CONNECTIONS = 32;
const BAR = 2;
/** The policy that the stand-in of the agent's own benchmark has. */
const policy = {
  allow_all: true,
  allowed_endpoints: ['/v1/*'],
  blocked_endpoints: ['/v1/admin*', '/v1/files', '/v1/fine_tuning/*'],
};

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(dir, { recursive: true }));
const program = await makeBuiltProgram();

const upstream = spawn(
  process.execPath,
  [new URL('gateway/upstream.ts', import.meta.url).pathname, join(dir, 'u.sock')],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
stack.defer(() => endProcess(upstream));
const [line]: Buffer[] = await once(upstream.stdout, 'data');
const upstreamPort = Number(String(line));

const standIn = '/v1/gateway/openai/conn_1/v1/1k';
const own = await openAgent('own', { port: upstreamPort, sprite: 'bench', token: 'bench-token' }, standIn);
const routes: Route[] = [
  {
    name: 'the agent, before a stand-in for a platform',
    place: own.path,
    target: standIn,
    processes: { agent: own.pid },
  },
];
for (const kind of values.only.split(',')) {
  if (kind === 'sqlite') routes.push(...(await openPlatform('SQLite', undefined)));
  if (kind === 'postgres' && !isWithoutPostgres()) {
    const server = stack.use(await openPostgresServer());
    routes.push(...(await openPlatform('PostgreSQL', (await server.createDatabase()).reveal())));
  }
}

const costs = new Map<string, RouteCost[]>();
for (let round = 0; round < rounds; round += 1) {
  console.error(`round ${round + 1} of ${rounds}`);
  for (const route of routes) {
    costs.set(route.name, [...(costs.get(route.name) ?? []), await measureRoute(route, CONNECTIONS)]);
  }
}
print();

/** A platform on a database of its own, and the ways of a call to it. */
async function openPlatform(name: string, database: string | undefined): Promise<readonly Route[]> {
  console.error(`making ${count} sprites on ${name}`);
  const home = join(dir, name);
  mkdirSync(home);
  const [keyFile, providers, apiKey] = [join(home, 'key'), join(home, 'providers.toml'), join(home, 'api-key')];
  writeFileSync(keyFile, await runPlatform(['key'], { program }), { mode: 0o600 });
  writeFileSync(providers, toProviderFile(upstreamPort));
  writeFileSync(apiKey, 'sk-of-the-benchmark');
  const env = database === undefined ? {} : { REMORA_DATABASE_URL: database };
  const place = ['--dir', join(home, 'p'), '--key-file', keyFile, '--providers', providers];
  const words = [...place, '--log-level', 'info', '--organization', 'acme', '--token-file', join(home, 'token')];
  await (await startPlatform(words, { program, env })).end();
  const tokens = await seed(join(home, 'p'), database);
  const made = ['connector', 'create', 'acme', 'openai', '--api-key-file', apiKey, '--policy', JSON.stringify(policy)];
  const connector = (await runPlatform([...made, ...place], { program, env })).split(/\s/)[0] ?? '';
  const flags = values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', join(values.profile, name)];
  const platform = await startPlatform(words, { program, env, flags });
  stack.defer(() => platform.end());
  const target = `/v1/gateway/openai/${connector}/v1/1k`;
  const agent = await openAgent(
    `before ${name}`,
    { port: platform.port, sprite: toSpriteName(0), token: tokens[0] ?? '' },
    target,
  );
  const turns = tokens.map((token) => [`Authorization: Bearer ${token}`]);
  const to = { place: platform.port, target, processes: { platform: platform.pid } };
  return [
    { ...to, name: `${name}: ${CONNECTIONS} sprites in turns`, turns: turns.slice(0, CONNECTIONS) },
    { ...to, name: `${name}: all ${count} sprites in turns`, turns },
    {
      name: `${name}: behind an agent`,
      place: agent.path,
      target,
      processes: { agent: agent.pid, platform: platform.pid },
    },
  ];
}

async function seed(home: string, database: string | undefined): Promise<readonly string[]> {
  await using storage = await openStorage(home, database === undefined ? undefined : new Secret(database));
  return await seedSprites(storage, 'acme', count);
}

async function openAgent(
  name: string,
  of: { readonly port: number; readonly sprite: string; readonly token: string },
  target: string,
) {
  const home = join(dir, name.replaceAll(' ', '-'));
  mkdirSync(home);
  const child = startAgent(home, { ...of, program });
  stack.defer(() => endProcess(child));
  const path = join(home, 's.sock');
  await waitFor(child, path, target);
  if (child.pid === undefined) throw new Error('the agent did not start');
  return { path, pid: child.pid };
}

function print(): void {
  const agent = costs.get(routes[0]?.name ?? '') ?? [];
  console.log(
    `\n${count} sprites, 1 KB, ${CONNECTIONS} connections, log level info, medians of ${rounds} rounds [lowest, highest]`,
  );
  const heads = ['', 'requests/s', 'CPU agent µs', 'CPU platform µs', 'platform to agent', `bar ${BAR}`];
  const rows = routes.map(({ name }) => {
    const measured = costs.get(name) ?? [];
    const ratios = measured.flatMap(({ cpu_us }, round) => {
      const beside = agent[round]?.cpu_us.agent;
      return cpu_us.platform === undefined || beside === undefined ? [] : [cpu_us.platform / beside];
    });
    const middle = percentile(ratios, 0.5);
    return [
      name,
      percentile(
        measured.map(({ perSecond }) => perSecond),
        0.5,
      ).toFixed(0),
      toSpan(measured, 'agent'),
      toSpan(measured, 'platform'),
      ratios.length === 0
        ? ''
        : `${middle.toFixed(2)} [${percentile(ratios, 0).toFixed(2)}, ${percentile(ratios, 1).toFixed(2)}]`,
      ratios.length === 0 ? '' : middle <= BAR ? 'met' : 'MISSED',
    ];
  });
  for (const text of toTable([heads, ...rows])) console.log(text);
}

function toSpan(measured: readonly RouteCost[], process: string): string {
  const all = measured.flatMap(({ cpu_us }) => cpu_us[process] ?? []);
  if (all.length === 0) return '';
  const at = (share: number) => percentile(all, share).toFixed(0);
  return `${at(0.5)} [${at(0)}, ${at(1)}]`;
}
