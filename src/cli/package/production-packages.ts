// Which packages of a tree belong to the product, by the lock file. Pure.
import { z } from 'zod';

const lockFile = z.object({ packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })) });

/** Paths like `node_modules/zod`, sorted; those inside of another package's directory too. */
export function toProductionPackages(lock: string): string[] {
  const { packages } = lockFile.parse(JSON.parse(lock));
  const own = Object.entries(packages).filter(([path, { dev }]) => path.startsWith('node_modules/') && dev !== true);
  return own.map(([path]) => path).sort();
}
