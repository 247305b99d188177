// Frames a whole run of the tests: its directories lie in one on the disk and one in memory, by which the processes are found that a test has
// left behind because it failed or its worker was killed.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOver, readProcess } from '../../src/linux/processes/process-table.ts';
import { findMemory, MEMORY_VARIABLE } from './memory-place.ts';

/** Runs before the first test file. The returned function runs after the last one, also of a run that fails. */
export function setup(): () => void {
  // Short, because the paths of Unix sockets are.
  const dir = mkdtempSync(join(tmpdir(), 't-'));
  // PostgreSQL runs as another user.
  chmodSync(dir, 0o755);
  process.env.TMPDIR = dir;
  const dirs = [dir];
  const memory = findMemory();
  if (memory !== undefined) {
    const inMemory = mkdtempSync(join(memory, 't-'));
    chmodSync(inMemory, 0o755);
    process.env[MEMORY_VARIABLE] = inMemory;
    dirs.push(inMemory);
  }
  return () => {
    for (const each of dirs) {
      for (const { pid, words } of listProcessesOf(each)) {
        process.stderr.write(`a test left process ${pid} behind, which is ended now: ${words}\n`);
        kill(pid);
      }
      rmSync(each, { recursive: true, force: true });
    }
  };
}

interface FoundProcess {
  readonly pid: number;
  readonly words: string;
}

function listProcessesOf(dir: string): readonly FoundProcess[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.flatMap((pid) => {
    const found = readProcess(pid);
    // Children of this process belong to the runner.
    if (found === undefined || isOver(found) || pid === process.pid || found.parent === process.pid) return [];
    const words = read(pid, 'cmdline');
    return `${words}${read(pid, 'environ')}`.includes(dir) ? [{ pid, words: words.replaceAll('\0', ' ') }] : [];
  });
}

function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
