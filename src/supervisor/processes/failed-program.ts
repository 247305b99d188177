// A program that could not be started: it prints why, and ends as a shell would let it end.
import type { StartFault } from '../services/find-program.ts';
import type { OutputKind } from './output-ring.ts';
import type { Program, ProgramTarget } from './program.ts';

export function createFailedProgram(fault: StartFault, kind: OutputKind, target: ProgramTarget): Program {
  const nothing = () => undefined;
  target.onOutput({ kind, bytes: Buffer.from(`${fault.message}${kind === 'stdout' ? '\r\n' : '\n'}`) });
  return {
    pid: 0,
    exited: Promise.resolve(fault.exit_code),
    drained: Promise.resolve(),
    closed: Promise.resolve(),
    write: () => true,
    endInput: nothing,
    pause: nothing,
    resume: nothing,
    resize: nothing,
    signal: nothing,
    end: async () => undefined,
    release: nothing,
  };
}
