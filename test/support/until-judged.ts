// An agent that has just started waits with a call for its first policies, but only for two seconds.
import type { AgentProcess } from './agent-process.ts';
import { eventually } from './eventually.ts';

/** Resolves once the agent has policies from the platform, so that it judges calls at once. */
export async function untilJudged(agent: Pick<AgentProcess, 'get'>): Promise<void> {
  await eventually(async () => (await agent.get('/v1/gateway/list')).status === 200);
}
