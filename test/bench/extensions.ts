// Signed requests that a provider verifies, webhooks that the platform takes, beside bare handlers of node:http, and the list of 10,000
// extensions, in one run: `npm run bench:extensions -- [--rounds N]`. Everything is local. What counts are ratios, not numbers: those of the
// CPU that a server takes for a request, because the load and the work of others share the machine with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Secret } from '../../src/core/secret.ts';
import { measureExtensionList } from './extensions/list.ts';
import { seedExtensions } from './extensions/seed.ts';
import { sendAll } from './extensions/signed-load.ts';
import { SECRET, toEvents, toWebhooks } from './extensions/signed-requests.ts';
import { endProcess, runPlatform, startPlatform } from './platform/platform.ts';
import { readCpu_ms } from './process-cost.ts';
import { type Figure, percentile, printTable } from './table.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const rounds = Number(values.rounds);
const CONNECTIONS = 32;
/** The kit keeps the nonces of 100,000 requests in memory. */
const WARM_UP = 2;
const EVENTS = Math.floor(90_000 / (rounds + WARM_UP));
const WEBHOOKS = 4_000;
const EXTENSIONS = 10_000;
const BAR = 0.5;
const LIST_BAR = 1.5;
const LIST_ROUNDS = 300;

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
await using stack = new AsyncDisposableStack();
stack.defer(() => rmSync(dir, { recursive: true }));

interface Server {
  readonly pid: number;
  readonly port: number;
}

interface Cost {
  readonly perSecond: number;
  readonly cpu_us: number;
}

async function startSubject(kind: string): Promise<Server> {
  const script = new URL('extensions/subject.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, kind, join(dir, `${kind}.db`)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stack.defer(() => endProcess(child));
  const [line]: Buffer[] = await once(child.stdout, 'data');
  if (child.pid === undefined) throw new Error(`${kind} did not start`);
  return { pid: child.pid, port: Number(String(line)) };
}

async function measure({ pid, port }: Server, requests: readonly Buffer[]): Promise<Cost> {
  const before_ms = readCpu_ms(pid);
  const perSecond = await sendAll(port, requests, CONNECTIONS);
  return { perSecond, cpu_us: ((readCpu_ms(pid) - before_ms) * 1_000) / requests.length };
}

const keyFile = join(dir, 'key');
const tokenFile = join(dir, 'token');
writeFileSync(keyFile, await runPlatform(['key']), { mode: 0o600 });
const place = ['--dir', join(dir, 'p'), '--key-file', keyFile];
const platform = await startPlatform([
  ...place,
  '--log-level',
  'info',
  '--organization',
  'acme',
  '--token-file',
  tokenFile,
]);
stack.defer(() => platform.end());
const created = [
  'extension-provider',
  'create',
  'bench',
  '--base-url',
  'https://provider.example',
  '--dir',
  join(dir, 'p'),
];
const { webhook_secret } = JSON.parse(await runPlatform([...created, '--json']));
console.error(`making ${EXTENSIONS} extensions`);
seedExtensions(join(dir, 'p', 'platform.db'), 'acme', 'bench', EXTENSIONS);

const events = () => toEvents(EVENTS);
const ofSecret = (secret: Secret) => (round: number) => toWebhooks('bench', secret, EXTENSIONS, WEBHOOKS, round);
const subjects = [
  { name: 'bare', server: await startSubject('bare'), make: events },
  { name: 'verifying', server: await startSubject('verifying'), make: events },
  { name: 'kit', server: await startSubject('kit'), make: events },
  { name: 'storing', server: await startSubject('storing'), make: ofSecret(new Secret(SECRET)) },
  { name: 'platform', server: platform, make: ofSecret(new Secret(webhook_secret)) },
] as const;

const costs = new Map<string, Cost[]>();
for (let round = -WARM_UP; round < rounds; round += 1) {
  console.error(round < 0 ? 'warming up' : `round ${round + 1} of ${rounds}`);
  for (const { name, server, make } of subjects) {
    const cost = await measure(server, make(round));
    if (round >= 0) costs.set(name, [...(costs.get(name) ?? []), cost]);
  }
}
console.error('reading the list');
const { first_ms, last_ms, extensions } = await measureExtensionList(
  platform.url,
  readFileSync(tokenFile, 'utf8').trim(),
  LIST_ROUNDS,
);

const medianOf = (name: string, read: (cost: Cost) => number) => percentile((costs.get(name) ?? []).map(read), 0.5);
const cpuOf = (name: string) => medianOf(name, ({ cpu_us }) => cpu_us);
const ratio = percentile(last_ms, 0.5) / percentile(first_ms, 0.5);
const figures: readonly Figure[] = [
  { what: 'POST: a bare handler', value: toValue('bare') },
  toBeside('signed requests: the same behind the verifier', 'verifying', 'bare', BAR),
  toBeside('machine events: the whole kit', 'kit', 'bare'),
  { what: 'webhooks: a bare handler that checks the HMAC and stores', value: toValue('storing') },
  toBeside('webhooks: the platform', 'platform', 'storing', BAR),
  toBeside('webhooks: the platform beside the bare handler', 'platform', 'bare'),
  { what: `${extensions} extensions: first page, p50 · p99`, value: toMilliseconds(first_ms) },
  { what: `${extensions} extensions: last page, p50 · p99`, value: toMilliseconds(last_ms) },
  { what: 'last page to first page', value: ratio.toFixed(2), bar: `≤ ${LIST_BAR}`, met: ratio <= LIST_BAR },
];
printTable(
  `Extensions, ${CONNECTIONS} connections, medians of ${rounds} rounds: requests/s · CPU for one · ratio of CPU · of rates`,
  figures,
);

function toValue(name: string): string {
  return `${medianOf(name, ({ perSecond }) => perSecond).toFixed(0)} · ${cpuOf(name).toFixed(1)} µs`;
}

function toBeside(what: string, name: string, other: string, bar?: number): Figure {
  const share = cpuOf(other) / cpuOf(name);
  const rate = medianOf(name, ({ perSecond }) => perSecond) / medianOf(other, ({ perSecond }) => perSecond);
  const value = `${toValue(name)} · ${share.toFixed(2)} × · ${rate.toFixed(2)} ×`;
  return bar === undefined ? { what, value } : { what, value, bar: `≥ ${bar} × the rate`, met: rate >= bar };
}

function toMilliseconds(times_ms: readonly number[]): string {
  return `${percentile(times_ms, 0.5).toFixed(2)} · ${percentile(times_ms, 0.99).toFixed(2)} ms`;
}
