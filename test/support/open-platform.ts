// A platform of a test in a directory of its own, with one organization, and calls to it with a token.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform, type Platform } from '../../src/platform/platform.ts';
import type { PlatformOptions } from '../../src/platform/platform-options.ts';
import { atEnd } from './at-end.ts';
import { placeEmptyDatabase } from './empty-database.ts';
import { memoryDir } from './memory-dir.ts';

export { machineCommand } from './machine-command.ts';

export const TEST_KEY = new Secret('ab'.repeat(32));

export interface PlatformAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  readonly json: any;
}

export interface PlatformCall {
  readonly method?: string;
  readonly path: string;
  readonly token?: Secret | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestPlatform extends Platform {
  readonly dir: string;
  /** The token of the organization `acme`. */
  readonly token: Secret;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  call(call: PlatformCall): Promise<PlatformAnswer>;
}

export type TestPlatformOptions = Partial<PlatformOptions>;

export async function openTestPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  const dir = options.dir ?? memoryDir();
  if (options.dir === undefined && options.database === undefined) await placeEmptyDatabase(dir);
  const log: Readonly<Record<string, unknown>>[] = [];
  const write = (fields: object, message: string) => log.push({ ...fields, message });
  const platform = await openPlatform({
    dir,
    keys: [TEST_KEY],
    listen: { host: '127.0.0.1', port: 0 },
    freezeDelay_ms: 50,
    endMachines: true,
    machineRates: {
      moves: { burst: 1_000_000, perSecond: 1_000_000 },
      reads: { burst: 1_000_000, perSecond: 1_000_000 },
    },
    callRate: { burst: 1_000_000, perSecond: 1_000_000 },
    checkAnswers: true,
    passwordCost: { N: 4096, r: 8, p: 1 },
    version: '0.0.0',
    log: { debug: write, info: write, warn: write, error: write, fatal: write },
    ...options,
  });
  atEnd(() => platform[Symbol.asyncDispose]());
  if (!(await platform.admin.hasOrganization('acme'))) await platform.admin.createOrganization('acme');
  const token = await platform.admin.createToken({ organization: 'acme' });
  return { ...platform, dir, token, log, call: (call) => callPlatform(platform.url, { token, ...call }) };
}

/** No credential is sent with `token: undefined`. */
export async function callPlatform(url: string, call: PlatformCall): Promise<PlatformAnswer> {
  const { method = 'GET', path, token, body, headers = {} } = call;
  const response = await fetch(url + path, {
    method,
    headers: {
      ...headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json');
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

const report = z.object({
  pid: z.int(),
  child: z.int(),
  ticks: z.int(),
  env: z.record(z.string(), z.string()),
});
export type MachineReport = z.infer<typeof report>;

/** What the machine in `dir` has said last; undefined when it has said nothing yet. */
export function readReport(dir: string): MachineReport | undefined {
  try {
    return report.parse(JSON.parse(readFileSync(join(dir, 'state', 'report.json'), 'utf8')));
  } catch {
    return undefined;
  }
}
