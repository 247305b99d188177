// What the agent serves: the operations of its parts and those about itself, at every listener that is opened on the edge. It can be reached
// before the parts are open: what needs one waits until then.
import { agentOperations } from '../contract/agent-operations.ts';
import { toLoggedPath } from '../core/gateway/capability-text.ts';
import type { Log } from '../core/log.ts';
import { createEdge, type Edge } from '../http/edge.ts';
import type { LoopWatch } from '../http/loop-watch.ts';
import { isServedAt } from '../http/served-at.ts';
import { type Caller, type createAuthenticator, toListenerName } from './access/authenticator.ts';
import type { AgentHandlers } from './agent-handlers.ts';
import { health } from './status/health.ts';

/** Open event streams for each caller and each listener. All callers of one Unix socket count as one. */
const STREAM_LIMITS = { ofCaller: 64, ofListener: 512 };

type Authenticate = ReturnType<typeof createAuthenticator>;

export interface AgentEdgeOptions {
  readonly log: Log;
  readonly loop: LoopWatch;
  /** Checks every answer against the schema of its operation, for tests. */
  readonly checkAnswers?: boolean;
}

export interface AgentEdge {
  readonly edge: Edge;
  /** Serves every operation from here on. */
  open(handlers: AgentHandlers, authenticate: Authenticate): void;
  /** Refuses what waits for the parts, which will not be opened. */
  giveUp(reason: Error): void;
}

/** Answers `health`, which needs no part, until it is opened; every other request waits. */
export function createAgentEdge(options: AgentEdgeOptions): AgentEdge {
  const { loop, log } = options;
  // Those that are not there yet are asked for by requests that wait until they are.
  const handlers = { health } as AgentHandlers;
  const opened = Promise.withResolvers<Authenticate>();
  opened.promise.catch(() => undefined);
  let authenticate: Authenticate = (request, operation, listener) => {
    const name = toListenerName(listener);
    const needsNobody = operation === agentOperations.health && name !== 'loopback';
    if (needsNobody && isServedAt(operation, name)) return { listener: name };
    return opened.promise.then((admit) => admit(request, operation, listener));
  };
  const edge = createEdge<typeof agentOperations, Caller>({
    operations: agentOperations,
    handlers,
    authenticate: (request, operation, listener) => authenticate(request, operation, listener),
    until: (caller) => caller.until,
    // Each capability token has its own signal. Callers of a Unix socket cannot be distinguished.
    callerOf: (caller) => caller.until,
    streamLimits: STREAM_LIMITS,
    loop,
    log,
    toLoggedPath,
    ...(options.checkAnswers === undefined ? {} : { checkAnswers: options.checkAnswers }),
  });
  return {
    edge,
    open(all, admit) {
      Object.assign(handlers, all);
      authenticate = admit;
      opened.resolve(admit);
    },
    giveUp: opened.reject,
  };
}
