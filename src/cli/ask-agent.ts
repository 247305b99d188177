// The frame of every command that asks the agent: finds the socket, opens a client and closes it.
import type { Client } from '../client/client.ts';
import type { agentOperations } from '../contract/agent-operations.ts';
import { createAgentClient } from './agent-client.ts';
import type { Invocation } from './command.ts';
import { findSocketPath } from './socket-path.ts';

/** Resolves as `work` does. Throws UnreachableError when nobody listens on the socket. */
export async function askAgent<T>(
  invocation: Invocation,
  work: (client: Client<typeof agentOperations>) => Promise<T>,
): Promise<T> {
  await using agent = createAgentClient(findSocketPath(invocation.text('socket'), invocation.env));
  return await agent.ask(() => work(agent.client));
}
