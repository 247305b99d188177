// `remora suspend`: POST /v1/machine/suspend.
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';

/** The agent waits for delaying holds first, and then up to 10 s for the machines API. */
const LIMIT_MS = 30_000;

export async function run(invocation: Invocation): Promise<number> {
  const query = { force: invocation.has('force') ? 'true' : 'false' };
  const answer = await askAgent(invocation, (client) => client.call('suspendMe', { query, timeout_ms: LIMIT_MS }));
  invocation.out.line(
    invocation.has('json') ? JSON.stringify(answer) : 'accepted: the machine is suspended within seconds',
  );
  return exitCode.ok;
}
