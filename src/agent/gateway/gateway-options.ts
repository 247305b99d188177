// What the gateway of the agent is made of: its settings, and what the other parts of the agent give it.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Secret } from '../../core/secret.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import type { AuditLink } from './audit/audit-request.ts';

export interface GatewayConfig {
  readonly baseUrl: string | undefined;
  readonly token: Secret | undefined;
  readonly sprite: string | undefined;
  /** Path of the local socket, for the command lines that are shown. */
  readonly socket: string;
  /** Directory of gateway-log.db. */
  readonly stateDir: string;
  readonly policyMaxAge_ms: number;
  readonly policyRefresh_ms: number;
  readonly bodyCap_bytes: number;
  /** How long a caller may pause within a request body; a minute when absent. */
  readonly bodyIdle_ms?: number;
  readonly targetCap_bytes: number;
  /** Calls that each connector admits in a second. */
  readonly callsPerSecond: number;
  readonly callsInFlight: number;
  readonly logMaxAge_ms: number;
  readonly headersTimeout_ms: number;
  /** 0 = no limit, for `idleTimeout_ms` and `websocketIdle_ms`. */
  readonly idleTimeout_ms: number;
  readonly websocketIdle_ms: number;
}

export interface GatewayOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: EventHub;
  readonly part: Part;
  readonly db: Sqlite;
  readonly upstream: Upstream;
  readonly log: Log;
  readonly config: GatewayConfig;
  /** Headers that tell the platform which incarnation of which machine is calling. */
  readonly identity: () => Readonly<Record<string, string>>;
  /**
   * Waits, bounded, while the machine is being suspended or resumed; rejects with the RemoraError to answer with. Undefined: nobody
   * has to wait.
   */
  readonly gate?: () => Promise<void> | undefined;
  /** The gate for requests that the agent makes of its own accord: after a resume they wait for this machine's time in the spread. */
  readonly refreshGate?: () => Promise<void>;
  /** Called when the platform was asked again, because something has changed there, after a resume, or once in a while. */
  readonly onAsked?: () => void;
  /** Resolves when random values drawn here differ from those that a copy of this machine draws; absent = they always do. */
  readonly mayDraw?: () => Promise<void>;
  /** Called in each turn of the event loop that works for a call, so that a long turn is attributed to it. */
  readonly onTurn?: () => void;
  /** Replaces the thread that writes the log of calls, for tests. */
  readonly auditLink?: AuditLink;
}

export interface GatewayCaller {
  /** Ends the calls of this caller with its reason. */
  readonly until?: AbortSignal;
}
