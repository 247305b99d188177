// Two `remora platform` processes on one PostgreSQL database, each in a directory of its own, started at once while the database is
// still empty.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import type { Secret } from '../../src/core/secret.ts';
import { Secret as TokenText } from '../../src/core/secret.ts';
import type { NewCatalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import { type OfflineAdmin, openOfflineAdmin } from '../../src/platform/offline-admin.ts';
import { type LineChild, startChild } from './child-lines.ts';
import { callPlatform, type PlatformAnswer, type PlatformCall, TEST_KEY } from './open-platform.ts';
import { remoraPath } from './run-remora.ts';
import { silentLog } from './silent-log.ts';
import { tempDir } from './temp-dir.ts';

export interface PairedPlatform {
  readonly dir: string;
  readonly url: string;
  readonly child: LineChild;
  /** Calls with the token that this one made for the organization `acme`, unless the call has another. */
  call(call: PlatformCall): Promise<PlatformAnswer>;
  readonly token: Secret;
}

export interface PlatformPair {
  readonly platforms: readonly [PairedPlatform, PairedPlatform];
  start(dir: string, words?: readonly string[]): Promise<PairedPlatform>;
  /** What an operator does beside them. */
  openAdmin(): Promise<OfflineAdmin>;
}

export async function openPlatformPair(
  database: Secret,
  catalogue: readonly NewCatalogueEntry[] = [],
  /** More words of the command line, of the one and of the other. */
  [ofOne, ofOther]: readonly [readonly string[], readonly string[]] = [[], []],
): Promise<PlatformPair> {
  const shared = tempDir();
  writeFileSync(join(shared, 'key'), TEST_KEY.reveal(), { mode: 0o600 });
  writeFileSync(join(shared, 'secret'), 'client-secret-1', { mode: 0o600 });
  const oauth_clients = Object.fromEntries(
    catalogue
      .filter(({ oauth }) => oauth !== undefined)
      .map(({ provider }) => [provider, { client_id: 'client-1', client_secret_file: 'secret' }]),
  );
  writeFileSync(join(shared, 'providers.toml'), stringify({ providers: [...catalogue], oauth_clients }));

  async function start(dir: string, given: readonly string[] = []): Promise<PairedPlatform> {
    const tokenFile = join(dir, 'token');
    const port = given.includes('--port') ? [] : ['--port', '0'];
    const words = ['--dir', join(dir, 'p'), ...port, '--key-file', join(shared, 'key')];
    const more = ['--providers', join(shared, 'providers.toml'), '--organization', 'acme', '--token-file', tokenFile];
    const limits = ['--token-rate', '1000000', '--end-machines', '--sprite-idle', '0s', '--start-wait', '0s'];
    const args = [remoraPath, 'platform', ...words, ...more, ...limits, ...given];
    const child = startChild(process.execPath, args, { REMORA_DATABASE_URL: database.reveal() });
    const { url } = JSON.parse(await child.line(/"serving"/));
    const token = new TokenText(readFileSync(tokenFile, 'utf8').trim());
    return { dir, url, child, token, call: (call) => callPlatform(url, { token, ...call }) };
  }

  const [one, other] = await Promise.all([start(tempDir(), ofOne), start(tempDir(), ofOther)]);
  return {
    platforms: [one, other],
    start,
    openAdmin: () =>
      openOfflineAdmin({ dir: shared, database, keys: [TEST_KEY], catalogue, platformUrl: one.url, log: silentLog }),
  };
}
