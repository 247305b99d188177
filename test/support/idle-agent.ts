// The idle part of an agent behind a real Unix socket, with real connections and a suspend that a test plays.
import { onTestFinished } from 'vitest';
import { type AgentEvent, createEventHub } from '../../src/agent/events/event-hub.ts';
import { createIdle, type Idle, type IdleOptions } from '../../src/agent/idle/idle.ts';
import type { AgentEventType } from '../../src/contract/local/event-types.ts';
import { type IdleStatus, idleStatus, taskOperations } from '../../src/contract/local/tasks.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Hold } from '../../src/core/holds/hold-book.ts';
import { type InsideWork, noInsideWork } from '../../src/core/idle/inside-work.ts';
import type { SuspendState } from '../../src/core/machine/suspend-states.ts';
import { createRunClock } from '../../src/core/run-clock.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { createSs } from '../../src/linux/sockets/ss.ts';
import { ask } from './ask.ts';
import { serveEdge } from './serve-edge.ts';

export interface IdleAgent {
  readonly idle: Idle;
  /** What a test changes. */
  readonly world: {
    holds: Hold[];
    calls: { open: Map<string, number>; total: number };
    inside: InsideWork;
    suspendState: SuspendState;
    isPrimary: boolean | undefined;
    ports: number[];
  };
  readonly events: readonly AgentEvent[];
  /** How often a suspend was asked for. */
  readonly asks: () => number;
  publish(type: AgentEventType): void;
  report(): Promise<IdleStatus>;
}

export type IdleAgentOptions = Partial<IdleOptions['config']> & {
  readonly ssCommand?: string;
  readonly ss?: IdleOptions['ss'];
  readonly retryMin_ms?: number;
  /** The run time of the machine; the time that passes when absent. */
  readonly runClock?: IdleOptions['runClock'];
  /** What is there when it starts. */
  readonly begin?: (world: IdleAgent['world']) => void;
  /** Plays the suspend; accepted at once when absent. */
  readonly suspend?: IdleOptions['suspend'];
};

export async function startIdleAgent(options: IdleAgentOptions = {}): Promise<IdleAgent> {
  const world: IdleAgent['world'] = {
    holds: [],
    calls: { open: new Map(), total: 0 },
    inside: noInsideWork,
    suspendState: 'awake',
    isPrimary: undefined,
    ports: [],
  };
  const hub = createEventHub({
    clock: systemClock,
    generation: () => 1,
    sequence: { load: () => 0, reserve: () => undefined },
  });
  const events: AgentEvent[] = [];
  hub.subscribe({ onEvent: (event) => events.push(event) });
  let asks = 0;
  const idle = createIdle({
    clock: systemClock,
    runClock: options.runClock ?? createRunClock(systemClock),
    random: randomFraction,
    hub,
    config: { idleAfter_ms: options.idleAfter_ms, idleIgnorePorts: options.idleIgnorePorts ?? [] },
    holds: () => world.holds,
    calls: () => world.calls,
    inside: () => world.inside,
    lookInside: async () => undefined,
    suspendState: () => world.suspendState,
    isPrimary: () => world.isPrimary,
    ports: () => world.ports,
    check: () => undefined,
    async suspend(recheck) {
      asks += 1;
      await options.suspend?.(recheck);
    },
    ss: options.ss ?? createSs(options.ssCommand === undefined ? {} : { command: options.ssCommand, deadline_ms: 300 }),
    ...(options.retryMin_ms === undefined ? {} : { retryMin_ms: options.retryMin_ms }),
  });
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await idle[Symbol.asyncDispose]();
  });
  options.begin?.(world);
  idle.start(stop.signal);
  const { idle: row } = taskOperations;
  const { path } = await serveEdge({ idle: row }, idle.handlers);
  return {
    idle,
    world,
    events,
    asks: () => asks,
    publish: (type) => void hub.publish(type),
    async report() {
      return idleStatus.parse((await ask(path, { target: '/v1/idle' })).json);
    },
  };
}
