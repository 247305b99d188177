// Reads the header of the PROXY protocol from each connection of a listener before the server gets it, and keeps who has sent what for as long
// as the connection is open. Only balancers that are trusted may connect.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../../core/log.ts';
import { BoundedLines } from './bounded-lines.ts';
import { type ProxySource, parseProxyHeader } from './parse-proxy-header.ts';

export interface ProxySendersOptions {
  /** Whether this address may say who has connected. */
  readonly isTrusted: (address: string | undefined) => boolean;
  /** The server speaks TLS. */
  readonly isSecure: boolean;
  readonly log: Pick<Log, 'warn'>;
  /** Ends connections that have not said it yet. */
  readonly signal: AbortSignal;
  /** How long a connection may take to say it. */
  readonly deadline_ms?: number;
}

export type ProxySender = ProxySource | 'local' | 'unknown';

const DEADLINE_MS = 5_000;

export class ProxySenders {
  readonly #options: ProxySendersOptions;
  readonly #senders = new WeakMap<Socket, ProxySender>();
  /** The keys are address and port of the balancer, which the socket that speaks TLS over the connection has as well. */
  readonly #open = new Map<string, ProxySender>();
  readonly #refusals: BoundedLines;

  constructor(options: ProxySendersOptions) {
    this.#options = options;
    this.#refusals = new BoundedLines({
      log: options.log,
      first: 'a connection to the proxy was refused: it must begin with a PROXY header',
      all: 'connections without a PROXY header were refused',
    });
  }

  /** Comes between the listener and all that has been told of its connections so far. */
  guard(server: Server): void {
    const accept = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      this.#receive(socket, () => {
        for (const listener of accept) listener.call(server, socket);
      });
    });
    server.prependListener('secureConnection', (socket: Socket) => {
      this.#senders.set(socket, this.#open.get(toKey(socket)) ?? 'unknown');
    });
  }

  /** `socket`: as the server has it. */
  senderOf(socket: Socket): ProxySender {
    return this.#senders.get(socket) ?? 'unknown';
  }

  #receive(socket: Socket, accept: () => void): void {
    const { isTrusted, isSecure, signal, deadline_ms = DEADLINE_MS } = this.#options;
    if (!isTrusted(socket.remoteAddress)) {
      this.#refuse(socket, 'it may not say who has connected');
      return;
    }
    let bytes = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const header = parseProxyHeader(bytes);
      if (header.type === 'part') return;
      stop();
      if (header.type === 'bad') {
        this.#refuse(socket, header.why);
        return;
      }
      this.#keep(socket, header.from);
      const rest = bytes.subarray(header.length_bytes);
      if (isSecure) {
        socket.pause();
        if (rest.length > 0) socket.unshift(rest);
        accept();
        return;
      }
      accept();
      // The server counts the bytes as it does those that it reads itself.
      if (rest.length > 0) socket.push(rest);
    };
    const onLate = () => this.#refuse(socket, 'no header came in time');
    const onEnd = () => this.#refuse(socket, 'it ended before a header');
    const onStop = () => socket.destroy();
    const late = setTimeout(onLate, deadline_ms);
    const stop = () => {
      clearTimeout(late);
      signal.removeEventListener('abort', onStop);
      socket.off('data', onData).off('end', onEnd).off('close', stop).off('error', ignore);
    };
    signal.addEventListener('abort', onStop, { once: true });
    socket.on('data', onData).once('end', onEnd).once('close', stop).on('error', ignore);
  }

  #keep(socket: Socket, from: ProxySender): void {
    this.#senders.set(socket, from);
    if (!this.#options.isSecure) return;
    const key = toKey(socket);
    this.#open.set(key, from);
    socket.once('close', () => this.#open.delete(key));
  }

  #refuse(socket: Socket, why: string): void {
    socket.on('error', ignore).resetAndDestroy();
    this.#refusals.note({ address: socket.remoteAddress, why });
  }
}

function toKey({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
