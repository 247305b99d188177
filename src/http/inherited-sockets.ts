// The listening sockets that systemd hands over to a process.
const INHERITED_CAP = 16;

export interface InheritedSocket {
  readonly fd: number;
  /** The name in LISTEN_FDNAMES; empty when the socket has none. */
  readonly name: string;
}

/**
 * The sockets that systemd handed over (sd_listen_fds(3)): descriptors from 3 on, when LISTEN_PID is this process or, for a
 * launcher that cannot know this pid, not set. The variables are removed from `env`, because they are not meant for children.
 */
export function takeInheritedSockets(env: NodeJS.ProcessEnv, pid: number): InheritedSocket[] {
  const count = Number(env.LISTEN_FDS ?? 0);
  const isMeant = env.LISTEN_PID === undefined || Number(env.LISTEN_PID) === pid;
  const names = (env.LISTEN_FDNAMES ?? '').split(':');
  delete env.LISTEN_FDS;
  delete env.LISTEN_PID;
  delete env.LISTEN_FDNAMES;
  if (!isMeant || !Number.isInteger(count) || count < 1) return [];
  return Array.from({ length: Math.min(count, INHERITED_CAP) }, (_, index) => ({
    fd: 3 + index,
    name: names[index] ?? '',
  }));
}
