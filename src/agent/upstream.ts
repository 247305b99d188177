// The connections of the agent to the outside. After a resume all of them are replaced at once: a new pool is in place before
// the old one is destroyed, so that no call can pick a dead connection (resume.md, section 4, step 3).
import { Agent, type Dispatcher, Pool } from 'undici';
import { ConnectionsReplaced } from '../http/upstream-error.ts';

export interface UpstreamOptions {
  readonly connect_ms?: number;
  /** For tests and for platforms with their own authority: PEM text. */
  readonly ca?: string;
}

export interface Upstream extends AsyncDisposable {
  /** The pool of now. Read it for each call; never keep it. Streams have no limit on time, headers have 30 s. */
  readonly dispatcher: Dispatcher;
  /** A pool of its own for one Unix socket, replaced together with the other. */
  overSocket(path: string): Dispatcher;
  /** Closes idle connections and takes new ones from now on. Calls in flight are not waited for: a stream has no end. */
  retire(): Promise<void>;
  /** Destroys every connection, also those in use, and takes new ones from now on. */
  replace(): Promise<void>;
}

/** HTTP/1.1 only: the streaming proxy passes raw headers on, which undici does not have for HTTP/2. */
const LIMITS = {
  headersTimeout: 30_000,
  bodyTimeout: 0,
  keepAliveTimeout: 10_000,
  pipelining: 1,
  allowH2: false,
} as const;
/** A stream that says nothing for hours still notices that its peer is gone (resume.md, section 4). */
const TCP_KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 10_000 } as const;

export function createUpstream(options: UpstreamOptions = {}): Upstream {
  const connect = {
    ...TCP_KEEP_ALIVE,
    timeout: options.connect_ms ?? 3_000,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
  const open = () => openConnections({ ...LIMITS, connect });
  let main = open();
  let sockets = new Map<string, Connections>();
  /** What was retired and still carries a call. */
  const retiring = new Set<Connections>();

  function swap(): Connections[] {
    const old = [main, ...sockets.values()];
    main = open();
    sockets = new Map();
    return old;
  }

  return {
    get dispatcher() {
      return main.agent;
    },
    overSocket(path) {
      let connections = sockets.get(path);
      if (connections === undefined) {
        connections = openConnections({ ...LIMITS, connect: { ...connect, socketPath: path } });
        sockets.set(path, connections);
      }
      return connections.agent;
    },
    async retire() {
      for (const connections of swap()) {
        retiring.add(connections);
        const done = () => retiring.delete(connections);
        connections.agent.close().then(done, done);
      }
    },
    async replace() {
      const old = [...swap(), ...retiring];
      await Promise.all(
        old.map((connections) => connections.destroy(new ConnectionsReplaced('the machine was resumed'))),
      );
    },
    async [Symbol.asyncDispose]() {
      const all = [main, ...sockets.values(), ...retiring];
      await Promise.all(all.map((connections) => connections.destroy(new Error('the agent is stopping'))));
    },
  };
}

interface Connections {
  readonly agent: Agent;
  destroy(error: Error): Promise<void>;
}

/** An agent that is being closed forgets its pools, so that destroying it would leave their calls alone: they are kept here. */
function openConnections(options: Agent.Options): Connections {
  const pools = new Set<Pool>();
  const agent = new Agent({
    ...options,
    factory(origin, poolOptions) {
      for (const known of pools) if (known.destroyed) pools.delete(known);
      const pool = new Pool(origin, poolOptions);
      pools.add(pool);
      return pool;
    },
  });
  return {
    agent,
    async destroy(error) {
      await Promise.all([agent.destroy(error), ...[...pools].map((pool) => pool.destroy(error))]);
    },
  };
}
