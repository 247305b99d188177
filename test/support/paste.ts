// Lines to paste, run in a shell as a person would.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished } from 'vitest';

type Json = Record<string, unknown>;

/** Runs a pasted line in a shell, to its end, or until it has printed `lines` lines. */
export async function paste(command: string, lines = Number.POSITIVE_INFINITY): Promise<string> {
  const child = spawn('sh', ['-c', `exec ${command}`], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  let errors = '';
  const count = () => toWholeLines(output).length;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (count() >= lines) child.kill('SIGTERM');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  await once(child, 'close');
  expect(errors).toBe('');
  return output;
}

export async function pasteJson(command: string): Promise<Json> {
  return JSON.parse(await paste(command));
}

export async function pasteLines(command: string, lines: number): Promise<Json[]> {
  return toWholeLines(await paste(command, lines))
    .slice(0, lines)
    .map((line) => JSON.parse(line));
}

/** What comes of a long line at first is not one yet. */
function toWholeLines(output: string): readonly string[] {
  return output
    .split('\n')
    .slice(0, -1)
    .filter((line) => line !== '');
}
