// What every operation that reads answers to one caller, with what a stream sends at first.
import { request } from 'node:http';
import type { Operation } from '../../src/contract/operation.ts';

export interface ReadAnswer {
  readonly operation: string;
  /** 0 when nothing was answered. */
  readonly status: number;
  /** The names and values of the headers, and the body. */
  readonly bytes: Buffer;
}

export interface ReadCaller {
  readonly to: { readonly socketPath: string } | { readonly host: string; readonly port: number };
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What stands for `{parameters}` in paths, by the name of the parameter, or by the path up to it where that says more; by the whole path
 * and `?`, the query. Others are `x`.
 */
export type Filling = Readonly<Record<string, string>>;

/** What would wait for something to happen, and what needs a query. */
const quick: Filling = {
  '/v1/apps/{app_name}/machines/{machine_id}/wait?': 'state=started&timeout=1',
  '/v1/machine/wait?': 'state=started&timeout=1',
  '/v1/ports/{port}/wait?': 'timeout=0',
  '/v1/ports/{port}': '1',
  '/v1/replication/{db}/wait?': 'timeout=0',
  '/v1/sprites/{name}/fs/list?': 'path=/&workingDir=/',
  '/v1/fs/list?': 'path=/&workingDir=/',
  '/v1/sprites/{name}/fs/read?': 'path=/proc/self/environ&workingDir=/',
  '/v1/fs/read?': 'path=/proc/self/environ&workingDir=/',
};

/** A stream has said by then what it says of what was before. */
const STREAM_MS = 300;
/** How long an answer may take on a machine with other work. */
const LIMIT_MS = 60_000;

export async function readAll(
  operations: Readonly<Record<string, Operation>>,
  caller: ReadCaller,
  filling: Filling,
): Promise<readonly ReadAnswer[]> {
  const reads = Object.entries(operations).filter(([, { method }]) => method === 'GET');
  return await Promise.all(
    reads.map(async ([operation, { path, answer }]) => {
      const ends_ms = answer.kind === 'json' || answer.kind === 'text' ? LIMIT_MS : STREAM_MS;
      return { operation, ...(await readSome(caller, toTarget(path, { ...quick, ...filling }), ends_ms)) };
    }),
  );
}

function toTarget(path: string, filling: Filling): string {
  const filled = path.replaceAll(/\{(\w+)(?:\.\.\.)?\}/g, (whole: string, name: string, at: number) => {
    return encodeURIComponent(filling[path.slice(0, at) + whole] ?? filling[name] ?? 'x');
  });
  const query = filling[`${path}?`];
  return query === undefined ? filled : `${filled}?${query}`;
}

/** `ends_ms`: how long the body is read once it has begun. */
function readSome(
  { to, headers = {} }: ReadCaller,
  path: string,
  ends_ms: number,
): Promise<Omit<ReadAnswer, 'operation'>> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let status = 0;
    const call = request({ ...to, path, headers });
    const end = () => {
      clearTimeout(late);
      call.destroy();
      resolve({ status, bytes: Buffer.concat(parts) });
    };
    let late = setTimeout(end, LIMIT_MS);
    call.on('error', end);
    call.on('response', (response) => {
      status = response.statusCode ?? 0;
      parts.push(Buffer.from(JSON.stringify(response.rawHeaders)));
      clearTimeout(late);
      late = setTimeout(end, ends_ms);
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', end);
      response.on('close', end);
    });
    call.end();
  });
}
