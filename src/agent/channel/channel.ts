// Keeps the channel to the platform: dials it, serves it, and dials again when it is gone. After a resume the earlier connection is
// dead without an error, so that it is dropped at once and dialled again in the recovery.
//
//   off        the platform, the token, the application or the machine is not set
//   waiting ──▶ dialling ──101──▶ open
//      ▲            │refused        │closed
//      └────────────┴───────────────┘      refused for good: only a resume or a restart asks again
import type { Duplex } from 'node:stream';
import { createBackoff } from '../../core/backoff.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Secret } from '../../core/secret.ts';
import type { Part } from '../parts.ts';
import { ChannelRefused } from './channel-refused.ts';
import type { ChannelTarget } from './channel-target.ts';
import type { ChannelAddress, DialOptions } from './dial-channel.ts';
import { FailureLog } from './failure-log.ts';
import { OpenLanes } from './open-lanes.ts';
import type { ServeChannelOptions, ServedChannel } from './serve-channel.ts';
import { StreamCount } from './stream-count.ts';

const DIAL_MS = 10_000;

export interface ChannelOptions {
  readonly clock: Clock;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  readonly log: Log;
  readonly part: Part;
  readonly config: {
    readonly baseUrl: string | undefined;
    readonly token: Secret | undefined;
    readonly app: string | undefined;
    readonly machine: string | undefined;
  };
  /** The headers of this incarnation. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** Resolves when the report of this incarnation has ended: the platform serves a channel to the incarnation that it knows. */
  readonly mayDial: (signal: AbortSignal) => Promise<void>;
  /** Runs right before each TLS handshake, which fails where it answers false. */
  readonly mayHandshake: () => boolean;
  readonly pingInterval_ms?: number;
}

export interface ChannelStatus {
  readonly state: 'off' | 'waiting' | 'dialling' | 'open';
  /** When the open channel was opened; null while there is none. */
  readonly since: string | null;
  /** Open streams, each a call or a connection. */
  readonly streams: number;
  /** How many channels were opened since the start. */
  readonly opened: number;
}

export interface Channel extends AsyncDisposable {
  /** Dials until `signal` aborts. */
  start(signal: AbortSignal, targets: readonly ChannelTarget[]): void;
  /** Closes the connections from before the resume; the result ends the calls that they carry. Nothing is dialled before `recover`. */
  onResumed(): () => void;
  /** Dials at once. Rejects with the reason when that attempt fails; it goes on trying then. */
  recover(): Promise<void>;
  /** Opens a lane that the platform has asked for over the open channel. Rejects with ChannelRefused. */
  dialLane(lane_id: string, signal: AbortSignal): Promise<Duplex>;
  /** `details.channel` of GET /v1/status. */
  status(): ChannelStatus;
}

