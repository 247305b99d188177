// A WebSocket that passes through: bytes go both ways with back-pressure, the end of one side is the end of the other, and
// Remora itself ends a tunnel by a close frame. Frames are counted and not parsed: a `ws` on both ends would hold whole
// messages, mask each frame again and come between the extensions that both sides agreed on.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { RemoraError } from '../core/remora-error.ts';
import { randomBytes } from '../core/urandom.ts';
import { GOING_AWAY, toCloseCode, toCloseFrame } from '../core/websocket/close-frame.ts';
import { FrameTrack } from '../core/websocket/frame-track.ts';
import { Backlog } from './backlog.ts';
import type { CutSignal } from './cut-signal.ts';
import { TCP_KEEP_ALIVE_MS } from './tcp-keep-alive.ts';

/**
 * The tunnel adds nothing to a healthy stream, so that it sends no pings: TCP finds a dead peer, this limit finds an idle one.
 */
export const TUNNEL_IDLE_MS = 600_000;
/** How long the present frame may take to end, so that a close frame can follow it. */
const FRAME_REST_MS = 500;
/** How long the last bytes of one side may take to reach the other. */
const FLUSH_MS = 30_000;
/** How long either side has to hang up after it got the close frame. */
const LINGER_MS = 2_000;
const TIMER_CAP_MS = 2 ** 31 - 1;

/** Gets the bytes as they pass. It must neither keep nor change nor throw. */
export interface TunnelObserver {
  fromCaller?(chunk: Buffer): void;
  fromUpstream?(chunk: Buffer): void;
}

export interface TunnelEnds {
  readonly caller: Socket;
  /** Bytes that the caller sent before the switch. */
  readonly early: Buffer;
  readonly upstream: Duplex;
  /** Each ends the tunnel; the reason is a RemoraError. */
  readonly signals: readonly CutSignal[];
  /** How long the tunnel may be without a byte either way; 0 = no limit. */
  readonly idle_ms: number;
  readonly observer?: TunnelObserver | undefined;
}

/** `complete`: one side sent a close frame. `cut`: Remora ended the tunnel, and `reason` says why. */
export interface TunnelOutcome {
  readonly ended: 'complete' | 'caller_gone' | 'upstream_broke' | 'cut';
  readonly reason?: RemoraError;
  readonly request_bytes: number;
  readonly response_bytes: number;
}

/** Resolves when both connections are closed. Both must be switched already. */
export function runTunnel(ends: TunnelEnds): Promise<TunnelOutcome> {
  return new Promise((resolve) => new Tunnel(ends, resolve).start());
}

/**
 * open ──one side ends──▶ ending ──both closed──▶ over
 *  └─cut──▶ finishing ──end of the frame──▶ ending
 */
