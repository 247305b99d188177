// The frame of every command that asks the agent: the socket is found, the client made, and closed again.
import type { Client } from '../client/client.ts';
import type { agentOperations } from '../contract/agent-operations.ts';
import { createAgentClient } from './agent-client.ts';
import type { Invocation } from './command.ts';
import { findSocketPath } from './socket-path.ts';

/** Passes on what `work` resolves with. Throws AgentUnreachableError when nobody serves on the socket. */
export async function askAgent<T>(
  invocation: Invocation,
  work: (client: Client<typeof agentOperations>) => Promise<T>,
): Promise<T> {
  await using agent = createAgentClient(findSocketPath(invocation.text('socket'), invocation.env));
  return await agent.ask(() => work(agent.client));
}
