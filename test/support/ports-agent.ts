// The ports part of an agent behind a real Unix socket, with real tables.
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type AgentEvent, createEventHub } from '../../src/agent/events/event-hub.ts';
import { createPartBoard, type PartBoard } from '../../src/agent/parts.ts';
import { createPorts, type Ports, type PortsConfig } from '../../src/agent/ports/ports.ts';
import { storeMigrations } from '../../src/agent/store-migrations.ts';
import { createUpstream } from '../../src/agent/upstream.ts';
import { portOperations } from '../../src/contract/local/ports.ts';
import { systemClock } from '../../src/core/clock.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { openDatabase, type Sqlite } from '../../src/sqlite/open.ts';
import { serveEdge } from './serve-edge.ts';
import { silentLog } from './silent-log.ts';
import { tempDir } from './temp-dir.ts';

export interface PortsAgent {
  readonly ports: Ports;
  readonly socketPath: string;
  readonly board: PartBoard;
  readonly db: Sqlite;
  /** Everything it has published, oldest first. */
  readonly events: readonly AgentEvent[];
  /** How many streams are open. */
  streams(): number;
  /** Ends its loops and closes its tables, as a stop of the daemon would; the end of the test does so too. */
  stop(): Promise<void>;
}

export interface PortsAgentOptions {
  readonly config?: PortsConfig;
  /** The directory of an earlier agent, to be used again. */
  readonly stateDir?: string;
  /** Leaves its tables out of the database. */
  readonly withoutTables?: boolean;
  readonly mayGoOut?: (signal: AbortSignal) => Promise<void>;
}

export async function startPortsAgent(options: PortsAgentOptions = {}): Promise<PortsAgent> {
  const { db } = openDatabase(join(options.stateDir ?? tempDir(), 'agent.db'), {
    migrations: options.withoutTables ? [] : storeMigrations,
  });
  const board = createPartBoard(systemClock);
  const hub = createEventHub({
    clock: systemClock,
    generation: () => 1,
    sequence: { load: () => 0, reserve: () => undefined },
  });
  const events: AgentEvent[] = [];
  hub.subscribe({ onEvent: (event) => events.push(event) });
  const upstream = createUpstream();
  const ports = createPorts({
    clock: systemClock,
    random: randomFraction,
    hub,
    part: board.part('ports'),
    noticesPart: board.part('notices'),
    db,
    upstream,
    log: silentLog,
    config: { sprite: 'dev-1', ...options.config },
    identity: () => ({ 'remora-generation': '1', 'remora-incarnation': 'ab'.repeat(16) }),
    ...(options.mayGoOut === undefined ? {} : { mayGoOut: options.mayGoOut }),
  });
  const abort = new AbortController();
  await ports.start(abort.signal);

  let stopped: Promise<void> | undefined;
  async function end(): Promise<void> {
    abort.abort();
    await ports[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    db.close();
  }
  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  onTestFinished(stop);
  const { path: socketPath, edge } = await serveEdge(portOperations, ports.handlers);
  return { ports, socketPath, board, db, events, streams: () => edge.streams, stop };
}
