// An edge with rows of a test, serving on a Unix socket in a directory of the test.
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Operations } from '../../src/contract/operation.ts';
import { createEdge, type Edge } from '../../src/http/edge.ts';
import type { EdgeOptions } from '../../src/http/edge-options.ts';
import type { Handlers } from '../../src/http/handler.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { silentLog } from './silent-log.ts';
import { tempDir } from './temp-dir.ts';

export interface LogRecord {
  readonly level: 'error' | 'debug';
  readonly message: string;
  readonly err?: unknown;
}

export interface ServedEdge {
  readonly edge: Edge;
  readonly path: string;
  readonly log: readonly LogRecord[];
}

export async function serveEdge<const Ops extends Operations>(
  operations: Ops,
  handlers: Handlers<Ops, undefined>,
  more: Partial<
    Pick<
      EdgeOptions<Ops, undefined>,
      'authenticate' | 'mapError' | 'onCall' | 'toLoggedPath' | 'loop' | 'bodyDeadline_ms'
    >
  > = {},
): Promise<ServedEdge> {
  const log: LogRecord[] = [];
  const to = (level: LogRecord['level']) => (fields: object, message: string) => {
    log.push({ level, message, ...fields });
  };
  const edge = createEdge({
    operations,
    handlers,
    authenticate: () => undefined,
    log: { ...silentLog, error: to('error'), debug: to('debug') },
    checkAnswers: true,
    ...more,
  });
  const path = join(tempDir(), 'edge.sock');
  const listening = await listenOnPath(edge.createServer('socket'), { path, mode: 0o600 });
  onTestFinished(async () => {
    await edge.drain(0);
    listening[Symbol.dispose]();
  });
  return { edge, path, log };
}
