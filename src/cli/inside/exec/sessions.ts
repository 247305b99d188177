// `remora sessions`: the programs that run in a sprite and can be attached to, and their end.
import type { ProcessKillEvent } from '../../../contract/processes.ts';
import type { Invocation } from '../../command.ts';
import { exitCode } from '../../exit-code.ts';
import { print, toWhen } from '../../operator/print.ts';
import { toPrintable } from '../../table.ts';
import { askInside } from '../sprite-door.ts';

export async function listSessions(invocation: Invocation): Promise<number> {
  const { out, has } = invocation;
  const list = await askInside(invocation, (door) => door.client.call('listProcesses'));
  if (list.sessions.length === 0 && !has('json')) {
    out.line('nothing runs');
    return exitCode.ok;
  }
  return print(invocation, list, [
    ['ID', 'TTY', 'STARTED', 'LAST ACTIVE', 'COMMAND'],
    ...list.sessions.map(({ id, tty, created, last_activity, command }) => [
      id,
      tty ? 'yes' : 'no',
      toWhen(created),
      toWhen(last_activity),
      command,
    ]),
  ]);
}

export async function killSession(invocation: Invocation): Promise<number> {
  const { out, has, text, operands } = invocation;
  const [id = ''] = operands;
  const query = { signal: text('signal'), timeout: text('timeout') };
  return await askInside(invocation, async (door) => {
    let code: number = exitCode.ok;
    for await (const event of door.client.stream('killProcess', { params: { id }, query })) {
      out.line(has('json') ? JSON.stringify(event) : toPrintable(toText(event)));
      if (event.type === 'error') code = exitCode.failed;
    }
    return code;
  });
}

function toText(event: ProcessKillEvent): string {
  return event.type === 'complete' ? `exit code ${event.exit_code}` : event.message;
}