class Tunnel {
  readonly #caller: Socket;
  readonly #upstream: Duplex;
  readonly #ends: TunnelEnds;
  readonly #resolve: (outcome: TunnelOutcome) => void;
  readonly #toCaller: Backlog;
  readonly #toUpstream: Backlog;
  readonly #up = new FrameTrack();
  readonly #down = new FrameTrack();
  #state: 'open' | 'finishing' | 'ending' = 'open';
  #first: 'caller_gone' | 'upstream_broke' | undefined;
  #reason: RemoraError | undefined;
  #request_bytes = 0;
  #response_bytes = 0;
  #idle: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor(ends: TunnelEnds, resolve: (outcome: TunnelOutcome) => void) {
    this.#caller = ends.caller;
    this.#upstream = ends.upstream;
    this.#toCaller = new Backlog(ends.caller, 0, () => ends.upstream.resume());
    this.#toUpstream = new Backlog(ends.upstream, 0, () => ends.caller.resume());
    this.#ends = ends;
    this.#resolve = resolve;
  }

  start(): void {
    const { early, idle_ms, signals } = this.#ends;
    for (const socket of [this.#caller, this.#upstream]) {
      if (socket instanceof Socket) socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS).setNoDelay(true).setTimeout(0);
      socket.on('error', () => undefined);
    }
    if (idle_ms > 0) {
      const quiet = new RemoraError('timeout', `nothing was sent for ${idle_ms} ms`);
      this.#idle = setTimeout(() => this.#cut(quiet), Math.min(idle_ms, TIMER_CAP_MS));
    }
    this.#caller.on('data', (chunk: Buffer) => this.#onCallerData(chunk));
    this.#upstream.on('data', (chunk: Buffer) => this.#onUpstreamData(chunk));
    this.#caller.on('drain', () => this.#upstream.resume());
    this.#upstream.on('drain', () => this.#caller.resume());
    this.#caller.once('end', () => this.#onEnd('caller_gone', this.#upstream));
    this.#upstream.once('end', () => this.#onEnd('upstream_broke', this.#caller));
    this.#caller.once('close', () => this.#onLost('caller_gone', this.#upstream));
    this.#upstream.once('close', () => this.#onLost('upstream_broke', this.#caller));
    for (const socket of [this.#caller, this.#upstream]) socket.once('close', () => this.#onClosed());
    for (const signal of signals) signal.addEventListener('abort', this.#onSignal);
    this.#caller.resume();
    if (early.length > 0) this.#onCallerData(early);
    if (this.#caller.destroyed) this.#onLost('caller_gone', this.#upstream);
    this.#onSignal();
  }

  #onCallerData(chunk: Buffer): void {
    if (this.#state === 'finishing' || this.#reason !== undefined || this.#upstream.writableEnded) return;
    this.#idle?.refresh();
    this.#request_bytes += chunk.length;
    this.#up.push(chunk);
    this.#ends.observer?.fromCaller?.(chunk);
    if (!this.#toUpstream.write(chunk)) this.#caller.pause();
  }

  #onUpstreamData(chunk: Buffer): void {
    if (this.#caller.writableEnded) return;
    this.#idle?.refresh();
    if (this.#state === 'finishing') {
      const rest = this.#down.pushToBoundary(chunk);
      this.#send(chunk.subarray(0, rest ?? chunk.length));
      if (rest !== undefined) this.#sendClose();
      return;
    }
    this.#down.push(chunk);
    this.#send(chunk);
  }

  #send(chunk: Buffer): void {
    this.#response_bytes += chunk.length;
    this.#ends.observer?.fromUpstream?.(chunk);
    if (!this.#toCaller.write(chunk)) this.#upstream.pause();
  }

  /** One side has sent its last byte: bytes on their way to the other side still arrive. */
  #onEnd(who: 'caller_gone' | 'upstream_broke', other: Duplex): void {
    this.#first ??= who;
    if (this.#state === 'finishing') this.#destroy();
    else this.#end(FLUSH_MS);
    other.end(() => this.#hurry());
    other.resume();
  }

  /** A side closed, without an end or after it. In the first case the waiting bytes are worthless. */
  #onLost(who: 'caller_gone' | 'upstream_broke', other: Duplex): void {
    if (!other.writableEnded) {
      this.#first ??= who;
      other.destroy();
    }
    this.#end(LINGER_MS);
  }

  readonly #onSignal = (): void => {
    const aborted = this.#ends.signals.find((signal) => signal.aborted);
    if (aborted === undefined) return;
    const reason: unknown = aborted.reason;
    this.#cut(reason instanceof RemoraError ? reason : new RemoraError('shutting_down', 'the connection was cut'));
  };

  #cut(reason: RemoraError): void {
    if (this.#state !== 'open') return;
    this.#state = 'finishing';
    this.#reason = reason;
    clearTimeout(this.#idle);
    this.#caller.resume();
    if (this.#down.atBoundary) this.#sendClose();
    else this.#deadline = setTimeout(() => this.#destroy(), FRAME_REST_MS);
  }

  #sendClose(): void {
    const { code, message } = this.#reason ?? { code: 'shutting_down' as const, message: '' };
    this.#caller.end(toCloseFrame(toCloseCode(code), `${code}: ${message}`));
    if (this.#up.atBoundary) this.#upstream.end(toCloseFrame(GOING_AWAY, '', randomBytes(4)));
    else this.#upstream.destroy();
    this.#upstream.resume();
    this.#end(LINGER_MS);
  }

  #end(limit_ms: number): void {
    if (this.#state === 'ending') return;
    this.#state = 'ending';
    clearTimeout(this.#idle);
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#destroy(), limit_ms);
  }

  #hurry(): void {
    clearTimeout(this.#deadline);
    if (!this.#caller.closed || !this.#upstream.closed) {
      this.#deadline = setTimeout(() => this.#destroy(), LINGER_MS);
    }
  }

  #destroy(): void {
    this.#caller.destroy();
    this.#upstream.destroy();
  }

  #onClosed(): void {
    if (!this.#caller.closed || !this.#upstream.closed) return;
    clearTimeout(this.#idle);
    clearTimeout(this.#deadline);
    for (const signal of this.#ends.signals) signal.removeEventListener('abort', this.#onSignal);
    const counts = { request_bytes: this.#request_bytes, response_bytes: this.#response_bytes };
    if (this.#reason !== undefined) this.#resolve({ ended: 'cut', reason: this.#reason, ...counts });
    else if (this.#up.closing || this.#down.closing) this.#resolve({ ended: 'complete', ...counts });
    else this.#resolve({ ended: this.#first ?? 'caller_gone', ...counts });
  }
}
