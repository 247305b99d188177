// The profiles of a privileges policy, as words for `setpriv` (capabilities(7)). Pure.
import type { PrivilegesPolicy } from '../../contract/sprite-policies.ts';

/** What containers get without being asked: enough to install packages and to become another user, and nothing of the machine itself. */
const STANDARD = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'setgid',
  'setuid',
  'setpcap',
  'net_bind_service',
  'net_raw',
  'sys_chroot',
  'mknod',
  'audit_write',
  'setfcap',
] as const;

/**
 * `minimal`: no capability, and no way to another user; a program of root that everybody may start would be root all the same. `standard`:
 * those of containers at most, which sudo may give. Without a profile, and with `privileged`, as many as there are.
 */
export function toPrivilegeFlags({ profile = '', noNewPrivileges = false }: PrivilegesPolicy): readonly string[] {
  const bounded = toBounded(profile);
  const held = bounded === undefined ? [] : [`--bounding-set=${bounded}`];
  return noNewPrivileges || profile === 'minimal' ? [...held, '--no-new-privs'] : held;
}

function toBounded(profile: NonNullable<PrivilegesPolicy['profile']>): string | undefined {
  switch (profile) {
    case 'minimal':
      return '-all';
    case 'standard':
      return ['-all', ...STANDARD.map((name) => `+${name}`)].join(',');
    case 'privileged':
    case '':
      return undefined;
    default:
      return profile satisfies never;
  }
}
