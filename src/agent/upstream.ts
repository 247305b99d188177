// The connections of the agent to the outside. After a resume all of them are replaced at once: a new pool is in place before
// the connections of the old one are closed, so that no call can pick a dead connection.
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type * as undici from 'undici';
import { checkHandshakes } from '../http/checked-handshakes.ts';
import { cutSocket } from '../http/cut-socket.ts';
import { joinAnswerChunks } from '../http/join-answer-chunks.ts';
import { PlainPool, readTogether } from '../http/plain-pool.ts';
import { switchedSockets } from '../http/switched-sockets.ts';
import { Agent, buildConnector, Pool } from '../http/undici.ts';
import { ConnectionsReplaced } from '../http/upstream-error.ts';

export interface UpstreamOptions {
  readonly connect_ms?: number;
  /** Certificate authorities as PEM text, for tests and for platforms with an authority of their own. */
  readonly ca?: string;
}

export interface Upstream extends AsyncDisposable {
  /** The current pool. Read it for each call; never keep it. Streams have no time limit, headers have 30 s. */
  readonly dispatcher: undici.Dispatcher;
  /**
   * The same for calls of which there are many: the plain ones, over HTTP without TLS, go out over connections of their own at half the cost, and
   * all others by `dispatcher`.
   */
  readonly calls: Pick<undici.Dispatcher, 'dispatch'>;
  /** A separate pool for one Unix socket, replaced together with `dispatcher`. */
  overSocket(path: string): undici.Dispatcher;
  /** Closes idle connections; later calls use new ones. It does not wait for calls in flight, because a stream may never end. */
  retire(): Promise<void>;
  /**
   * Later calls use new connections and the old ones are closed when it returns, also those in use. The calls that use them learn of that
   * when the result is called, which resolves when all of it is over. Tunnels are left to their two ends.
   */
  cut(): () => Promise<void>;
  /** Does both. */
  replace(): Promise<void>;
  /** Sets what is asked right before each TLS handshake, which fails where it answers false. */
  askBeforeHandshakes(mayBegin: () => boolean): void;
  /** Asks that, for connections which are not of these pools. */
  mayHandshake(): boolean;
}

/** HTTP/1.1 only: the streaming proxy passes raw headers on, which undici does not have for HTTP/2. */
const LIMITS = {
  headersTimeout: 30_000,
  bodyTimeout: 0,
  keepAliveTimeout: 10_000,
  pipelining: 1,
  allowH2: false,
} as const;
/** Keep-alive probes let a stream that is silent for hours notice that its peer is gone. */
const TCP_KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 10_000 } as const;
/** What watches the calls of undici hears of plain calls as well, where it would act on them. */
const failed = channel('undici:request:error');
const answered = channel('undici:request:headers');

