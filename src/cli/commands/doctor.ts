// `remora doctor`: the problems that the agent reports of itself, each with what to do.
import { toAdvice, toSwitches } from '../advice.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UnreachableError } from '../exit-code.ts';
import { paint } from '../paint.ts';
import { toPrintable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const status = await askAgent(invocation, (client) => client.call('status')).catch((error: unknown) => {
    if (!(error instanceof UnreachableError)) throw error;
    const todo = 'under systemd: `systemctl status remora`, and `journalctl -u remora -n 20` for its last words';
    throw new UnreachableError(`${error.message}\n  → ${todo}`, { cause: error });
  });
  const problems = toAdvice(status);
  const off = toSwitches(status);
  if (invocation.has('json')) {
    out.line(JSON.stringify({ problems, off }));
    return problems.length === 0 ? exitCode.ok : exitCode.failed;
  }
  if (problems.length === 0) out.line(paint(out, 'nothing is wrong with this agent', 'nothing', 'good'));
  for (const { about, problem, todo } of problems) {
    out.line(paint(out, toPrintable(`${about}: ${problem}`), about, 'bad'));
    out.line(`  → ${todo}`);
  }
  for (const { part, by } of off) out.line(paint(out, `${part} is off; ${by} switches it on`, part, 'faint'));
  return problems.length === 0 ? exitCode.ok : exitCode.failed;
}
