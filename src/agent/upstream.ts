// The connections of the agent to the outside. After a resume all of them are replaced at once: new ones are in place before the old ones are
// closed, so that no call can pick a dead connection.
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { cutSocket } from '../http/cut-socket.ts';
import { createDial } from '../http/dial.ts';
import { type Outbound, type OutboundOptions, openOutbound } from '../http/outbound.ts';
import { switchedSockets } from '../http/switched-sockets.ts';
import { ConnectionsReplaced } from '../http/upstream-error.ts';

export interface UpstreamOptions {
  readonly connect_ms?: number;
  /** Certificate authorities as PEM text, for tests and for platforms with an authority of their own. */
  readonly ca?: string;
}

export interface Upstream extends AsyncDisposable {
  /** The current connections. Read them for each call; never keep them. Streams have no time limit, headers have 30 s. */
  readonly dispatcher: Pick<Outbound, 'dispatch' | 'request'>;
  /** The same for calls of which there are many, and whose answers nobody watches. */
  readonly calls: Pick<Outbound, 'dispatch'>;
  /** Connections of their own to one Unix socket, replaced together with `dispatcher`. */
  overSocket(path: string): Upstream['dispatcher'];
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

const CONNECT_MS = 3_000;
/** Keep-alive probes let a stream that is silent for hours notice that its peer is gone. */
const KEEP_ALIVE_MS = 10_000;
const LIMITS = { headers_ms: 30_000, idle_ms: 10_000 } as const;

export function createUpstream(options: UpstreamOptions = {}): Upstream {
  const { ca, connect_ms = CONNECT_MS } = options;
  const how = { ca, timeout_ms: connect_ms, keepAlive_ms: KEEP_ALIVE_MS, mayHandshake: () => mayBegin() };
  const open = (socketPath?: string) => openCuttable((reads) => createDial({ ...how, socketPath, ...reads }));
  let mayBegin = () => true;
  let main = open();
  let sockets = new Map<string, Cuttable>();
  /** Retired ones that still carry a call. */
  const retiring = new Set<Cuttable>();

  function swap(): Cuttable[] {
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
      return main.outbound;
    },
    get calls() {
      return main.outbound.unwatched;
    },
    overSocket(path) {
      let connections = sockets.get(path);
      if (connections === undefined) {
        connections = open(path);
        sockets.set(path, connections);
      }
      return connections.outbound;
    },
    async retire() {
      for (const connections of swap()) {
        retiring.add(connections);
        const done = () => retiring.delete(connections);
        connections.outbound.close().then(done, done);
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
      await Promise.all(all.map(({ outbound }) => outbound.destroy(new Error('the agent is stopping'))));
    },
  };
}

interface Cuttable {
  readonly outbound: Outbound;
  /** Closes what is open. The result ends the calls. */
  cut(): () => Promise<void>;
}

function openCuttable(dial: OutboundOptions['dial']): Cuttable {
  const sockets = new Set<Socket>();
  let replaced: Error | undefined;
  const follow =
    (connect: buildConnector.connector): buildConnector.connector =>
    (to, callback) => {
      connect(to, (...[error, socket]) => {
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
  const outbound = openOutbound({ ...LIMITS, dial: (reads) => follow(dial(reads)) });
  return {
    outbound,
    cut() {
      const error = new ConnectionsReplaced('the machine was resumed');
      replaced = error;
      const own = [...sockets].filter((socket) => !switchedSockets.has(socket));
      const releases = own.map((socket) => cutSocket(socket, error));
      return async () => {
        const destroyed = outbound.destroy(error);
        for (const release of releases) release();
        await destroyed;
      };
    },
  };
}
