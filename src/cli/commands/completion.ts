// `remora completion SHELL`: the script that the shell reads.
import type { Invocation } from '../command.ts';
import { commands } from '../commands.ts';
import { shells, toCompletion } from '../completion.ts';
import { exitCode, UsageError } from '../exit-code.ts';

export async function run({ operands, out }: Invocation): Promise<number> {
  const shell = shells.find((each) => each === operands[0]);
  if (shell === undefined) throw new UsageError(`completion: expected one of ${shells.join(', ')}`);
  out.line(toCompletion(shell, commands).trimEnd());
  return exitCode.ok;
}
