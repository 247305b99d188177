// `remora machine why`: what keeps a machine awake, as the platform and its agent say it at this moment.
import type { MachineIdle } from '../../contract/machine-idle.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { toPrintable, toSpan, toTable } from '../table.ts';
import { withMachine } from './find-machine.ts';

export async function machineWhy(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const idle = await withMachine(invocation, ({ client, params }) => client.call('readMachineIdle', { params }));
  if (invocation.has('json')) {
    out.line(JSON.stringify(idle));
    return exitCode.ok;
  }
  for (const line of toTable(toRows(idle))) out.line(line);
  if (idle.kept_awake_by.length === 0) return exitCode.ok;
  out.line('');
  const rows = idle.kept_awake_by.map(({ kind, owner, since, reason }) =>
    [kind, owner, since ?? '-', reason ?? ''].map(toPrintable),
  );
  for (const line of toTable([['KEPT AWAKE BY', 'OWNER', 'SINCE', 'REASON'], ...rows])) out.line(line);
  return exitCode.ok;
}

function toRows(idle: MachineIdle): string[][] {
  const { machine_id, state, idle_since, sleep, would_sleep_at, would_be_cold_at, last_refusal } = idle;
  const rows = [
    ['machine', machine_id],
    ['state', state],
  ];
  if (state === 'running') {
    rows.push(['idle', idle_since === null ? 'no' : `since ${idle_since}`]);
    rows.push(['sleeps', toSleep(sleep, would_sleep_at)]);
  }
  if (would_be_cold_at !== null) rows.push(['cold', would_be_cold_at]);
  if (last_refusal !== undefined) rows.push(['last try', toPrintable(`${last_refusal.at}: ${last_refusal.message}`)]);
  return rows;
}

function toSleep(rule: MachineIdle['sleep'], at: string | null): string {
  if (rule === null) return 'never by itself';
  return `${at ?? 'not while it is kept awake'}; ${rule.move} after ${toSpan(rule.after_ms)} without work`;
}
