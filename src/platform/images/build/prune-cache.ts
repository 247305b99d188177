// Keeps the cache of the builds from growing for ever.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const KEPT_IMAGES = 6;
/** What a build that was killed has left is this old; no build takes so long. */
const LEFT_MS = 24 * 60 * 60_000;

/** The newest few images stay, and every tree and kernel. */
export async function pruneCache(cacheDir: string, now: Date): Promise<void> {
  const names = await readdir(cacheDir);
  const all = await Promise.all(
    names.map(async (name) => ({ name, changed_ms: await readChange(join(cacheDir, name)) })),
  );
  const images = all.filter(({ name }) => name.startsWith('image-')).sort((a, b) => b.changed_ms - a.changed_ms);
  const left = all.filter(({ name, changed_ms }) => /^work-|~\d+$/.test(name) && now.getTime() - changed_ms > LEFT_MS);
  for (const { name } of [...images.slice(KEPT_IMAGES), ...left]) {
    await rm(join(cacheDir, name), { recursive: true, force: true });
  }
}

/** Endless for what another build has just removed. */
async function readChange(path: string): Promise<number> {
  return await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.POSITIVE_INFINITY,
  );
}
