// A Debian that runs under its own systemd, in a container that shares the network of this machine. What it installs is fetched for
// real, with the npm that started the test.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bootOwnTree, type OwnContainer } from './boot-container.ts';
import { copyDebianTree } from './debian-tree.ts';

export type SystemdMachine = OwnContainer;

const NPM = '/usr/local/lib/npm';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** Apart, because the package of authorities makes the file above again, without those that only this machine trusts. */
const TRUSTED = '/root/authorities.crt';

export async function openSystemdMachine(): Promise<SystemdMachine> {
  const tree = copyDebianTree();
  const npm = dirname(dirname(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())));
  const command = join(tree, 'usr/local/bin/npm');
  writeFileSync(command, `#!/bin/sh\nexec node ${NPM}/bin/npm-cli.js "$@"\n`);
  chmodSync(command, 0o755);
  if (existsSync(CERTIFICATES)) copyFileSync(CERTIFICATES, join(tree, TRUSTED));
  const words = [`--bind-ro=${realpathSync(process.execPath)}:/usr/local/bin/node`, `--bind-ro=${npm}:${NPM}`];
  return await bootOwnTree({ tree, words, env: insideEnvironment() });
}

/** The little that a root shell has, and what npm needs to know of the network here. */
function insideEnvironment(): NodeJS.ProcessEnv {
  const passed = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  const registry = execFileSync('npm', ['config', 'get', 'registry'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return {
    ...Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    HOME: '/root',
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    DEBIAN_FRONTEND: 'noninteractive',
    NODE_EXTRA_CA_CERTS: TRUSTED,
    npm_config_cafile: TRUSTED,
    npm_config_registry: registry.trim(),
  };
}
