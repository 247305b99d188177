// A `remora dev` of its own for one test: started as a person would, its lines to paste, and its end.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { launcherPath } from './run-remora.ts';

export const devRecord = z.strictObject({
  socket: z.string(),
  platform_url: z.string(),
  token: z.string(),
  sprite_token: z.string(),
  sprite: z.string(),
  sprite_url: z.string(),
  app: z.string(),
  machine: z.string(),
  node_url: z.string(),
  connectors: z.array(z.strictObject({ id: z.string(), provider: z.string() })),
  extension_provider: z.strictObject({ name: z.literal('sample'), base_url: z.string() }),
  user: z.strictObject({ email: z.string(), password: z.string(), user_id: z.string() }),
});

export interface DevProcess extends AsyncDisposable {
  readonly pid: number;
  readonly record: z.output<typeof devRecord>;
  /** All that was printed so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The printed line below the comment that holds `title`. */
  commandFor(title: string): string;
  readonly commands: readonly string[];
  /** Sends a signal and resolves with the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const READY = 'Ctrl-C ends all of it.';

export interface DevProcessOptions {
  /** Where dev.json will be. */
  readonly dir: string;
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What is started; the built program when absent. */
  readonly launcher?: string;
}

/** Resolves when it has printed its lines. Rejects with what it printed when it ends before. */
export async function startDev(options: DevProcessOptions): Promise<DevProcess> {
  const words = options.words ?? ['--dir', options.dir, '--port', '0', '--interval', '200'];
  const child = spawn(options.launcher ?? launcherPath, ['dev', ...words], {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null);
  await Promise.race([
    new Promise<void>((resolve) => child.stdout.on('data', () => stdout.includes(READY) && resolve())),
    exited.then((code) => {
      throw new Error(`remora dev ended with ${code} before it was ready:\n${stdout}${stderr}`);
    }),
  ]);
  const record = devRecord.parse(JSON.parse(readFileSync(join(options.dir, 'dev.json'), 'utf8')));
  const lines = stdout.split('\n');
  return {
    pid: child.pid ?? 0,
    record,
    stdout: () => stdout,
    stderr: () => stderr,
    commands: lines.filter((line) => line.startsWith('curl ')),
    commandFor(title) {
      const at = lines.findIndex((line) => line.startsWith('# ') && line.includes(title));
      const command = lines[at + 1];
      if (at < 0 || command === undefined) throw new Error(`no line is titled ${title}`);
      return command;
    },
    end: (signal) => endChild(child, signal, exited),
    async [Symbol.asyncDispose]() {
      await endChild(child, 'SIGTERM', exited);
    },
  };
}

async function endChild(child: ChildProcess, signal: NodeJS.Signals, exited: Promise<number | null>) {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  return await exited;
}
