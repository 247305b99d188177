// `remora hold`: runs a command and holds the machine awake while it runs.
import { basename } from 'node:path';
import { createAgentClient } from '../agent-client.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { openKeptHold } from '../hold/keep-hold.ts';
import { runChild } from '../hold/run-child.ts';
import { findSocketPath } from '../socket-path.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [command = '', ...args] = invocation.operands;
  const print = (text: string) => invocation.out.note(`remora hold: ${text}`);
  await using agent = createAgentClient(findSocketPath(invocation.text('socket'), invocation.env));
  const hold = await openKeptHold({
    agent,
    name: invocation.text('name') ?? toName(command),
    reason: invocation.text('reason'),
    mode: toMode(invocation.text('mode')),
    bestEffort: invocation.has('best-effort'),
    print,
  });
  try {
    return await runChild(command, args, print);
  } finally {
    await hold.release();
  }
}

/** A name such as `make-4711`, which people recognize when they ask why the machine is awake. */
function toName(command: string): string {
  const word = basename(command)
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 100);
  return `${word === '' ? 'hold' : word}-${process.pid}`;
}

function toMode(text: string | undefined): 'block' | 'delay' {
  if (text === undefined || text === 'block') return 'block';
  if (text === 'delay') return 'delay';
  throw new UsageError(`hold: --mode takes block or delay, not ${text}`);
}
