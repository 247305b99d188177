// `ss` of iproute2: lists the established TCP connections with their byte counts, and ends chosen ones. Every run has a
// deadline.
import { execFile } from 'node:child_process';
import { parseSsConnections, type SsConnection } from '../../core/connections/ss-connections.ts';

export const SS_DEADLINE_MS = 2_000;
const OUTPUT_CAP_BYTES = 16 * 1024 * 1024;
/** How many connections one run ends: the words of a command line are limited. */
const KILL_BATCH = 100;
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** `missing`: there is no `ss`. `failed`: it did not answer, or refused. The message is for people. */
export class SsError extends Error {
  override readonly name = 'SsError';
  readonly type: 'missing' | 'failed';

  constructor(type: 'missing' | 'failed', message: string) {
    super(message);
    this.type = type;
  }
}

export interface Ss {
  /** Every established connection. Throws SsError. */
  list(signal?: AbortSignal): Promise<SsConnection[]>;
  /**
   * Ends connections with a reset; resolves with those that were ended. Connections that the kernel cannot end, or that are
   * gone already, are left out. Throws SsError, also when this process lacks the right.
   */
  kill(connections: readonly SsConnection[], signal?: AbortSignal): Promise<SsConnection[]>;
}

export interface SsOptions {
  readonly command?: string;
  readonly deadline_ms?: number;
}

export function createSs(options: SsOptions = {}): Ss {
  const { command = 'ss', deadline_ms = SS_DEADLINE_MS } = options;

  function run(words: readonly string[], signal: AbortSignal | undefined): Promise<string> {
    return new Promise((resolve, reject) => {
      const settings = {
        timeout: deadline_ms,
        killSignal: 'SIGKILL',
        maxBuffer: OUTPUT_CAP_BYTES,
        env: { PATH: process.env.PATH ?? DEFAULT_PATH, LC_ALL: 'C' },
        ...(signal === undefined ? {} : { signal }),
      } as const;
      execFile(command, words, settings, (error, stdout, stderr) => {
        const denied = /^SOCK_DESTROY answers: (.+)$/m.exec(stderr)?.[1];
        if (denied !== undefined) reject(new SsError('failed', `the kernel says: ${denied}; CAP_NET_ADMIN is needed`));
        else if (error === null) resolve(stdout);
        else reject(toSsError(error, stderr, deadline_ms));
      });
    });
  }

  return {
    async list(signal) {
      return parseSsConnections(await run(['-tineH', 'state', 'established'], signal));
    },
    async kill(connections, signal) {
      const ended: SsConnection[] = [];
      for (let at = 0; at < connections.length; at += KILL_BATCH) {
        const words = connections
          .slice(at, at + KILL_BATCH)
          .flatMap(toFilter)
          .slice(1);
        ended.push(...parseSsConnections(await run(['-K', '-tineH', 'state', 'established', ...words], signal)));
      }
      return ended;
    },
  };
}

/** The filter begins with an `or`, which the first of a run leaves out. */
function toFilter({ filter }: SsConnection): string[] {
  return ['or', '(', 'src', filter.src, 'and', 'dst', filter.dst, ')'];
}

function toSsError(error: Error & { killed?: boolean; code?: unknown }, stderr: string, deadline_ms: number): SsError {
  if (error.code === 'ENOENT') return new SsError('missing', '`ss` is not installed (package iproute2)');
  if (error.name === 'AbortError') return new SsError('failed', '`ss` was stopped before it had answered');
  if (error.killed === true) return new SsError('failed', `\`ss\` did not answer within ${deadline_ms} ms`);
  const said = stderr.trim().split('\n')[0] ?? '';
  return new SsError('failed', `\`ss\` failed: ${said === '' ? error.message : said}`);
}
