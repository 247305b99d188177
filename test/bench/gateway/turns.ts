// What subjects cost and deliver, measured in short turns: all of them run at the same time and are loaded one after the other, again and
// again. What else the machine does comes and goes within seconds, and meets all of them alike.

import { readCpu_ms } from '../process-cost.ts';
import { percentile } from '../table.ts';
import { runLoad } from './load.ts';
import type { Subject } from './subjects.ts';

/** Long enough for hundreds of requests over one connection. */
const TURN_MS = 250;
/** The load that comes before what is measured: the subject has slept while others had their turns. */
const RUN_IN_MS = 30;

export interface LoadKind {
  readonly target: string;
  readonly connections: number;
}

export interface Turn {
  /** CPU of the process for one request; NaN for a subject without a process. */
  readonly cpu_us: number;
  readonly median_us: number;
  readonly perSecond: number;
  readonly megabytesPerSecond: number;
}

/** The turns of each subject by its name. The turns of the same index came at the same time. */
export type Turns = Map<string, Turn[]>;

export interface TurnsOfLoad {
  readonly turns: Turns;
  /** How long each request took, by the name of the subject. */
  readonly latencies_us: Map<string, number[]>;
}

/** Every other turn goes through the subjects from the last to the first. */
export async function measureInTurns(
  subjects: readonly Subject[],
  load: LoadKind,
  count: number,
  into: TurnsOfLoad = { turns: new Map(), latencies_us: new Map() },
): Promise<TurnsOfLoad> {
  for (let index = 0; index < count; index += 1) {
    for (const subject of index % 2 === 0 ? subjects : subjects.toReversed()) {
      const { turn, latencies_us } = await measureTurn(subject, load);
      listOf(into.turns, subject.name).push(turn);
      const all = listOf(into.latencies_us, subject.name);
      for (const latency_us of latencies_us) all.push(latency_us);
    }
  }
  return into;
}

/** How many times as much as `other` does the subject takes, or delivers: the median over the turns. */
export function toRatio(turns: Turns, name: string, other: string, pick: (turn: Turn) => number): number {
  const others = turns.get(other) ?? [];
  const ratios = (turns.get(name) ?? []).flatMap((turn, index) => {
    const beside = others[index];
    return beside === undefined ? [] : [pick(turn) / pick(beside)];
  });
  return percentile(ratios, 0.5);
}

export function toMedian(turns: Turns, name: string, pick: (turn: Turn) => number): number {
  return percentile((turns.get(name) ?? []).map(pick), 0.5);
}

async function measureTurn({ pid, socketPath }: Subject, load: LoadKind) {
  await runLoad({ ...load, socketPath, duration_ms: RUN_IN_MS });
  const cpu_ms = () => (pid === undefined ? Number.NaN : readCpu_ms(pid));
  const before_ms = cpu_ms();
  const { requests, bytes, took_ms, latencies_us } = await runLoad({ ...load, socketPath, duration_ms: TURN_MS });
  const turn: Turn = {
    cpu_us: ((cpu_ms() - before_ms) * 1_000) / requests,
    median_us: percentile(latencies_us, 0.5),
    perSecond: (requests * 1_000) / took_ms,
    megabytesPerSecond: bytes / 1_000 / took_ms,
  };
  return { turn, latencies_us };
}

function listOf<T>(lists: Map<string, T[]>, name: string): T[] {
  const known = lists.get(name);
  if (known !== undefined) return known;
  const list: T[] = [];
  lists.set(name, list);
  return list;
}
