// `remora tasks`: the holds that keep this machine awake.
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { toSpan, toTable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const list = await askAgent(invocation, (client) => client.call('listTasks'));
  if (invocation.has('json')) {
    out.line(JSON.stringify(list));
    return exitCode.ok;
  }
  if (list.tasks.length === 0) {
    out.line('no hold is in force');
    return exitCode.ok;
  }
  const rows = list.tasks.map((task) => [
    task.name,
    task.mode,
    task.connection ? 'its connection' : task.pid === undefined ? 'time' : `pid ${task.pid}`,
    task.created_at,
    toSpan(task.expire * 1_000),
    task.reason ?? '',
  ]);
  for (const line of toTable([['NAME', 'MODE', 'BOUND TO', 'SINCE', 'ENDS AFTER', 'REASON'], ...rows])) out.line(line);
  return exitCode.ok;
}
