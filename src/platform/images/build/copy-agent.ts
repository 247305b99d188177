// Copies the agent, with its production packages and its Node, out of the tree from which this program runs.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../core/remora-error.ts';
import { runTool } from '../../../linux/processes/run-tool.ts';
import { agentSources, toProductionPackages } from './production-packages.ts';

const NODE = 'node_modules/.bin/node';

/** `from`: the tree with the package. Throws `not_configured` when it has no Node of its own. */
export async function copyAgent(from: string, to: string): Promise<void> {
  if (!existsSync(join(from, NODE))) {
    throw new RemoraError('not_configured', `${from} has no ${NODE}; run npm ci there`);
  }
  const packages = toProductionPackages(await readFile(join(from, 'package-lock.json'), 'utf8'));
  const there = packages.filter((path) => existsSync(join(from, path)));
  // Those of a package inside of another one are in the list themselves, or are for tests.
  const nested = ['--exclude=node_modules/*/node_modules', '--exclude=node_modules/@*/*/node_modules'];
  const inner = there.filter((path) => path.lastIndexOf('node_modules/') > 0);
  const outer = there.filter((path) => !inner.includes(path));
  await pack(from, to, [...nested, ...agentSources, ...outer, 'node_modules/.bin/node']);
  if (inner.length > 0) await pack(from, to, inner);
}

async function pack(from: string, to: string, words: readonly string[]): Promise<void> {
  const script =
    'from=$1; to=$2; shift 2; tar -C "$from" -c --owner=0 --group=0 --numeric-owner "$@" | tar -C "$to" -x -p';
  await runTool('bash', ['-c', `set -e -o pipefail; mkdir -p "$2"; ${script}`, 'pack', from, to, ...words]);
}
