// The command that takes every right from an emulator before it runs: its own user, no capability, no new privilege, and a network, a
// message queue and a host name of its own. In the network is nothing but its loopback, and its way out where it has one. Pure.

import { toEgressScript } from '../egress/egress-script.ts';

export interface Launch {
  readonly emulator: string;
  readonly args: readonly string[];
  /** The user that the emulator runs as; undefined where the platform is not root. */
  readonly uid: number | undefined;
  /** What the machine's way out lets through; only with a user. Undefined for none. */
  readonly egressRules?: string | undefined;
}

export interface LaunchLine {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Lower than the platform: on a host whose processors are all busy every machine that computes would have as much of them as the one process
 * that all machines and their callers wait for.
 */
const NICENESS = 5;
const FEW_FILES = 1_024;

/** An emulator that gets no user has a user namespace in which it is nobody else. The process that runs the command becomes the emulator. */
export function toLaunchLine({ emulator, args, uid, egressRules }: Launch): LaunchLine {
  const user = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const rights = ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
  const limits = ['prlimit', '--core=0', `--nofile=${FEW_FILES}`, '--'];
  const line = [...limits, ...rights, 'nice', '-n', String(NICENESS), emulator];
  // Only the way out mounts something, for which a user namespace has no right.
  const mounts = egressRules === undefined ? [] : ['--mount'];
  const namespaces = [
    ...(uid === undefined ? ['--user', '--map-root-user'] : []),
    ...mounts,
    '--net',
    '--ipc',
    '--uts',
  ];
  const egress = egressRules === undefined || uid === undefined ? '' : toEgressScript(uid, egressRules);
  const script = `ip link set lo up\n${egress}exec ${line.join(' ')} "$@"`;
  return { command: 'unshare', args: [...namespaces, '--', 'sh', '-ec', script, 'sh', ...args] };
}
