// The command that takes every right from an emulator before it runs: its own user, no capability, no new privilege, and a network, a
// message queue and a host name of its own. In the network is nothing but its loopback. Pure.

export interface LaunchLine {
  readonly command: string;
  readonly args: readonly string[];
}

/** Lower than the platform, which everybody waits for. */
const NICENESS = 5;
const FEW_FILES = 1_024;

/**
 * `uid`: the user that the emulator runs as; undefined where the platform is not root, and then the emulator has a user namespace in
 * which it is nobody else. The process that runs the command becomes the emulator.
 */
export function toLaunchLine(emulator: string, args: readonly string[], uid: number | undefined): LaunchLine {
  const user = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const rights = ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
  const limits = ['prlimit', '--core=0', `--nofile=${FEW_FILES}`, '--'];
  const line = [...limits, ...rights, 'nice', '-n', String(NICENESS), emulator];
  const namespaces = [...(uid === undefined ? ['--user', '--map-root-user'] : []), '--net', '--ipc', '--uts', '--'];
  const script = `ip link set lo up && exec ${line.join(' ')} "$@"`;
  return { command: 'unshare', args: [...namespaces, 'sh', '-c', script, 'sh', ...args] };
}
