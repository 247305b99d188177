// Reads the dev.json of a running `remora dev` of this user in the default directory.
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultDevDir } from './default-dev-dir.ts';
import type { DevRecord } from './dev-record.ts';

/** Undefined when there is none or another user owns the file. Fields that are not text are left out. */
export function readDevRecord(): { readonly [K in keyof DevRecord]?: string } | undefined {
  const path = join(defaultDevDir(), 'dev.json');
  try {
    const stat = lstatSync(path);
    if (!stat.isFile() || stat.uid !== process.getuid?.()) return undefined;
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    return Object.fromEntries(Object.entries(parsed).filter(([, value]) => typeof value === 'string'));
  } catch {
    return undefined;
  }
}
