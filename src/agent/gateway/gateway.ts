// Puts the gateway of the agent together: the log, the tokens for the loopback listener, and, when its settings name a platform, what
// works with that.
import { join } from 'node:path';
import type { gatewayOperations } from '../../contract/local/gateway.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import { type Capability, createCapabilityTokens } from '../access/capability-tokens.ts';
import { createAccessRefusals, type OnAccessRefusal } from './access-refusals.ts';
import { createAuditLog, LOG_MAX_ROWS } from './audit/audit-log.ts';
import { createAuditThread } from './audit/audit-thread.ts';
import { type CallCounts, createCallMetrics } from './call-metrics.ts';
import type { GatewayCaller, GatewayOptions } from './gateway-options.ts';
import { toGatewayPlatform, whyOff } from './gateway-platform.ts';
import type { CallTally } from './open-calls.ts';
import type { PolicyDocument } from './policies/policy-snapshot.ts';
import { createTokenHandlers } from './token-handlers.ts';
import type { WorkingGateway, WorkingHandlers } from './working-gateway.ts';

/** How long the records of abandoned calls are waited for: the end of the process comes no later. */
const ABANDON_MS = 3_000;

export interface Gateway extends AsyncDisposable {
  readonly handlers: Handlers<typeof gatewayOperations, GatewayCaller | undefined>;
  /** Reads the stored policies and fetches newer ones until `signal`. `loopback` is `host:port` of the loopback listener, if there is one. */
  start(signal: AbortSignal, loopback?: string): void;
  /** Call it when a resume was noticed. */
  onResumed(): void;
  /** Resolves when the calls that a recovery has held up are over, and after `limit_ms` at the latest. */
  answered(limit_ms: number): Promise<void>;
  /** Fetches the policies again; resolves when the fetch has ended, whatever came of it. */
  recover(): Promise<void>;
  /** Called before the machine is suspended: writes the log and ends its thread, because a snapshot holds all memory in use. */
  settle(): Promise<void>;
  /** Ends every call with `reason`, and writes their records if the disk answers soon. */
  abandon(reason: RemoraError): Promise<void>;
  /** How many calls are being forwarded. */
  openStreams(): number;
  /** Calls in flight by connector, and how many have come so far. */
  calls(): CallTally;
  /** Counters since the start, for metrics. */
  callCounts(): CallCounts;
  /** What the platform says of this sprite. Rejects when it has not said anything, and cannot be asked. */
  ownSprite(): Promise<PolicyDocument['sprite']>;
  /** The address of this sprite as the platform shows it. */
  spriteUrl(): string | undefined;
  /** What a token of the loopback listener opens; undefined for one that is unknown or expired. */
  verifyToken(token: string): Capability | undefined;
  /** Called for each call that the authenticator refused. */
  readonly onAccessRefusal: OnAccessRefusal;
}

/** Loads what works with a platform when the settings name one. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { clock, config, log, part } = options;
  const path = join(config.stateDir, 'gateway-log.db');
  let working: WorkingGateway | undefined;
  const audit = createAuditLog({
    link: options.auditLink ?? createAuditThread({ path, maxRows: LOG_MAX_ROWS, maxAge_ms: config.logMaxAge_ms }),
    clock,
    onProblem: () => working?.status.show(),
  });
  const metrics = createCallMetrics();
  const tokens = createCapabilityTokens(options.db, clock, (err) => log.warn({ err }, 'a gateway token was not kept'));
  let tcpAddress: string | undefined;
  const platform = toGatewayPlatform(config);
  if (platform !== undefined) {
    const { createWorkingGateway } = await import('./working-gateway.ts');
    const local = () => ({ socket: config.socket, tcp: tcpAddress });
    working = createWorkingGateway({ ...options, platform, audit, metrics, local });
  }

  function need(): WorkingGateway {
    if (working === undefined) throw notConfigured(config);
    return working;
  }

  return {
    handlers: {
      ...createTokenHandlers({
        hasConnector: (id) => need().policies.snapshot?.connectors.has(id),
        audit,
        tokens,
        mayDraw: options.mayDraw ?? (async () => undefined),
      }),
      ...(working?.handlers ?? toOffHandlers(config)),
    },
    start(signal, loopback) {
      tcpAddress = loopback;
      tokens.load();
      if (working === undefined) {
        part.set('off', whyOff(config));
        return;
      }
      working.status.show();
      working.policies.start(signal);
    },
    onResumed: () => working?.calls.held.forgetPassed(),
    async answered(limit_ms) {
      await working?.calls.held.answered(limit_ms);
    },
    async recover() {
      tokens.expire();
      working?.calls.endTunnels();
      await working?.policies.refreshNow();
    },
    settle: () => audit.settle(),
    async abandon(reason) {
      await working?.calls.abandon(reason);
      await audit.settle(ABANDON_MS);
    },
    openStreams: () => working?.calls.size ?? 0,
    calls: () => working?.calls.tally() ?? { open: new Map(), total: 0 },
    callCounts: metrics.counts,
    async ownSprite() {
      const { policies } = need();
      return (policies.snapshot ?? (await policies.usable())).document.sprite;
    },
    spriteUrl: () => working?.policies.snapshot?.document.sprite.url,
    verifyToken: (token) => tokens.verify(token),
    onAccessRefusal: createAccessRefusals({ audit, metrics, now_ms: clock.mono_ms }),
    async [Symbol.asyncDispose]() {
      working?.calls[Symbol.dispose]();
      tokens[Symbol.dispose]();
      await audit[Symbol.asyncDispose]();
    },
  };
}

function notConfigured(config: GatewayOptions['config']): RemoraError {
  return new RemoraError('not_configured', `the gateway is off, because ${whyOff(config)}`);
}

function toOffHandlers(config: GatewayOptions['config']): WorkingHandlers {
  const off = (): never => {
    throw notConfigured(config);
  };
  return {
    listGateway: off,
    explainGateway: off,
    listConnections: off,
    readConnection: off,
    listProviders: off,
    gatewayGuide: off,
    gateway: off,
  };
}
