// Where a platform of this machine keeps its files.
import { resolve } from 'node:path';
import type { Invocation } from '../command.ts';

export const DEFAULT_PLATFORM_DIR = '/var/lib/remora-platform';
export const DEFAULT_PLATFORM_PORT = 4_180;

/** --dir, REMORA_PLATFORM_DIR, or the default; absolute. */
export function toPlatformDir({ text, env }: Pick<Invocation, 'text' | 'env'>): string {
  return resolve(text('dir') ?? env.REMORA_PLATFORM_DIR ?? DEFAULT_PLATFORM_DIR);
}
