// What Debian's tools are told of the package. Pure.
import type { Architecture } from '../architecture.ts';

export interface ControlFields {
  readonly version: string;
  readonly architecture: Architecture;
  readonly description: string;
  /** The size of its files when they are installed. */
  readonly size_bytes: number;
}

const NAME = 'remora';
/** The least versions are those that Node and the library of SQLite are linked with. */
const DEPENDS = [
  'libc6 (>= 2.34)',
  'libstdc++6 (>= 11)',
  'libgcc-s1',
  'libatomic1',
  'passwd',
  'systemd | systemd-standalone-sysusers | systemd-sysusers',
];
/** What enforces a network policy uses the two last ones. */
const RECOMMENDS = ['systemd', 'libnftables1', 'iproute2'];
const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
const KB = 1_024;

/** The version as Debian orders them: what leads to a version comes before it. Throws for what is no version of npm. */
export function toDebianVersion(version: string): string {
  if (!VERSION.test(version)) throw new Error(`${JSON.stringify(version)} is no version`);
  const [plain = '', ...before] = version.split('-');
  return before.length === 0 ? plain : `${plain}~${before.join('.')}`;
}

export function toFileName({ version, architecture }: Pick<ControlFields, 'version' | 'architecture'>): string {
  return `${NAME}_${toDebianVersion(version)}_${architecture}.deb`;
}

export function toControl({ version, architecture, description, size_bytes }: ControlFields): string {
  return [
    `Package: ${NAME}`,
    `Version: ${toDebianVersion(version)}`,
    `Architecture: ${architecture}`,
    'Maintainer: The Remora authors <remora@remora.invalid>',
    `Installed-Size: ${Math.ceil(size_bytes / KB)}`,
    `Depends: ${DEPENDS.join(', ')}`,
    `Recommends: ${RECOMMENDS.join(', ')}`,
    'Section: admin',
    'Priority: optional',
    `Description: ${description}`,
    ' The agent, the command remora and the platform, with the Node that runs them. The agent and its',
    ' sockets are started; the platform, the socket that only reads and what enforces a network policy',
    ' are there to be enabled.',
    '',
  ].join('\n');
}
