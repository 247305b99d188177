// DIR/dev.json: what a program needs to use a running `remora dev` (design.md, section 2).
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface DevRecord {
  readonly socket: string;
  readonly platform_url: string;
  /** Of the organization. */
  readonly token: string;
  readonly sprite_token: string;
  readonly sprite: string;
  readonly app: string;
  readonly machine: string;
  readonly node_url: string;
  readonly connectors: readonly { readonly id: string; readonly provider: string }[];
}

/** Whole or not at all, for this user alone. Disposing of the result removes it. */
export function writeDevRecord(dir: string, record: DevRecord): Disposable {
  const path = join(dir, 'dev.json');
  writePrivate(path, `${JSON.stringify(record, undefined, 2)}\n`);
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** A file for `curl -H @FILE`, so that lines to paste, and the terminal that shows them, hold no token. */
export function writeHeaderFile(path: string, token: string): Disposable {
  writePrivate(path, `Authorization: Bearer ${token}\n`);
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

function writePrivate(path: string, text: string): void {
  const early = `${path}.new`;
  rmSync(early, { force: true });
  writeFileSync(early, text, { mode: 0o600, flag: 'wx' });
  renameSync(early, path);
}
