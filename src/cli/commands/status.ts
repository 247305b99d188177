// `remora status`: GET /v1/status as a few lines and one table.
import type { z } from 'zod';
import type { agentStatus } from '../../contract/local/status.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { paint, type Tone } from '../paint.ts';
import { toSpan, toTable } from '../table.ts';

type Status = z.output<typeof agentStatus>;
type State = Status['parts'][keyof Status['parts']]['state'];

const tones: Readonly<Record<State, Tone>> = {
  ok: 'good',
  starting: 'warn',
  degraded: 'warn',
  failed: 'bad',
  off: 'faint',
};

export async function run(invocation: Invocation): Promise<number> {
  const status = await askAgent(invocation, (client) => client.call('status'));
  const { out } = invocation;
  if (invocation.has('json')) {
    out.line(JSON.stringify(status));
    return exitCode.ok;
  }
  for (const line of toTable(toRows(status))) out.line(line);
  out.line('');
  const parts = Object.entries(status.parts);
  const table = toTable([
    ['PART', 'STATE', 'SINCE', ''],
    ...parts.map(([name, part]) => [name, part.state, part.since, part.reason ?? '']),
  ]);
  for (const [index, line] of table.entries()) {
    const part = parts[index - 1]?.[1];
    out.line(part === undefined ? line : paint(out, line, part.state, tones[part.state]));
  }
  for (const warning of status.warnings) out.line(`warning: ${warning.setting}: ${warning.message}`);
  return exitCode.ok;
}

function toRows(status: Status): string[][] {
  const { identity, cost } = status;
  const mebibytes = Math.round(cost.rss_bytes / 1024 / 1024);
  const cpu_ms = cost.cpu_user_ms + cost.cpu_system_ms;
  return [
    ['agent', `${status.version}, pid ${status.pid}, Node ${status.node}, up ${toSpan(status.uptime_ms)}`],
    ['machine', `${identity.app ?? '-'}/${identity.machine ?? '-'}, sprite ${identity.sprite ?? '-'}`],
    ['state', `${status.state}, generation ${status.generation}`],
    ['cost', `${mebibytes} MiB resident, ${toSpan(cpu_ms)} of CPU, loop lag p99 ${cost.loop_lag_p99_ms.toFixed(1)} ms`],
    ['streams', String(status.streams)],
  ];
}
