// DIR/dev.json: the addresses, the token and the ids that a program needs to use a running `remora dev`.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface DevRecord {
  readonly socket: string;
  readonly platform_url: string;
  /** A token of the organization. */
  readonly token: string;
  readonly sprite_token: string;
  readonly sprite: string;
  /** Where its HTTP service is reached. */
  readonly sprite_url: string;
  readonly app: string;
  readonly machine: string;
  readonly node_url: string;
  /** Signs on at providers. */
  readonly user: { readonly email: string; readonly password: string; readonly user_id: string };
  readonly connectors: readonly { readonly id: string; readonly provider: string }[];
  /** The sample provider of extensions. */
  readonly extension_provider: { readonly name: string; readonly base_url: string };
}

/** The files of a directory that hold tokens, by name. */
export const RECORD_NAMES = ['dev.json', 'authorization.header'];

/** Writes the file at once as a whole, readable by this user alone. It is removed when the result is disposed of or the process exits. */
export function writeDevRecord(dir: string, record: DevRecord): Disposable {
  const path = join(dir, 'dev.json');
  writePrivate(path, `${JSON.stringify(record, undefined, 2)}\n`);
  return removedAtEnd(path);
}

/** Writes a file for `curl -H @FILE`, so that neither the commands to paste nor the terminal shows the token. */
export function writeHeaderFile(path: string, token: string): Disposable {
  writePrivate(path, `Authorization: Bearer ${token}\n`);
  return removedAtEnd(path);
}

/** An exit after an uncaught error disposes of nothing, but runs the listeners of `exit`. */
function removedAtEnd(path: string): Disposable {
  const remove = () => rmSync(path, { force: true });
  process.on('exit', remove);
  return {
    [Symbol.dispose]() {
      process.off('exit', remove);
      remove();
    },
  };
}

function writePrivate(path: string, text: string): void {
  const early = `${path}.new`;
  rmSync(early, { force: true });
  writeFileSync(early, text, { mode: 0o600, flag: 'wx' });
  renameSync(early, path);
}
