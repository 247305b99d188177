// What one process of a service prints: its two pipes are always read, cut into lines, written to the log file and passed to followers.
import type { Readable } from 'node:stream';
import { withDeadline } from '../../core/with-deadline.ts';
import { LineCutter, type LinePiece } from './line-cutter.ts';
import type { LogFile } from './log-file.ts';
import { toLogBytes } from './log-line.ts';
import type { ServiceHub } from './service-hub.ts';

/** A line without an end is passed on when nothing came after it for this long. */
const QUIET_MS = 500;
/** How long what is left in a pipe may take once every process is gone; somebody else may hold its other end. */
const DRAIN_MS = 1_000;

export interface OutputTarget {
  readonly log: LogFile;
  readonly hub: ServiceHub;
  readonly wall_ms: () => number;
}

export interface ServiceOutput {
  /** Reads what is left, and no more. */
  close(): Promise<void>;
}

export function startOutput(stdout: Readable, stderr: Readable, target: OutputTarget): ServiceOutput {
  const ends = [startReading(stdout, 'stdout', target), startReading(stderr, 'stderr', target)];
  return {
    async close() {
      await withDeadline(DRAIN_MS, Promise.all(ends)).catch(() => undefined);
      stdout.destroy();
      stderr.destroy();
      await Promise.all(ends);
    },
  };
}

/** Resolves when the pipe is closed. */
function startReading(pipe: Readable, label: 'stdout' | 'stderr', { log, hub, wall_ms }: OutputTarget): Promise<void> {
  const cutter = new LineCutter();
  let quiet: NodeJS.Timeout | undefined;

  function pass(pieces: readonly LinePiece[]): void {
    if (pieces.length === 0) return;
    const timestamp = wall_ms();
    log.append(toLogBytes(label, pieces, timestamp), pieces.length);
    if (!hub.isFollowed) return;
    for (const { bytes } of pieces) hub.publish({ type: label, data: bytes.toString('utf8'), timestamp });
  }

  pipe.on('data', (chunk: Buffer) => {
    clearTimeout(quiet);
    pass(cutter.push(chunk));
    if (cutter.isHolding) quiet = setTimeout(() => pass(cutter.flush(false)), QUIET_MS);
    // One that prints without end must not keep the others waiting: each chunk is one turn.
    pipe.pause();
    setImmediate(() => pipe.resume());
  });
  // A pipe that breaks ends; what was read is passed on.
  pipe.on('error', () => undefined);
  return new Promise((resolve) => {
    pipe.once('close', () => {
      clearTimeout(quiet);
      pass(cutter.flush(true));
      resolve();
    });
  });
}
