// Requests to a port of a machine. Where many come they go over lanes, connections of their own that stay open and carry one request at a
// time; where no lane is free, over streams of the channel. No request waits for a lane.
import type { Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import { joinAnswerChunks } from '../../http/join-answer-chunks.ts';
import { Client as HttpClient } from '../../http/undici.ts';
import { ConnectionsReplaced } from '../../http/upstream-error.ts';
import type { PortLanes } from '../channels/lanes.ts';
import type { LanePlaces } from './lane-places.ts';

export interface LanedCallsOptions {
  /** Those of the channel. */
  readonly lanes: PortLanes;
  /** That of a CONNECT to the port. */
  readonly authority: string;
  /** Over the channel. */
  readonly streams: Dispatcher;
  /** Shared by all machines. */
  readonly places: Pick<LanePlaces, 'take' | 'leave'>;
  /** After so long a lane without a request is closed: an open connection keeps the machine awake. */
  readonly idle_ms: number;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

interface Lane {
  readonly socket: Socket;
  readonly client: Client;
  /** Closes it when no request comes at all. */
  readonly unused: NodeJS.Timeout;
  requests: number;
}

/** So many requests over the channel, close after each other, ask for one lane: a lane takes more work to open than a request. */
const REQUESTS_PER_LANE = 8;
const CLOSE_MS = 1_000;
/** One that ended with fewer requests was not worth it: the program may close each connection. */
const WORTH_REQUESTS = 4;
const NOT_WORTH_MS = 10_000;

export class LanedCalls implements Pick<Dispatcher, 'dispatch'> {
  readonly #given: LanedCallsOptions;
  readonly #open = new Set<Lane>();
  /** The one that was used last is taken first, so that those that are not needed become idle. */
  readonly #free: Lane[] = [];
  #overStreams = 0;
  #last_ms = 0;
  #notBefore_ms = 0;
  #isOpening = false;
  #isClosed = false;

  constructor(given: LanedCallsOptions) {
    this.#given = given;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    // A connection that is switched to another protocol may stay open for days.
    const isSwitched = (options.upgrade ?? false) !== false;
    const lane = isSwitched ? undefined : this.#take();
    if (lane !== undefined) return lane.client.dispatch(options, handler);
    this.#count();
    return this.#given.streams.dispatch(options, handler);
  }

  /** Requests that were taken end as they would. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#free.length = 0;
    const lanes = [...this.#open].map(({ client, socket }) => client.close().finally(() => socket.destroy()));
    await Promise.all([this.#given.streams.close(), ...lanes]);
  }

  #take(): Lane | undefined {
    for (let lane = this.#free.pop(); lane !== undefined; lane = this.#free.pop()) {
      if (!isOver(lane.socket)) {
        clearTimeout(lane.unused);
        lane.requests += 1;
        return lane;
      }
      lane.socket.destroy();
    }
    return undefined;
  }

  /** A request that had to go over the channel. */
  #count(): void {
    const now_ms = this.#given.now_ms();
    if (now_ms - this.#last_ms > CLOSE_MS) this.#overStreams = 0;
    this.#last_ms = now_ms;
    this.#overStreams += 1;
    if (this.#overStreams < REQUESTS_PER_LANE || now_ms < this.#notBefore_ms) return;
    if (this.#isOpening || this.#isClosed || !this.#given.lanes.isOpen || !this.#given.places.take()) return;
    this.#overStreams = 0;
    this.#isOpening = true;
    void this.#openOne();
  }

  async #openOne(): Promise<void> {
    const { lanes, authority, places } = this.#given;
    try {
      const socket = await lanes.open(authority);
      if (this.#isClosed || socket.destroyed) {
        socket.destroy();
        places.leave();
      } else this.#add(socket);
    } catch {
      // The channel carries the requests, and `isOpen` says when to ask again.
      places.leave();
    } finally {
      this.#isOpening = false;
    }
  }

  #add(socket: Socket): void {
    const { idle_ms } = this.#given;
    const unused = setTimeout(() => socket.destroy(), idle_ms);
    const lane = { socket, client: openClient(socket, idle_ms), unused: unused.unref(), requests: 0 };
    this.#open.add(lane);
    socket.once('close', () => this.#onClose(lane));
    lane.client.on('drain', () => {
      if (!this.#isClosed && this.#open.has(lane)) this.#free.push(lane);
    });
    this.#free.push(lane);
  }

  #onClose(lane: Lane): void {
    const { places, now_ms } = this.#given;
    clearTimeout(lane.unused);
    this.#open.delete(lane);
    const at = this.#free.indexOf(lane);
    if (at >= 0) this.#free.splice(at, 1);
    places.leave();
    if (lane.requests < WORTH_REQUESTS) this.#notBefore_ms = now_ms() + NOT_WORTH_MS;
  }
}

/** Closed from inside, or something came that nobody has asked for. */
function isOver(socket: Socket): boolean {
  return socket.destroyed || socket.readableEnded || socket.readableLength > 0;
}

function openClient(socket: Socket, idle_ms: number): Client {
  let unused: Socket | undefined = socket;
  return new HttpClient('http://machine', {
    // undici does not expect a connection before it has asked.
    connect: joinAnswerChunks((_options, callback) => {
      const given = unused;
      unused = undefined;
      if (given === undefined || given.destroyed) {
        setImmediate(callback, new ConnectionsReplaced('the lane is gone'), null);
      } else setImmediate(callback, null, given);
    }),
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idle_ms,
    keepAliveMaxTimeout: idle_ms,
    allowH2: false,
  });
}
