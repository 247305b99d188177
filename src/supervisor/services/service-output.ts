// What one process of a service prints: its two pipes are read, cut into lines, written to the log file and passed to followers.
import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from '../../core/with-deadline.ts';
import { LineCutter, type LinePiece } from './line-cutter.ts';
import type { LogFile } from './log-file.ts';
import { toLinePrefix, toLogBytes } from './log-line.ts';
import type { OnBytes, OutputSource } from './output-source.ts';
import { ReadingPace } from './reading-pace.ts';
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

/** Starts to read, by the function that it is given. */
export type OpenSource = (onBytes: OnBytes) => OutputSource;

export function startOutput(stdout: OpenSource, stderr: OpenSource, target: OutputTarget): ServiceOutput {
  const readings = [startReading(stdout, 'stdout', target), startReading(stderr, 'stderr', target)];
  const ended = Promise.all(readings.map(({ ended }) => ended));
  return {
    async close() {
      await withDeadline(DRAIN_MS, ended).catch(() => undefined);
      for (const { source } of readings) source.destroy();
      await ended;
    },
  };
}

interface Reading {
  readonly source: OutputSource;
  /** Resolves when all that was read is passed on. */
  readonly ended: Promise<void>;
}

function startReading(open: OpenSource, label: 'stdout' | 'stderr', { log, hub, wall_ms }: OutputTarget): Reading {
  const cutter = new LineCutter();
  const pace = new ReadingPace();
  let quiet: NodeJS.Timeout | undefined;

  function passPieces(pieces: readonly LinePiece[]): void {
    if (pieces.length === 0) return;
    const timestamp = wall_ms();
    log.append(toLogBytes(label, pieces, timestamp), pieces.length);
    if (!hub.isFollowed) return;
    for (const { bytes } of pieces) hub.publish({ type: label, data: bytes.toString('utf8'), timestamp });
  }

  function passLines(lines: Buffer): void {
    if (lines.length === 0) return;
    const timestamp = wall_ms();
    log.appendLines(toLinePrefix(label, timestamp), lines);
    if (!hub.isFollowed) return;
    const texts = lines.toString('utf8', 0, lines.length - 1).split('\n');
    for (const data of texts) hub.publish({ type: label, data, timestamp });
  }

  const source = open((chunk) => {
    const begin_ms = performance.now();
    clearTimeout(quiet);
    const { pieces, whole } = cutter.push(chunk);
    passPieces(pieces);
    passLines(whole);
    if (cutter.isHolding) quiet = setTimeout(() => passPieces(cutter.flush(false)), QUIET_MS);
    const pause_ms = pace.take(begin_ms, performance.now());
    const room = log.untilRoom();
    if (pause_ms === 0 && room === undefined) return true;
    void Promise.all([room, pause_ms === 0 ? undefined : sleep(pause_ms)]).then(() => source.resume());
    return false;
  });
  const ended = source.closed.then(() => {
    clearTimeout(quiet);
    passPieces(cutter.flush(true));
  });
  return { source, ended };
}
