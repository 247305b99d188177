// Running the `remora` command in this process: its own words, environment and output, without what starting a process takes.
import { runCli } from '../../src/cli/main.ts';

export interface RunHere {
  readonly code: number;
  /** What it printed, without the last line break. */
  readonly out: string;
  readonly err: string;
}

/** Only the variables given are seen: neither a login nor a platform of the person who runs the test. */
export async function runHere(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunHere> {
  const lines: string[] = [];
  const notes: string[] = [];
  const code = await runCli(words, {
    env: { HOME: '/nonexistent', ...env },
    out: {
      line: (text) => lines.push(text),
      note: (text) => notes.push(text),
      onUnread: () => undefined,
      colours: false,
    },
  });
  return { code, out: lines.join('\n'), err: notes.join('\n') };
}
