// Opens the database of a platform of this machine for commands of its operator.
import type { OfflineAdmin } from '../../platform/offline-admin.ts';
import { openOfflineAdmin } from '../../platform/offline-admin.ts';
import type { Invocation } from '../command.ts';
import { toDatabase } from './database-url.ts';
import { DEFAULT_PLATFORM_PORT } from './platform-dir.ts';
import { readPlatformKeys } from './platform-keys.ts';
import { readProviderFile } from './provider-file.ts';

/** Throws what `openOfflineAdmin` throws, and an error for a file of keys or providers that cannot be read. */
export function openAdmin(invocation: Invocation, dir: string): Promise<OfflineAdmin> {
  const { text, env, out } = invocation;
  const note = (fields: object, message: string) => out.note(`${message} ${JSON.stringify(fields)}`);
  const providers = text('providers');
  return openOfflineAdmin({
    dir,
    ...toDatabase(invocation),
    keys: readPlatformKeys(text('key-file'), env),
    platformUrl: text('public-url') ?? `http://127.0.0.1:${DEFAULT_PLATFORM_PORT}`,
    ...(providers === undefined ? {} : { catalogue: readProviderFile(providers).catalogue }),
    log: { debug: () => undefined, info: note, warn: note, error: note, fatal: note },
  });
}
