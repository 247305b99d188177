// Copies the agent, with the Node that runs it, as it is installed: the tree of the package.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RemoraError } from '../../../core/remora-error.ts';
import { runTool } from '../../../linux/processes/run-tool.ts';

/** What the units name. */
const NEEDED = ['node_modules/.bin/node', 'dist/remora.cjs', 'systemd/remora.service', 'package.json'];
/** Compiled code that the command keeps for itself. */
const LEFT_OUT = '--exclude=./node_modules/.cache';

/** `from`: a tree like the one that the package installs. Throws `not_configured` when it is none. */
export async function copyAgent(from: string, to: string): Promise<void> {
  const missing = NEEDED.filter((name) => !existsSync(join(from, name)));
  if (missing.length > 0) {
    const message = `${from} has no ${missing.join(' and no ')}; build images from a checkout after npm ci, or with the installed package`;
    throw new RemoraError('not_configured', message);
  }
  const script =
    'mkdir -p "$2"; tar -C "$1" -c --owner=0 --group=0 --numeric-owner "$3" . | tar -C "$2" -x -p --no-same-owner';
  await runTool('bash', ['-c', `set -e -o pipefail; ${script}`, 'copy', from, to, LEFT_OUT]);
}
