// What a network policy costs, as root: `npm run bench:network -- [--rounds N] [--calls N] [--rest SECONDS]`. A machine in a network namespace of its
// own and its name server in another one; rounds with and without a policy take turns.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openApart } from '../support/at-end.ts';
import { startClient } from '../support/network/line-client.ts';
import { openNetworkProcess } from '../support/network-process.ts';
import {
  isWithoutNetworks,
  listPids,
  MANY_ADDRESSES,
  NAME_SERVER,
  openNetworkWorld,
} from '../support/network-world.ts';
import type { Series } from './network/client-child.ts';
import { type Figure, percentile, printTable } from './table.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '1000' },
    rest: { type: 'string', default: '30' },
  },
});
const [rounds, calls, rest_s] = [Number(values.rounds), Number(values.calls), Number(values.rest)];
const ADDED_BAR_MS = 1;
const REFUSED_BAR_MS = 5;
const REST_BAR_PERCENT = 0.3;
/** A tick of the clock by which the kernel counts the CPU of a process. */
const TICK_MS = 10;
const MANY_RULES = 10_000;
const FRESH = 250;

const allow = (domain: string) => ({ action: 'allow', domain });
const few = [allow('a.example'), allow('*.many.example')];
const many = [...few, ...Array.from({ length: MANY_RULES - few.length }, (_, at) => allow(`*.t${at}.example.com`))];
const fresh = Array.from({ length: FRESH }, (_, index) => `n${index}.many.example`);
const names = [
  `host-record=a.example,${MANY_ADDRESSES}1,300`,
  ...fresh.map((name, index) => `host-record=${name},${MANY_ADDRESSES}${index + 2},300`),
];

interface Times {
  readonly known: number[];
  readonly fresh: number[];
  readonly refused: number[];
  readonly connected: number[];
}
const toTimes = (): Times => ({ known: [], fresh: [], refused: [], connected: [] });

function readCpu_ms(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

const show = (value: number) => `${value.toFixed(2)} ms`;

function toFigure(what: string, with_ms: readonly number[], without_ms: readonly number[]): Figure {
  const [own_ms, bare_ms] = [percentile(with_ms, 0.5), percentile(without_ms, 0.5)];
  const added_ms = own_ms - bare_ms;
  const value = `${show(added_ms)} (${show(own_ms)} beside ${show(bare_ms)}; p99 ${show(percentile(with_ms, 0.99))} beside ${show(percentile(without_ms, 0.99))})`;
  return { what, value, bar: `< ${ADDED_BAR_MS} ms`, met: added_ms < ADDED_BAR_MS };
}

async function open() {
  const world = await openNetworkWorld();
  const [network] = await Promise.all([openNetworkProcess(world), world.setNames(names)]);
  const child = new URL('network/client-child.ts', import.meta.url).pathname;
  const say = startClient(world, [process.execPath, '--disable-warning=ExperimentalWarning', child]);
  const time = async (series: Series): Promise<number[]> => JSON.parse(await say(JSON.stringify(series)));
  const ask = (some: readonly string[], count: number) =>
    time({ type: 'questions', server: NAME_SERVER, names: some, count });

  /** Measures with `rules`, which may be none. */
  async function measure(rules: readonly object[], into: Times): Promise<number> {
    // What was known is forgotten.
    await network.enforce([{ action: 'deny', domain: '*' }]);
    const begun_ms = performance.now();
    await network.enforce(rules);
    const enforced_ms = performance.now() - begun_ms;
    into.fresh.push(...(await ask(fresh, FRESH)));
    into.known.push(...(await ask(['a.example'], calls)));
    if (rules.length > 0) into.refused.push(...(await ask(['b.example'], calls)));
    into.connected.push(
      ...(await time({ type: 'connections', address: `${MANY_ADDRESSES}1`, port: 80, count: calls })),
    );
    return enforced_ms;
  }

  async function measureRest(): Promise<number> {
    const pids = listPids(world.machine).filter((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/remora.js\0network\0'),
    );
    const cpu_ms = () => pids.reduce((sum, pid) => sum + readCpu_ms(pid), 0);
    await sleep(2_000);
    const before_ms = cpu_ms();
    await sleep(rest_s * 1_000);
    return ((cpu_ms() - before_ms) / (rest_s * 1_000)) * 100;
  }
  return { measure, measureRest };
}

if (isWithoutNetworks()) process.exit(1);
const { value: opened, end } = await openApart(open);
try {
  const [without, underFew, underMany] = [toTimes(), toTimes(), toTimes()];
  const enforced: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    console.error(`round ${round + 1} of ${rounds}`);
    await opened.measure([], without);
    await opened.measure(few, underFew);
    enforced.push(await opened.measure(many, underMany));
  }
  console.error(`at rest for ${rest_s} s`);
  const rest_percent = await opened.measureRest();
  const refused_ms = percentile([...underFew.refused, ...underMany.refused], 0.99);
  printTable(`${rounds} rounds of ${calls} calls each, beside the same calls without a policy: added to the median`, [
    toFigure('a look-up', underFew.known, without.known),
    toFigure('… with 10,000 rules', underMany.known, without.known),
    toFigure('the first look-up of a name, which opens its address', underFew.fresh, without.fresh),
    toFigure('… with 10,000 rules', underMany.fresh, without.fresh),
    toFigure('a connection', underFew.connected, without.connected),
    toFigure('… with 10,000 rules', underMany.connected, without.connected),
    {
      what: 'a refused name, p99',
      value: show(refused_ms),
      bar: `≤ ${REFUSED_BAR_MS} ms`,
      met: refused_ms <= REFUSED_BAR_MS,
    },
    { what: 'until 10,000 rules hold, median', value: show(percentile(enforced, 0.5)) },
    {
      what: 'CPU at rest under a policy',
      value: `${rest_percent.toFixed(2)} % of a core`,
      bar: `≤ ${REST_BAR_PERCENT} %`,
      met: rest_percent <= REST_BAR_PERCENT,
    },
  ]);
} finally {
  await end();
}
