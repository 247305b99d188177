// Where source is kept, with what a clone, a fetch of large files and a download of a release need.
import type { NetworkPreset } from './network-preset.ts';

export const codeHosts: NetworkPreset = {
  name: 'code_hosts',
  date: '2026-11-23',
  about: 'hosts of source code',
  domains: [
    ...['github.com', '*.github.com', '*.githubusercontent.com', '*.githubassets.com', 'github-cloud.s3.amazonaws.com'],
    ...['gitlab.com', '*.gitlab.com'],
    ...['bitbucket.org', '*.bitbucket.org'],
    ...['dev.azure.com', 'ssh.dev.azure.com', 'vs-ssh.visualstudio.com'],
    ...['codeberg.org', '*.codeberg.org', 'gitea.com', 'sr.ht', '*.sr.ht'],
    ...['sourceforge.net', '*.sourceforge.net', 'git.savannah.gnu.org', 'salsa.debian.org'],
    ...['git.kernel.org', '*.googlesource.com', 'gopkg.in'],
  ],
};
