// The connections of the agent to the outside. After a resume all of them are replaced at once: a new pool is in place before
// the old one is destroyed, so that no call can pick a dead connection (resume.md, section 4, step 3).
import { Agent, type Dispatcher } from 'undici';

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

export function createUpstream(options: UpstreamOptions = {}): Upstream {
  const connect = {
    timeout: options.connect_ms ?? 3_000,
    // A stream that says nothing for hours still notices within seconds that its peer is gone (resume.md, section 4).
    keepAlive: true,
    keepAliveInitialDelay: 10_000,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
  const limits = { headersTimeout: 30_000, bodyTimeout: 0, keepAliveTimeout: 10_000, pipelining: 1 };
  const open = () => new Agent({ ...limits, connect });
  let pool = open();
  let sockets = new Map<string, Agent>();
  /** Retired pools that still carry a call. */
  const retiring = new Set<Agent>();

  function swap(): Agent[] {
    const old = [pool, ...sockets.values()];
    pool = open();
    sockets = new Map();
    return old;
  }

  return {
    get dispatcher() {
      return pool;
    },
    overSocket(path) {
      let agent = sockets.get(path);
      if (agent === undefined) {
        agent = new Agent({ ...limits, connect: { ...connect, socketPath: path } });
        sockets.set(path, agent);
      }
      return agent;
    },
    async retire() {
      for (const agent of swap()) {
        retiring.add(agent);
        const done = () => retiring.delete(agent);
        agent.close().then(done, done);
      }
    },
    async replace() {
      const old = [...swap(), ...retiring];
      await Promise.all(old.map((agent) => agent.destroy(new Error('the machine was resumed'))));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([pool, ...sockets.values(), ...retiring].map((agent) => agent.destroy()));
    },
  };
}