export function createUpstream(options: UpstreamOptions = {}): Upstream {
  const connect = {
    ...TCP_KEEP_ALIVE,
    timeout: options.connect_ms ?? 3_000,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
  const open = (socketPath?: string) => {
    const where = socketPath === undefined ? connect : { ...connect, socketPath };
    const connector = checkHandshakes(buildConnector(where), () => mayBegin());
    return openConnections(joinAnswerChunks(connector), buildConnector({ ...where, ...readTogether() }));
  };
  let mayBegin = () => true;
  let main = open();
  let sockets = new Map<string, Connections>();
  /** Retired pools that still carry a call. */
  const retiring = new Set<Connections>();

  function swap(): Connections[] {
    const old = [main, ...sockets.values()];
    main = open();
    sockets = new Map();
    return old;
  }

  function cut(): () => Promise<void> {
    const ends = [...swap(), ...retiring].map((connections) => connections.cut());
    return async () => {
      await Promise.all(ends.map((end) => end()));
    };
  }

  return {
    get dispatcher() {
      return main.agent;
    },
    get calls() {
      return main.calls;
    },
    overSocket(path) {
      let connections = sockets.get(path);
      if (connections === undefined) {
        connections = open(path);
        sockets.set(path, connections);
      }
      return connections.agent;
    },
    async retire() {
      for (const connections of swap()) {
        retiring.add(connections);
        const done = () => retiring.delete(connections);
        connections.close().then(done, done);
      }
    },
    cut,
    replace: async () => cut()(),
    askBeforeHandshakes(ask) {
      mayBegin = ask;
    },
    mayHandshake: () => mayBegin(),
    async [Symbol.asyncDispose]() {
      const all = [main, ...sockets.values(), ...retiring];
      await Promise.all(all.map((connections) => connections.destroy(new Error('the agent is stopping'))));
    },
  };
}

interface Connections {
  readonly agent: undici.Agent;
  readonly calls: Pick<undici.Dispatcher, 'dispatch'>;
  /** Closes what is open. The result ends the calls. */
  cut(): () => Promise<void>;
  /** Resolves when the calls are over. */
  close(): Promise<void>;
  destroy(error: Error): Promise<void>;
}

/** undici's Agent forgets its pools while it closes, and destroying it then leaves their calls open; so the pools are kept here. */
function openConnections(
  connect: undici.buildConnector.connector,
  connectPlain: undici.buildConnector.connector,
): Connections {
  const pools = new Set<undici.Pool>();
  const plain = new Map<string, PlainPool>();
  const sockets = new Set<Socket>();
  let replaced: Error | undefined;
  let isDestroyed = false;
  const follow =
    (dial: undici.buildConnector.connector): undici.buildConnector.connector =>
    (options, callback) => {
      dial(options, (...[error, socket]) => {
        if (error !== null) return callback(error, null);
        // It was dialled before the resume.
        if (replaced !== undefined) {
          socket.destroy();
          return callback(replaced, null);
        }
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
        callback(null, socket);
      });
    };
  const agent = new Agent({
    ...LIMITS,
    connect: follow(connect),
    factory(origin, poolOptions) {
      for (const known of pools) if (known.destroyed) pools.delete(known);
      const pool = new Pool(origin, poolOptions);
      pools.add(pool);
      return pool;
    },
  });

  function openPlain(origin: string): PlainPool {
    const pool = new PlainPool({
      origin,
      connect: follow(connectPlain),
      keepAlive_ms: LIMITS.keepAliveTimeout,
      headersTimeout_ms: LIMITS.headersTimeout,
      bodyTimeout_ms: LIMITS.bodyTimeout,
      onFailure(path, error) {
        if (failed.hasSubscribers) failed.publish({ request: { origin, path }, error });
      },
      onErrorStatus(path, statusCode, headers) {
        if (answered.hasSubscribers) answered.publish({ request: { origin, path }, response: { statusCode, headers } });
      },
    });
    plain.set(origin, pool);
    return pool;
  }

  async function destroy(error: Error): Promise<void> {
    isDestroyed = true;
    for (const pool of plain.values()) pool.destroy(error);
    await Promise.all([agent.destroy(error), ...[...pools].map((pool) => pool.destroy(error))]);
  }

  return {
    agent,
    calls: {
      dispatch(options, handler) {
        const { origin } = options;
        const isPlain = !isDestroyed && typeof origin === 'string' && origin.startsWith('http:');
        if (isPlain && (plain.get(origin) ?? openPlain(origin)).dispatch(options, handler)) return true;
        return agent.dispatch(options, handler);
      },
    },
    cut() {
      const error = new ConnectionsReplaced('the machine was resumed');
      replaced = error;
      const own = [...sockets].filter((socket) => !switchedSockets.has(socket));
      const releases = own.map((socket) => cutSocket(socket, error));
      return async () => {
        const destroyed = destroy(error);
        for (const release of releases) release();
        await destroyed;
      };
    },
    async close() {
      await Promise.all([agent.close(), ...[...plain.values()].map((pool) => pool.close())]);
    },
    destroy,
  };
}
