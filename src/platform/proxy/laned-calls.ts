// Requests to a port of a machine. Where many come they go over lanes, connections of their own that stay open and carry one request at a
// time; where no lane is free, over streams of the channel. No request waits for a lane.
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { ConnectionDeadlines } from '../../http/connection-deadlines.ts';
import { PlainCall } from '../../http/plain-call.ts';
import { type ConnectionOwner, PlainConnection } from '../../http/plain-connection.ts';
import { toPlainRequest } from '../../http/plain-request.ts';
import type { PortLanes } from '../channels/lanes.ts';
import type { LanePlaces } from './lane-places.ts';

export interface LanedCallsOptions {
  /** Those of the channel. */
  readonly lanes: PortLanes;
  /** That of a CONNECT to the port. */
  readonly authority: string;
  /** Sends calls as streams of the channel. */
  readonly streams: Dispatcher;
  /** Shared by all machines. */
  readonly places: Pick<LanePlaces, 'take' | 'leave'>;
  /** How long a lane without a request stays open: an open connection keeps the machine awake. */
  readonly idle_ms: number;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

/** A request that waits for the end of the turn in which it came. */
interface Waiting {
  readonly options: Dispatcher.DispatchOptions;
  readonly call: PlainCall;
}

/** So many requests over the channel, close after each other, ask for one lane: a lane takes more work to open than a request. */
const REQUESTS_PER_LANE = 8;
const CLOSE_MS = 1_000;
/** A lane is given up this long before the program closes its end. */
const EARLY_MS = 2_000;
const HOST = 'machine';
/** One that ended with fewer requests was not worth it: the program may close each connection. */
const WORTH_REQUESTS = 4;
const NOT_WORTH_MS = 10_000;

export class LanedCalls implements Pick<Dispatcher, 'dispatch'>, ConnectionOwner {
  readonly #given: LanedCallsOptions;
  readonly #lanes = new Set<PlainConnection>();
  readonly #deadlines = new ConnectionDeadlines(this.#lanes);
  /** The one that was used last is taken first, so that those that are not needed become idle. */
  readonly #free: PlainConnection[] = [];
  /** They are free after this turn of the event loop: bytes that nobody asked for are seen before. */
  #rested: PlainConnection[] = [];
  #waiting: Waiting[] = [];
  #isDue = false;
  #overStreams = 0;
  #last_ms = 0;
  #notBefore_ms = 0;
  #isOpening = false;
  #isClosed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(given: LanedCallsOptions) {
    this.#given = given;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { streams } = this.#given;
    // A connection that is switched to another protocol, which is not plain, may stay open for days.
    const request = this.#isClosed ? undefined : toPlainRequest(HOST, options, true);
    if (request === undefined) return streams.dispatch(options, handler);
    if (this.#lanes.size === 0) {
      this.#count();
      return streams.dispatch(options, handler);
    }
    const { headersTimeout, bodyTimeout } = options;
    const limits = { headersTimeout_ms: headersTimeout ?? 0, bodyTimeout_ms: bodyTimeout ?? 0 };
    this.#waiting.push({ options, call: new PlainCall(options, request, handler, limits) });
    this.#arrange();
    return true;
  }

  /** Requests that were taken end as they would. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#onTurn();
    for (const lane of this.#free.splice(0)) lane.drop();
    this.#checkEnd();
    await Promise.all([this.#given.streams.close(), this.#ended.promise]);
  }

  onRest(lane: PlainConnection, told_ms: number | undefined): void {
    const { idle_ms } = this.#given;
    const kept_ms = told_ms === undefined ? idle_ms : Math.min(told_ms - EARLY_MS, idle_ms);
    if (kept_ms <= 0 || this.#isClosed) {
      lane.drop();
      return;
    }
    lane.restFor(kept_ms);
    this.#rested.push(lane);
    this.#arrange();
  }

  onGone(lane: PlainConnection): void {
    if (!this.#lanes.delete(lane)) return;
    const { places, now_ms } = this.#given;
    places.leave();
    if (lane.calls < WORTH_REQUESTS) this.#notBefore_ms = now_ms() + NOT_WORTH_MS;
    if (this.#lanes.size === 0) this.#free.length = 0;
    this.#checkEnd();
  }

  onFailure(): void {}

  onHead(): void {}

  onDue(due_ms: number): void {
    this.#deadlines.add(due_ms);
  }

  #arrange(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isDue = false;
    const waiting = this.#waiting;
    if (waiting.length > 0) this.#waiting = [];
    for (const each of waiting) this.#start(each);
    for (const lane of this.#rested) this.#free.push(lane);
    this.#rested = [];
  };

  #start({ options, call }: Waiting): void {
    const lane = this.#take();
    if (lane === undefined) {
      this.#count();
      this.#given.streams.dispatch(options, call.handler);
    } else if (!lane.send(call)) this.onRest(lane, undefined);
  }

  #take(): PlainConnection | undefined {
    let lane = this.#free.pop();
    while (lane?.isOpen === false) lane = this.#free.pop();
    return lane;
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
    const lane = new PlainConnection(socket, this, 'own');
    this.#lanes.add(lane);
    lane.restFor(this.#given.idle_ms);
    this.#rested.push(lane);
    this.#arrange();
  }

  #checkEnd(): void {
    if (!this.#isClosed || this.#lanes.size > 0) return;
    this.#deadlines.stop();
    this.#ended.resolve();
  }
}
