// The typed client of the agent's socket for commands, with errors that people can read.
import { type Client, createClient } from '../client/client.ts';
import { UpstreamError } from '../client/upstream-error.ts';
import { agentOperations } from '../contract/agent-operations.ts';
import { errorCode } from '../core/error-code.ts';
import { UnreachableError } from './exit-code.ts';
import { openConnections } from './open-connections.ts';

export interface AgentClient extends AsyncDisposable {
  readonly client: Client<typeof agentOperations>;
  /** Runs `work`. When nobody listens on the socket, the error names its path. */
  ask<T>(work: () => Promise<T>): Promise<T>;
}

export function createAgentClient(socketPath: string): AgentClient {
  const connections = openConnections(socketPath);
  const client = createClient(agentOperations, { origin: 'http://remora', dispatcher: () => connections });
  return {
    client,
    async ask(work) {
      try {
        return await work();
      } catch (error) {
        throw toPlainError(error, socketPath);
      }
    },
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

/** What to tell people of a failed call; an answer of the agent stays as it is. */
export function toPlainError(error: unknown, socketPath: string): unknown {
  if (!(error instanceof UpstreamError) || error.status !== undefined) return error;
  const tried = `tried ${socketPath}; --socket PATH or REMORA_SOCKET names another`;
  if (error.code === 'timeout') {
    return new UnreachableError(`the agent does not answer: is its machine suspended? ${error.message} (${tried})`);
  }
  if (error.code !== 'connection_failed') return error;
  switch (errorCode(error.cause)) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new UnreachableError(`no agent answers: is it running? (${tried})`);
    case 'EACCES':
    case 'EPERM':
      return new UnreachableError(`this user may not use the socket: is it in the socket's group? (${tried})`);
    default:
      return new UnreachableError(`the connection to the agent failed: ${error.message} (${tried})`);
  }
}
