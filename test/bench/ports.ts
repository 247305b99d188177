// How soon a port that opens or closes is told, and what watching costs, beside a loop that runs `ss -ltnp` each second; idle,
// and with 10,000 connections and 200 listeners: `npm run bench:ports`.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFraction } from '../../src/core/urandom.ts';
import { type Moment, moment } from './ports/moment.ts';
import { startSsLoop } from './ports/ss-loop.ts';
import { startWatchedAgent } from './ports/watched-agent.ts';
import { type Figure, percentile, printTable } from './table.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 60);
const IDLE_MS = Number(process.env.BENCH_IDLE_MS ?? 60_000);
/** The runtime gives memory back for a while after a start. */
const SETTLE_MS = Number(process.env.BENCH_SETTLE_MS ?? 30_000);
const BAR_MS = 1_000;
const BAR_SHARE = 0.005;
/** Each process of the load holds a part, within the limit of its descriptors. */
const LOAD_PROCESSES = 4;
const LISTENERS = 200;
const CONNECTIONS = 10_000;
/** When a change has not been told by then, it is not waited for any longer. */
const LOST_MS = 5_000;

function start(file: string, ...args: string[]): ChildProcess {
  return fork(new URL(`ports/${file}`, import.meta.url), args);
}

async function stop(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.disconnect();
  await gone;
}

async function openLoad(): Promise<ChildProcess[]> {
  const share = [LISTENERS / LOAD_PROCESSES, CONNECTIONS / LOAD_PROCESSES].map(String);
  const children = Array.from({ length: LOAD_PROCESSES }, () => start('load.ts', ...share));
  await Promise.all(children.map((child) => once(child, 'message')));
  return children;
}

async function tell(child: ChildProcess, word: 'open' | 'close'): Promise<Moment> {
  child.send(word);
  const [message] = await once(child, 'message');
  return moment.parse(message);
}

/** When one watcher said what about which port. */
class Heard {
  readonly #moments = new Map<string, number>();
  #open: ReadonlySet<number> = new Set();

  say(type: string, port: number, at_ms: number): void {
    const key = `${type} ${port}`;
    if (!this.#moments.has(key)) this.#moments.set(key, at_ms);
  }

  compare(ports: ReadonlySet<number>, at_ms: number): void {
    for (const port of ports.difference(this.#open)) this.say('port_opened', port, at_ms);
    for (const port of this.#open.difference(ports)) this.say('port_closed', port, at_ms);
    this.#open = ports;
  }

  async until(type: string, port: number, from_ms: number): Promise<number> {
    for (let waited_ms = 0; waited_ms < LOST_MS; waited_ms += 20) {
      const at_ms = this.#moments.get(`${type} ${port}`);
      if (at_ms !== undefined) return at_ms - from_ms;
      await sleep(20);
    }
    return Number.POSITIVE_INFINITY;
  }
}

interface Delays {
  readonly opened: number[];
  readonly closed: number[];
}

function toFigures(who: string, delays: Delays, judged: boolean): Figure[] {
  return Object.entries(delays).map(([what, values]: [string, number[]]) => {
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => percentile(values, share));
    const value = `p50 ${p50?.toFixed(0)}  p95 ${p95?.toFixed(0)}  p99 ${p99?.toFixed(0)} ms`;
    const figure = { what: `${who}: ${what}`, value };
    return judged ? { ...figure, bar: `p95 ≤ ${BAR_MS} ms`, met: (p95 ?? Number.NaN) <= BAR_MS } : figure;
  });
}

const toShare = (share: number) => `${(share * 100).toFixed(2)} % of a core`;

async function run(title: string): Promise<void> {
  const heard = { agent: new Heard(), peer: new Heard() };
  const delays = { agent: { opened: [], closed: [] } as Delays, peer: { opened: [], closed: [] } as Delays };
  await using agent = await startWatchedAgent(({ type, port }, at_ms) => heard.agent.say(type, port, at_ms));
  await using peer = startSsLoop((ports, at_ms) => heard.peer.compare(ports, at_ms));
  const listener = start('listener.ts');
  await once(listener, 'spawn');
  await sleep(SETTLE_MS);

  const spend = async (work: () => Promise<unknown>) => {
    const before = [agent.cpu_ms(), peer.cpu_ms(), performance.now()] as const;
    await work();
    const took_ms = performance.now() - before[2];
    return { agent: (agent.cpu_ms() - before[0]) / took_ms, peer: (peer.cpu_ms() - before[1]) / took_ms };
  };
  const idle = await spend(() => sleep(IDLE_MS));
  const busy = await spend(async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const opened = await tell(listener, 'open');
      const hear = async (who: 'agent' | 'peer', what: keyof Delays, from_ms: number) => {
        delays[who][what].push(await heard[who].until(`port_${what}`, opened.port, from_ms));
      };
      await Promise.all([hear('agent', 'opened', opened.at_ms), hear('peer', 'opened', opened.at_ms)]);
      await sleep(randomFraction() * 1_000);
      const { at_ms } = await tell(listener, 'close');
      await Promise.all([hear('agent', 'closed', at_ms), hear('peer', 'closed', at_ms)]);
      await sleep(randomFraction() * 1_000);
    }
  });
  await stop(listener);

  printTable(title, [
    ...toFigures('agent', delays.agent, true),
    ...toFigures('ss -ltnp each second', delays.peer, false),
    {
      what: 'agent: CPU, nothing opens',
      value: toShare(idle.agent),
      bar: `≤ ${toShare(BAR_SHARE)}`,
      met: idle.agent <= BAR_SHARE,
    },
    {
      what: 'ss: CPU, nothing opens',
      value: toShare(idle.peer),
      bar: 'more than the agent',
      met: idle.peer > idle.agent,
    },
    { what: 'agent: CPU, ports come and go', value: toShare(busy.agent) },
    { what: 'ss: CPU, ports come and go', value: toShare(busy.peer) },
  ]);
  console.log(`  ports in /v1/status: ${JSON.stringify(await agent.scans())}`);
}

await run(`idle machine, ${ROUNDS} listeners opened and closed`);
const load = await openLoad();
await run(`${CONNECTIONS} connections and ${LISTENERS} listeners on the same machine`);
await Promise.all(load.map(stop));
