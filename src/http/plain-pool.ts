// The connections of HTTP/1.1 to one origin, for plain calls: kept open between calls, as many as there are calls at once. A connection
// carries one call at a time, and another one only after a whole turn of the event loop: bytes that nobody asked for are seen before.
import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import { AnswerFault } from '../core/http/answer-fault.ts';
import { withoutBrackets } from '../core/without-brackets.ts';
import { ConnectionDeadlines } from './connection-deadlines.ts';
import { PlainCall } from './plain-call.ts';
import { type ConnectionOwner, PlainConnection } from './plain-connection.ts';
import { toPlainRequest } from './plain-request.ts';

/** A connection is given up this long before the upstream does. */
const EARLY_MS = 2_000;
const KEPT_MAX_MS = 600_000;
const READ_BYTES = 64 * 1024;

const CONNECTION = Symbol('plain connection');

interface Carrier {
  [CONNECTION]?: PlainConnection;
}

let bench: Buffer | undefined;

/** The options of a connector for these connections: all of them read into the same memory. */
export function readTogether() {
  bench ??= Buffer.allocUnsafeSlow(READ_BYTES);
  return {
    onread: {
      buffer: bench,
      callback(this: Carrier, read_bytes: number, bytes: Uint8Array): boolean {
        return this[CONNECTION]?.onRead((bytes as Buffer).subarray(0, read_bytes)) ?? false;
      },
    },
  };
}

export interface PlainPoolOptions {
  readonly origin: string;
  /** Made with `readTogether`. */
  readonly connect: buildConnector.connector;
  /** How long a connection stays open without a call, where the upstream says nothing else. */
  readonly keepAlive_ms: number;
  readonly headersTimeout_ms: number;
  readonly bodyTimeout_ms: number;
  /** A connection broke while it was in use, or what it brought was no answer. */
  readonly onFailure: (call: PlainCall, error: Error) => void;
  readonly onHead: (call: PlainCall, status: number, headers: readonly string[]) => void;
}

export class PlainPool implements ConnectionOwner {
  readonly #options: PlainPoolOptions;
  readonly #url: URL;
  readonly #all = new Set<PlainConnection>();
  readonly #deadlines = new ConnectionDeadlines(this.#all);
  #idle: PlainConnection[] = [];
  #rested: PlainConnection[] = [];
  #waiting: PlainCall[] = [];
  readonly #dialling = new Set<PlainCall>();
  #isDue = false;
  /** Why no more calls are taken. */
  #ending: Error | undefined;
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(options: PlainPoolOptions) {
    this.#options = options;
    this.#url = new URL(options.origin);
  }

  /** No connection is open, and no call is under way. */
  get isEmpty(): boolean {
    return this.#all.size === 0 && this.#waiting.length === 0 && this.#dialling.size === 0;
  }

  /** False for a call that is not plain, of which nothing was done. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.begin(options, handler) !== undefined;
  }

  /** Does what `dispatch` does, and gives the call. Undefined for one that is not plain. */
  begin(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): PlainCall | undefined {
    const request = toPlainRequest(this.#url.host, options);
    if (request === undefined) return undefined;
    const call = new PlainCall(options, request, handler, {
      headersTimeout_ms: options.headersTimeout ?? this.#options.headersTimeout_ms,
      bodyTimeout_ms: options.bodyTimeout ?? this.#options.bodyTimeout_ms,
    });
    if (this.#ending === undefined) {
      this.#waiting.push(call);
      this.#arrange();
    } else call.fail(this.#ending);
    return call;
  }

  /** Takes no more calls. Resolves when those that it has are over. */
  close(): Promise<void> {
    this.#ending ??= new AnswerFault('UND_ERR_CLOSED', 'the connections are being closed');
    this.#ended ??= Promise.withResolvers<void>();
    for (const connection of [...this.#idle, ...this.#rested]) connection.drop();
    this.#checkEnd();
    return this.#ended.promise;
  }

  /** Closes all connections, and fails the calls with `error`. */
  destroy(error: Error): void {
    this.#ending = error;
    this.#deadlines.stop();
    const calls = [...this.#waiting, ...this.#dialling];
    this.#waiting = [];
    this.#dialling.clear();
    for (const connection of [...this.#all]) connection.end(error);
    for (const call of calls) call.fail(error);
    this.#checkEnd();
  }

  onRest(connection: PlainConnection, told_ms: number | undefined): void {
    const { keepAlive_ms } = this.#options;
    const kept_ms = told_ms === undefined ? keepAlive_ms : Math.min(told_ms - EARLY_MS, KEPT_MAX_MS);
    if (kept_ms <= 0 || this.#ending !== undefined) {
      connection.drop();
      return;
    }
    connection.restFor(kept_ms);
    this.#rested.push(connection);
    this.#arrange();
  }

  onGone(connection: PlainConnection): void {
    this.#all.delete(connection);
    this.#checkEnd();
  }

  onFailure(call: PlainCall, error: Error): void {
    this.#options.onFailure(call, error);
  }

  onHead(call: PlainCall, status: number, headers: readonly string[]): void {
    this.#options.onHead(call, status, headers);
  }

  onDue(due_ms: number): void {
    this.#deadlines.add(due_ms);
  }

  /** What comes in a turn goes out at its end, over connections that rested before it. */
  #arrange(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isDue = false;
    const calls = this.#waiting;
    if (calls.length > 0) this.#waiting = [];
    for (const call of calls) this.#start(call);
    for (const connection of this.#rested) if (!connection.isGone) this.#idle.push(connection);
    this.#rested = [];
  };

  #start(call: PlainCall): void {
    if (call.request.isLone) {
      this.#dial(call);
      return;
    }
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (!connection.isOpen) continue;
      this.#carry(connection, call);
      return;
    }
    this.#dial(call);
  }

  #carry(connection: PlainConnection, call: PlainCall): void {
    if (!connection.send(call)) this.onRest(connection, undefined);
  }

  #dial(call: PlainCall): void {
    const { protocol, host, hostname, port } = this.#url;
    this.#dialling.add(call);
    const to = { protocol, host, port, hostname: withoutBrackets(hostname) };
    this.#options.connect(to, (...[error, socket]) => {
      const isWanted = this.#dialling.delete(call);
      if (error !== null) {
        if (isWanted) call.fail(error);
        this.#checkEnd();
      } else if (isWanted) this.#carry(this.#follow(socket), call);
      else socket.destroy();
    });
  }

  #follow(socket: Socket & Carrier): PlainConnection {
    // TLS reads into memory of its own.
    const connection = new PlainConnection(socket, this, this.#url.protocol === 'https:' ? 'own' : 'shared');
    socket[CONNECTION] = connection;
    this.#all.add(connection);
    return connection;
  }

  #checkEnd(): void {
    if (this.isEmpty) this.#ended?.resolve();
  }
}
