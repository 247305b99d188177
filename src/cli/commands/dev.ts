// `remora dev`: platform, agent, database node and sample provider on this machine, until Ctrl-C.

import { agentProgram } from '../agent-program.ts';
import type { Invocation } from '../command.ts';
import { toGuide } from '../dev/dev-guide.ts';
import { readDevMachines } from '../dev/dev-machines.ts';
import { openDevStack } from '../dev/dev-stack.ts';
import { exitCode } from '../exit-code.ts';
import { parsePort, parseWhole } from '../number-flag.ts';
import { readSpriteIdle } from '../platform/read-idle-flags.ts';
import { openStopSignals } from '../stop-signals.ts';
import { toPrintable } from '../table.ts';

const DEFAULT_PORT = 4_180;
const DEFAULT_INTERVAL_MS = 1_000;

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const port = parsePort(invocation.text('port'), DEFAULT_PORT);
  const interval_ms = parseWhole('interval', invocation.text('interval'), DEFAULT_INTERVAL_MS, 10, 3_600_000);
  const qemu = await readDevMachines(invocation);
  using stop = openStopSignals(invocation.env);
  out.onUnread(stop.stop);
  await using stack = await openDevStack({
    dir: invocation.text('dir'),
    port,
    interval_ms,
    agentCommand: agentProgram,
    qemu,
    spriteIdle_ms: readSpriteIdle(invocation.text),
    version: invocation.version,
    signal: stop.signal,
    print: (message) => out.note(`remora dev: ${toPrintable(message)}`),
  }).catch((error: unknown) => {
    // The signal stopped the start, and everything that was open has been closed: no failure.
    if (stop.signal.aborted) return undefined;
    throw error;
  });
  if (stack === undefined) return exitCode.ok;
  for (const line of toGuide(stack.record, stack.places)) out.line(line);
  await stop.stopped;
  out.note('remora dev: stopping');
  return exitCode.ok;
}
