// A platform with a proxy in a process of its own, whose machines another process plays. It says over IPC what is to be done to a machine,
// and measures how long the turns of its event loop are. Argument: a directory.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Secret } from '../../../src/core/secret.ts';
import { openPlatform } from '../../../src/platform/platform.ts';
import { eventually } from '../eventually.ts';
import { silentLog } from '../silent-log.ts';
import { createPlayedDriver, type PlayedSpec } from './played-driver.ts';

export type WorldCall =
  | { readonly do: 'boot'; readonly spec: PlayedSpec }
  | { readonly do: 'thaw' | 'freeze' | 'end'; readonly id: string };

/** What the child says. */
export type ChildMessage =
  | { readonly world: WorldCall; readonly number: number }
  | { readonly ready: string }
  | { readonly answer: number; readonly value: unknown };

/** What it is told. */
export type ChildOrder =
  | { readonly done: number }
  | {
      readonly ask: number;
      readonly what: 'organization';
      readonly name: string;
      readonly running_limit: number | null;
    }
  | { readonly ask: number; readonly what: 'sprites'; readonly organization: string; readonly names: readonly string[] }
  | {
      readonly ask: number;
      readonly what: 'start' | 'suspend';
      readonly organization: string;
      readonly names: readonly string[];
    }
  | { readonly ask: number; readonly what: 'measure' };

/** What was measured since the question before. */
export interface Measured {
  /** The longest turn of the event loop by the clock, and by the processor time of its thread, which is at most a millisecond too long. */
  readonly turn_ms: number;
  readonly turnCpu_ms: number;
  readonly cpu_ms: number;
  readonly rss_mb: number;
  /** The largest that was seen. */
  readonly peak_mb: number;
}

const MB = 1024 * 1024;
const [dir = ''] = process.argv.slice(2);
const say = (message: ChildMessage) => void process.send?.(message);
const waiting = new Map<number, () => void>();
let last = 0;

function tell(world: WorldCall): Promise<void> {
  last += 1;
  const number = last;
  return new Promise((resolve) => {
    waiting.set(number, resolve);
    say({ world, number });
  });
}

const platform = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  proxy: { listen: { host: '127.0.0.1', port: 0 } },
  trustMachines: true,
  freezeDelay_ms: 0,
  callRate: { burst: 1_000_000, perSecond: 1_000_000 },
  machineRates: {
    moves: { burst: 1_000_000, perSecond: 1_000_000 },
    reads: { burst: 1_000_000, perSecond: 1_000_000 },
  },
  idle: { startWait_ms: 1_000 },
  version: '0.0.0',
  log: { ...silentLog, warn: show, error: show },
  driver: (createToken) =>
    createPlayedDriver(createToken, {
      boot: (spec) => tell({ do: 'boot', spec }),
      thaw: (id) => tell({ do: 'thaw', id }),
      freeze: (id) => tell({ do: 'freeze', id }),
      end: (id) => tell({ do: 'end', id }),
    }),
});
const { admin } = platform;

function show(fields: object, message: string): void {
  process.stderr.write(
    `${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? String(value) : value))}\n`,
  );
}

const turns = monitorEventLoopDelay({ samplePerIteration: true });
turns.enable();
let turnCpu_us = 0;
let last_us = cpu_us();
let peak = 0;
let begun = process.cpuUsage();
setInterval(() => {
  const now = cpu_us();
  turnCpu_us = Math.max(turnCpu_us, now - last_us);
  last_us = now;
  peak = Math.max(peak, process.memoryUsage.rss());
}, 4).unref();

function cpu_us(): number {
  // Linux brings the time of the running thread up to date only when the whole process is asked for its own.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function measure(): Measured {
  const { user, system } = process.cpuUsage(begun);
  const rss = process.memoryUsage.rss();
  const measured = {
    turn_ms: turns.max / 1e6,
    turnCpu_ms: turnCpu_us / 1_000,
    cpu_ms: (user + system) / 1_000,
    rss_mb: rss / MB,
    peak_mb: Math.max(peak, rss) / MB,
  };
  turns.reset();
  begun = process.cpuUsage();
  turnCpu_us = 0;
  peak = 0;
  last_us = cpu_us();
  return measured;
}

async function suspend(name: { readonly organization: string; readonly sprite: string }): Promise<void> {
  await admin.suspendMachine(name);
  await eventually(async () => (await admin.readMachine(name)).state === 'suspended', 60_000);
}

async function answer(order: Exclude<ChildOrder, { done: number }>): Promise<unknown> {
  switch (order.what) {
    case 'organization':
      await admin.createOrganization(order.name);
      await admin.setLimits(order.name, { running_limit: order.running_limit });
      return (await admin.createToken({ organization: order.name })).reveal();
    case 'sprites': {
      const url_settings = { auth: 'public' } as const;
      const { organization } = order;
      let url = '';
      for (const name of order.names) ({ url } = await admin.createSprite({ organization, name, url_settings }));
      return Number(new URL(url).port);
    }
    case 'start':
      await Promise.all(order.names.map((sprite) => admin.startMachine({ organization: order.organization, sprite })));
      return undefined;
    case 'suspend':
      await Promise.all(order.names.map((sprite) => suspend({ organization: order.organization, sprite })));
      return undefined;
    case 'measure':
      return measure();
  }
}

process.on('message', (order: ChildOrder) => {
  if ('done' in order) {
    waiting.get(order.done)?.();
    waiting.delete(order.done);
    return;
  }
  answer(order).then(
    (value) => say({ answer: order.ask, value }),
    (error: Error) => say({ answer: order.ask, value: { failed: String(error) } }),
  );
});
process.on('disconnect', () => process.exit(0));
say({ ready: platform.url });
