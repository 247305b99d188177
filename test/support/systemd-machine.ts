// A Debian that runs under its own systemd, in a container that shares the network of this machine. What it installs is fetched for
// real.
import { bootOwnTree, type OwnContainer } from './boot-container.ts';
import { copyDebianTree } from './debian-tree.ts';

export type SystemdMachine = OwnContainer;

export async function openSystemdMachine(): Promise<SystemdMachine> {
  return await bootOwnTree({ tree: copyDebianTree(), words: [], env: insideEnvironment() });
}

/** The little that a root shell has, and what its tools need to know of the network here. */
function insideEnvironment(): NodeJS.ProcessEnv {
  const passed = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  return {
    ...Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    HOME: '/root',
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    DEBIAN_FRONTEND: 'noninteractive',
  };
}
