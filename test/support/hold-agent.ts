// The holds of an agent and the answer to why it is awake, behind a real Unix socket.
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createEventHub } from '../../src/agent/events/event-hub.ts';
import { createHoldHandlers } from '../../src/agent/holds/hold-handlers.ts';
import { createHolds, type Holds } from '../../src/agent/holds/holds.ts';
import { createIdle } from '../../src/agent/idle/idle.ts';
import { storeMigrations } from '../../src/agent/store-migrations.ts';
import { taskOperations } from '../../src/contract/local/tasks.ts';
import { systemClock } from '../../src/core/clock.ts';
import { noInsideWork } from '../../src/core/idle/inside-work.ts';
import { createRunClock } from '../../src/core/run-clock.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { openDatabase } from '../../src/sqlite/open.ts';
import { silentLog } from './silent-log.ts';

export interface HoldAgent {
  readonly holds: Holds;
  /** Names of the holds in force. */
  names(): string[];
  /** Cuts every connection and serves no more. */
  stop(): Promise<void>;
}

export async function startHoldAgent(socketPath: string, stateDir: string): Promise<HoldAgent> {
  const { db } = openDatabase(join(stateDir, 'agent.db'), { migrations: storeMigrations });
  const clock = systemClock;
  const runClock = createRunClock(clock);
  const hub = createEventHub({ clock, generation: () => 0, sequence: { load: () => 0, reserve: () => undefined } });
  const holds = createHolds({ clock, runClock, hub, db, log: silentLog, check: () => undefined });
  const idle = createIdle({
    clock,
    runClock,
    random: randomFraction,
    hub,
    config: { idleAfter_ms: undefined, idleIgnorePorts: [] },
    holds: holds.inForce,
    calls: () => ({ open: new Map(), total: 0 }),
    inside: () => noInsideWork,
    lookInside: async () => undefined,
    suspendState: () => 'awake',
    isPrimary: () => undefined,
    ports: () => [],
    check: () => undefined,
    suspend: async () => undefined,
  });
  const edge = createEdge({
    operations: taskOperations,
    handlers: { ...createHoldHandlers(holds), ...idle.handlers },
    authenticate: () => undefined,
    log: silentLog,
    checkAnswers: true,
  });
  const listening = await listenOnPath(edge.createServer('socket'), { path: socketPath, mode: 0o600 });
  holds.start();
  let isStopped = false;

  async function stop(): Promise<void> {
    if (isStopped) return;
    isStopped = true;
    await edge.drain(0);
    listening[Symbol.dispose]();
    await idle[Symbol.asyncDispose]();
    holds[Symbol.dispose]();
    db.close();
  }
  onTestFinished(stop);
  return { holds, names: () => holds.list().map(({ name }) => name), stop };
}
