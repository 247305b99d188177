// The certificate of the proxy and its key, read again when the files change: a certificate is renewed every few weeks.
import { readFileSync, statSync } from 'node:fs';
import type { Server } from 'node:http';
import { createSecureContext } from 'node:tls';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { TlsKeys } from '../../http/edge-server.ts';

/** Paths of PEM files: the certificate with those that lead to its root, and its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** How often the files are looked at; every 5 s when absent. */
  readonly look_ms?: number;
}

const LOOK_MS = 5_000;

/** Throws `not_configured` for files that cannot be read, or do not belong together. */
export function readTlsFiles({ cert, key }: TlsFiles): TlsKeys {
  try {
    const keys = { cert: readFileSync(cert), key: readFileSync(key) };
    createSecureContext(keys);
    return keys;
  } catch (error) {
    const message = `the certificate ${cert} with the key ${key} cannot be used: ${toErrorMessage(error)}`;
    throw new RemoraError('not_configured', message);
  }
}

/** Looks at the files now and then, and has the server use what is there. A pair that cannot be used is logged, and the earlier one stays. */
export function followTlsFiles(files: TlsFiles, server: Server, log: Pick<Log, 'info' | 'error'>): Disposable {
  let seen = toMark(files);
  const timer = setInterval(() => {
    const mark = toMark(files);
    if (mark === seen) return;
    seen = mark;
    try {
      (server as unknown as { setSecureContext(keys: TlsKeys): void }).setSecureContext(readTlsFiles(files));
      log.info({ cert: files.cert }, 'the certificate of the proxy was read again');
    } catch (err) {
      log.error({ err }, 'the certificate of the proxy cannot be used; the earlier one is');
    }
  }, files.look_ms ?? LOOK_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Differs when one of the files is another one. */
function toMark({ cert, key }: TlsFiles): string {
  return [cert, key]
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat === undefined ? '' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    })
    .join();
}
