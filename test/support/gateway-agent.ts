// The agent's gateway alone, behind a real edge on a Unix socket, with a database of its own.
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { createEventHub } from '../../src/agent/events/event-hub.ts';
import type { AuditLink } from '../../src/agent/gateway/audit/audit-request.ts';
import { createGateway, type Gateway } from '../../src/agent/gateway/gateway.ts';
import type { GatewayConfig } from '../../src/agent/gateway/gateway-options.ts';
import { createPartBoard, type PartBoard } from '../../src/agent/parts.ts';
import { storeMigrations } from '../../src/agent/store-migrations.ts';
import { createUpstream, type Upstream } from '../../src/agent/upstream.ts';
import { gatewayOperations } from '../../src/contract/local/gateway.ts';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { Secret } from '../../src/core/secret.ts';
import type { Edge } from '../../src/http/edge.ts';
import { openDatabase, type Sqlite } from '../../src/sqlite/open.ts';
import { serveEdge } from './serve-edge.ts';
import { tempDir } from './temp-dir.ts';

const IDENTITY = { 'remora-generation': '1', 'remora-incarnation': 'ab'.repeat(16) };
export const SPRITE_TOKEN = 'canary-sprite-token-4711';

export interface GatewayAgent {
  readonly path: string;
  /** The directory of its databases. */
  readonly dir: string;
  readonly gateway: Gateway;
  readonly board: PartBoard;
  readonly db: Sqlite;
  readonly upstream: Upstream;
  readonly edge: Edge;
  /** Every log line and every event, as text. */
  readonly written: () => string;
  readonly events: readonly { readonly type: string }[];
  stop(): void;
}

export interface GatewayAgentOptions extends Partial<GatewayConfig> {
  readonly databasePath?: string;
  readonly clock?: Clock;
  readonly gate?: () => Promise<void>;
  readonly identity?: () => Readonly<Record<string, string>>;
  readonly auditLink?: AuditLink;
  /** Opened before the platform has said anything: it does not answer. */
  readonly early?: boolean;
}

export async function openGatewayAgent(
  baseUrl: string | undefined,
  more: GatewayAgentOptions = {},
): Promise<GatewayAgent> {
  const {
    databasePath = join(tempDir(), 'agent.db'),
    clock = systemClock,
    gate,
    identity = () => IDENTITY,
    auditLink,
    early = gate !== undefined,
    ...config
  } = more;
  const { db } = openDatabase(databasePath, { migrations: storeMigrations });
  const lines: string[] = [];
  const events: { type: string }[] = [];
  const settled = Promise.withResolvers<void>();
  const board = createPartBoard(clock, () => {
    if (board.statuses().gateway.state !== 'starting') settled.resolve();
  });
  const hub = createEventHub({
    clock,
    generation: () => 1,
    sequence: { load: () => 0, reserve: () => undefined },
  });
  hub.subscribe({
    onEvent(event, json) {
      events.push(event);
      lines.push(json);
    },
  });
  const upstream = createUpstream();
  const gateway = await createGateway({
    clock,
    random: () => 0.5,
    hub,
    part: board.part('gateway'),
    db,
    upstream,
    log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
    config: {
      baseUrl,
      token: new Secret(SPRITE_TOKEN),
      sprite: 'dev-1',
      socket: '/run/remora/remora.sock',
      stateDir: dirname(databasePath),
      policyMaxAge_ms: 600_000,
      policyRefresh_ms: 60_000,
      bodyCap_bytes: 1_000_000,
      headersTimeout_ms: 600_000,
      idleTimeout_ms: 0,
      websocketIdle_ms: 600_000,
      targetCap_bytes: 8_192,
      callsPerSecond: 1_000_000,
      callsInFlight: 256,
      logMaxAge_ms: 3_600_000,
      ...config,
    },
    identity,
    ...(gate === undefined ? {} : { gate }),
    ...(auditLink === undefined ? {} : { auditLink }),
  });
  const served = await serveEdge(gatewayOperations, gateway.handlers);
  const stopping = new AbortController();
  gateway.start(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    db.close();
  });
  // A call waits for the first policies too, but only for two seconds.
  if (!early) await settled.promise;
  return {
    path: served.path,
    dir: dirname(databasePath),
    gateway,
    board,
    db,
    upstream,
    edge: served.edge,
    written: () => [...lines, ...served.log.map((record) => JSON.stringify(record))].join('\n'),
    events,
    stop: () => stopping.abort(),
  };
}
