// `remora exec`: runs a program in a sprite as if it ran here.
import type { Invocation } from '../../command.ts';
import { exitCode, UsageError } from '../../exit-code.ts';
import { askInside } from '../sprite-door.ts';
import { toVariables } from '../variables.ts';
import { toExecTarget } from './exec-target.ts';
import { Session, type SessionEnd } from './session.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { text, has, out } = invocation;
  const attach = text('attach');
  const isDetached = has('detach');
  const hasInput = !has('no-stdin') && !isDetached;
  const isTerminal = attach === undefined ? wantsTerminal(invocation, hasInput) : undefined;
  const target =
    attach === undefined ? toTarget(invocation, isTerminal === true, hasInput) : toAttachTarget(invocation, attach);
  return await askInside(invocation, async (door) => {
    const socket = await door.openWebSocket(target);
    const { onUnread } = out;
    const session = new Session({ socket, isTerminal, hasInput, leavesAtOnce: isDetached, onUnread });
    return tell(invocation, session, await session.run());
  });
}

function tell({ out, has }: Invocation, session: Session, end: SessionEnd): number {
  const { id } = session;
  // The cursor is where the program left it.
  const line = session.isTerminal && process.stderr.isTTY ? '\r\n' : '';
  switch (end.type) {
    case 'exit':
      return end.code;
    case 'left':
      if (has('detach')) out.line(id ?? '');
      else out.note(`${line}left; \`remora exec --attach ${id}\` comes back to it if it runs on`);
      return exitCode.ok;
    case 'lost': {
      const back = id === undefined ? '' : `; \`remora exec --attach ${id}\` comes back to it if it runs on`;
      out.note(`${line}error: the connection to the program was lost: ${end.reason}${back}`);
      return exitCode.lost;
    }
    default:
      return end satisfies never;
  }
}

/** A terminal on both ends of this process means one for the program too. */
function wantsTerminal({ has }: Invocation, hasInput: boolean): boolean {
  if (has('tty') && has('no-tty')) throw new UsageError('exec: --tty and --no-tty exclude each other');
  if (has('tty')) return true;
  return !has('no-tty') && hasInput && process.stdin.isTTY === true && process.stdout.isTTY === true;
}

function toTarget({ operands, text, texts, has, env }: Invocation, isTerminal: boolean, hasInput: boolean): string {
  if (operands.length === 0) throw new UsageError('exec: expected -- COMMAND ARGS…');
  const { columns, rows } = process.stdout;
  const hasType = isTerminal && env.TERM !== undefined && env.TERM !== '' && process.stdout.isTTY;
  return toExecTarget({
    words: operands,
    terminal: isTerminal ? { size: process.stdout.isTTY ? [columns, rows] : undefined } : undefined,
    workdir: text('workdir'),
    env: [...(hasType ? [`TERM=${env.TERM}`] : []), ...toVariables(texts('env'), env)],
    hasInput,
    isKept: has('keep') || has('detach'),
  });
}

function toAttachTarget({ operands, has }: Invocation, id: string): string {
  const other = ['tty', 'no-tty', 'keep', 'detach', 'workdir', 'env'].find(has);
  if (operands.length > 0) throw new UsageError('exec: --attach takes no command');
  if (other !== undefined)
    throw new UsageError(`exec: --${other} is for a new program, and --attach comes back to one`);
  if (id === '' || id === '.' || id === '..') throw new UsageError(`exec: ${id} is no session`);
  return `/exec/${encodeURIComponent(id)}`;
}
