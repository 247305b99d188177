// `remora idle`: why this machine is awake, and when it would suspend itself.
import type { IdleStatus } from '../../contract/local/tasks.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { paint } from '../paint.ts';
import { toPrintable, toSpan, toTable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const status = await askAgent(invocation, (client) => client.call('idle'));
  if (invocation.has('json')) {
    out.line(JSON.stringify(status));
    return exitCode.ok;
  }
  for (const line of toTable(toRows(status))) {
    const word = status.idle ? 'idle' : 'at work';
    out.line(line.startsWith('machine') ? paint(out, line, word, status.idle ? 'faint' : 'good') : line);
  }
  if (status.blockers.length > 0) {
    out.line('');
    const rows = status.blockers.map(({ kind, owner, since, reason }) => [kind, owner, since ?? '-', reason ?? '']);
    for (const line of toTable([['KEPT AWAKE BY', 'OWNER', 'SINCE', 'REASON'], ...rows])) out.line(line);
  }
  out.line('');
  out.line('Not counted as work:');
  for (const text of status.ignored) out.line(`  ${toPrintable(text)}`);
  return exitCode.ok;
}

function toRows(report: IdleStatus): string[][] {
  const { idle_suspend, last_refusal } = report;
  const setting = idle_suspend === 'off' ? undefined : toSpan(idle_suspend.after_ms);
  const rows = [
    ['machine', report.idle ? `idle since ${report.idle_since}` : 'at work'],
    ['last work', report.last_activity_at ?? 'none since the agent was started'],
  ];
  if (setting === undefined) {
    rows.push(['suspends', 'never by itself; REMORA_SUSPEND_IDLE_AFTER sets a time without work after which it does']);
  } else rows.push(['suspends', `${report.would_suspend_at ?? 'not while at work'}; after ${setting} without work`]);
  if (last_refusal !== undefined) {
    rows.push(['last try', `${last_refusal.at}: ${last_refusal.message}; next try at ${last_refusal.next_try_at}`]);
  }
  return rows;
}
