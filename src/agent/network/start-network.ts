// Starts the process that enforces the network policy where no other one does: as a process of its own that outlives this agent, and as a user
// of its own with few rights. Under systemd its socket unit starts it, and this file is never loaded.
import { chownSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { NETWORK_STATE_DIR } from '../../core/network-wire.ts';
import { NODE_FLAGS } from '../../core/node-flags.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import { findMissing } from '../../linux/processes/capabilities.ts';
import { findUser } from '../../linux/users.ts';
import { startDetached } from '../start-detached.ts';

const PROGRAM = new URL('../../cli/remora.js', import.meta.url).pathname;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const USER = 'remora-network';
/** Who it is where nobody has made that user: a number that no user has. */
const NOBODYS_UID = 64_242;

/**
 * Not needed: for the name of the process behind a question, and behind an attempt to reach an address. Kernels from 6.16 on tell the latter to
 * who has CAP_PERFMON only.
 */
const FOR_NAMES = ['CAP_SYS_PTRACE', 'CAP_BPF', 'CAP_PERFMON'] as const;
/** The rights by their numbers: older versions of the library behind `setpriv` know no names for these. */
const numbers = { CAP_BPF: 'cap_39', CAP_PERFMON: 'cap_38', CAP_SYS_PTRACE: 'cap_19' } as const;
const toWord = (right: keyof typeof numbers): string => numbers[right];

export interface StartNetworkOptions {
  /** Where it is to serve: in a directory that is its own. */
  readonly path: string;
  readonly stateDir: string;
  readonly logLevel: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Does not wait for it to serve. Throws when its directories or its log cannot be made. */
export function startNetwork({ path, stateDir, logLevel, env }: StartNetworkOptions): void {
  const { uid, gid } = findUser(USER) ?? { uid: NOBODYS_UID, gid: NOBODYS_UID };
  const ownDir = join(stateDir, NETWORK_STATE_DIR);
  for (const directory of [dirname(path), ownDir]) {
    makeDirectory(directory, 0o700);
    chownSync(directory, uid, gid);
  }
  const missing = findMissing(FOR_NAMES);
  const rights = ['net_admin', 'dac_read_search', ...FOR_NAMES.filter((right) => !missing.includes(right)).map(toWord)];
  const only = ['-all', ...rights.map((right) => `+${right}`)].join(',');
  const asUser = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs'];
  const held = [`--bounding-set=${only}`, `--inh-caps=${only}`, `--ambient-caps=${only}`];
  const program = [process.execPath, ...NODE_FLAGS, PROGRAM, 'network'];
  const flags = ['--socket', path, '--state-dir', ownDir, '--log-level', logLevel];
  const cache = env.NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: env.NODE_COMPILE_CACHE };
  startDetached({
    words: ['setpriv', ...asUser, ...held, ...program, ...flags],
    cwd: '/',
    env: { PATH, ...cache },
    log: join(stateDir, 'network.log'),
  });
}