export function createChannel(options: ChannelOptions): Channel {
  const { clock, log, part } = options;
  const address = toAddress(options.config);
  const backoff = createBackoff({ random: options.random });
  const stop = new AbortController();
  let targets: readonly ChannelTarget[] = [];
  let attempt: AbortController | undefined;
  let timer: NodeJS.Timeout | undefined;
  let open: { readonly session: ServedChannel; readonly since_ms: number } | undefined;
  let opened = 0;
  const streams = new StreamCount();
  const lanes = new OpenLanes();
  const failures = new FailureLog(log);

  /** Returns the session that was open. */
  function leave(): ServedChannel | undefined {
    clearTimeout(timer);
    timer = undefined;
    attempt?.abort();
    attempt = undefined;
    const old = open?.session;
    open = undefined;
    return old;
  }

  const drop = () => leave()?.destroy();

  async function dial(to: ChannelAddress & { readonly token: Secret }): Promise<void> {
    drop();
    if (stop.signal.aborted) return;
    const mine = new AbortController();
    attempt = mine;
    const signal = AbortSignal.any([mine.signal, stop.signal]);
    try {
      await options.mayDial(signal);
      const { serveChannel } = await loadProtocol();
      const socket = await dialAs(options, to, { signal });
      if (attempt !== mine) {
        socket.destroy();
        return;
      }
      attempt = undefined;
      begin(socket, serveChannel);
    } catch (error) {
      if (attempt === mine) onFailed(error);
      if (!isFinal(error)) throw error;
    }
  }

  function begin(socket: Duplex, serve: (socket: Duplex, options: ServeChannelOptions) => ServedChannel): void {
    const own = serve(socket, {
      targets: targets.map((target) => streams.counting(target)),
      ...(options.pingInterval_ms === undefined ? {} : { pingInterval_ms: options.pingInterval_ms }),
      onProved() {
        backoff.reset();
        failures.forget();
      },
      onClose(reason) {
        if (open?.session === own) onClosed(reason, open.since_ms);
      },
    });
    open = { session: own, since_ms: clock.wall_ms() };
    opened += 1;
    part.set('ok');
  }

  function onClosed(reason: string | undefined, since_ms: number): void {
    const lasted_ms = clock.wall_ms() - since_ms;
    open = undefined;
    // One that held for a while proves the platform healthy: the next try is soon.
    if (lasted_ms > DIAL_MS) backoff.reset();
    again(reason ?? 'the platform closed it', undefined);
  }

  function onFailed(error: unknown): void {
    attempt = undefined;
    const { reason, isLast, retryAfter_ms } = failures.note(error);
    if (isLast) part.set('off', `the platform gives this agent no channel: ${reason}`);
    else again(reason, retryAfter_ms);
  }

  function again(reason: string, retryAfter_ms: number | undefined): void {
    if (stop.signal.aborted) return;
    part.set('degraded', `the platform cannot reach into this machine: ${reason}`);
    const delay_ms = backoff.next(retryAfter_ms);
    log.debug({ reason, delay_ms }, 'the channel is dialled again');
    timer = setTimeout(() => void dialOrNothing().catch(() => undefined), delay_ms);
    timer.unref();
  }

  const dialOrNothing = () => (address === undefined ? Promise.resolve() : dial(address));

  return {
    start(signal, given) {
      targets = given;
      signal.addEventListener('abort', () => stop.abort(), { once: true });
      if (address === undefined) part.set('off', 'the platform, the token, the application or the machine is not set');
      else part.set('off', 'the platform has not answered yet');
      dialOrNothing().catch(() => undefined);
    },
    onResumed: () => lanes.cutWith(leave()),
    recover() {
      backoff.reset();
      return dialOrNothing();
    },
    dialLane: (lane_id, signal) => lanes.add(dialAs(options, address, { signal, lane_id })),
    status: () => ({
      state:
        address === undefined ? 'off' : open !== undefined ? 'open' : attempt !== undefined ? 'dialling' : 'waiting',
      since: open === undefined ? null : toDateTime(open.since_ms),
      streams: streams.open,
      opened,
    }),
    async [Symbol.asyncDispose]() {
      stop.abort();
      drop();
    },
  };
}

/** HTTP/2, and what it needs of TLS, take 25 ms and 10 MB, which a machine without a platform does not pay. */
async function loadProtocol() {
  const [dial, serve] = await Promise.all([import('./dial-channel.ts'), import('./serve-channel.ts')]);
  return { ...dial, ...serve };
}

type DialledAddress = ChannelAddress & { readonly token: Secret };

async function dialAs(
  { identity, mayHandshake }: Pick<ChannelOptions, 'identity' | 'mayHandshake'>,
  address: DialledAddress | undefined,
  asked: Pick<DialOptions, 'signal' | 'lane_id'>,
): Promise<Duplex> {
  if (address === undefined) throw new ChannelRefused('the address of the platform is not set');
  const { dialChannel } = await loadProtocol();
  const headers = { ...identity(), authorization: `Bearer ${address.token.reveal()}` };
  return await dialChannel({ ...address, ...asked, headers, mayHandshake, deadline_ms: DIAL_MS });
}

function isFinal(error: unknown): boolean {
  return error instanceof ChannelRefused && error.isFinal;
}

function toAddress({ baseUrl, token, app, machine }: ChannelOptions['config']) {
  if (baseUrl === undefined || token === undefined || app === undefined || machine === undefined) return undefined;
  return { baseUrl, token, app, machine };
}
