// Which directories of a tree belong to the agent: its sources, and the packages that it uses in production, by the lock file. Pure.
import { z } from 'zod';

const lockFile = z.object({ packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })) });

export const agentSources = ['bin', 'src', 'systemd', 'package.json', 'package-lock.json'];

/** Paths like `node_modules/zod`, sorted; those inside of another package's directory too. */
export function toProductionPackages(lock: string): string[] {
  const { packages } = lockFile.parse(JSON.parse(lock));
  const own = Object.entries(packages).filter(([path, { dev }]) => path.startsWith('node_modules/') && dev !== true);
  return own.map(([path]) => path).sort();
}
