// `remora suspend`: POST /v1/machine/suspend.
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';

/** The agent asks for up to 10 s, and waits for holds that only delay before that. */
const LIMIT_MS = 30_000;

export async function run(invocation: Invocation): Promise<number> {
  const query = { force: invocation.has('force') ? 'true' : 'false' };
  const answer = await askAgent(invocation, (client) => client.call('suspendMe', { query, timeout_ms: LIMIT_MS }));
  invocation.out.line(
    invocation.has('json') ? JSON.stringify(answer) : 'accepted: the machine is suspended within seconds',
  );
  return exitCode.ok;
}
