// The frame of a command that works on a platform: flags that choose the platform, the organization and JSON output.
import type { Command, CommandModule, Flag } from '../command.ts';
import { jsonFlag } from '../json-flag.ts';

export interface Word {
  readonly name: string;
  readonly also?: readonly string[];
  readonly summary: string;
  readonly operands?: readonly string[];
  /** An optional operand after the others. */
  readonly optional?: string;
  readonly flags?: Readonly<Record<string, Flag>>;
  readonly notes?: readonly string[];
  /** `operator`: the command works on the platform's own machine only, and for no organization. */
  readonly scope?: 'organization' | 'operator';
  load(): Promise<CommandModule['run']>;
}

export const placeFlags: Readonly<Record<string, Flag>> = {
  dir: { type: 'string', value: 'DIR', summary: 'a platform of this machine, by its directory (REMORA_PLATFORM_DIR)' },
  database: { type: 'string', value: 'URL', summary: 'its PostgreSQL database, if it has one (REMORA_DATABASE_URL)' },
};

export const elsewhereFlags: Readonly<Record<string, Flag>> = {
  url: { type: 'string', value: 'URL', summary: 'a platform elsewhere (REMORA_URL; else what `remora login` keeps)' },
  'token-file': {
    type: 'string',
    value: 'FILE',
    summary: 'with a token of an organization (REMORA_API_TOKEN_FILE, REMORA_API_TOKEN)',
  },
};

/** The flags with which a command opens the database of a platform that does not run. */
export const offlineFlags: Readonly<Record<string, Flag>> = {
  'key-file': { type: 'string', value: 'FILE', summary: 'vault keys; for credentials where no platform serves' },
  providers: { type: 'string', value: 'FILE', summary: 'more providers, as for `remora platform`; likewise' },
  'public-url': { type: 'string', value: 'URL', summary: 'where callers reach it; likewise' },
};

export const organizationFlag: Readonly<Record<string, Flag>> = {
  organization: {
    type: 'string',
    value: 'NAME',
    summary: 'on the machine of the platform: whose; not needed where there is only one',
  },
};

export function toCommand(word: Word): Command {
  const { name, also, summary, operands = [], optional, notes } = word;
  const isOperator = word.scope === 'operator';
  return {
    name,
    ...(also === undefined ? {} : { also }),
    group: 'platform',
    inner: true,
    summary,
    operands: [...operands, ...(optional === undefined ? [] : [`[${optional}]`])].join(' '),
    count: [operands.length, operands.length + (optional === undefined ? 0 : 1)],
    flags: {
      ...word.flags,
      json: jsonFlag,
      ...(isOperator ? {} : elsewhereFlags),
      ...placeFlags,
      ...(isOperator ? {} : organizationFlag),
    },
    ...(notes === undefined ? {} : { notes }),
    load: async () => ({ run: await word.load() }),
  };
}

/** `remora platform sprite list ORGANIZATION`: the same on the platform's machine, with the organization as an operand. */
export function toPlatformCommand(word: Word): Command {
  const { also, operands = [], scope } = word;
  const names = { name: `platform ${word.name}`, ...(also === undefined ? {} : { also: also.map(toPlatformName) }) };
  if (scope === 'operator') {
    const command = toCommand({ ...word, ...names });
    return pinToMachine({ ...command, flags: { ...command.flags, ...offlineFlags } });
  }
  const command = toCommand({ ...word, ...names, operands: ['ORGANIZATION', ...operands] });
  const { url: _url, 'token-file': _tokenFile, organization: _organization, ...flags } = command.flags;
  return pinToMachine({ ...command, flags: { ...flags, ...offlineFlags } });
}

/** The same under another name, for the platform of this machine only; `--organization` says whose. */
export function toPinnedCommand(word: Word, name: string): Command {
  const command = toCommand({ ...word, name });
  const { url: _url, 'token-file': _tokenFile, ...flags } = command.flags;
  return pinToMachine({ ...command, flags });
}

function toPlatformName(name: string): string {
  return `platform ${name}`;
}

/** Makes a command ignore logins: it works on the directory of --dir, of REMORA_PLATFORM_DIR, or on the default one. */
function pinToMachine(command: Command): Command {
  const takesOrganization = command.operands.startsWith('ORGANIZATION');
  return {
    ...command,
    alias: true,
    async load() {
      const [module, { toPlatformDir }] = await Promise.all([command.load(), import('../platform/platform-dir.ts')]);
      return {
        run(invocation) {
          const { operands } = invocation;
          return module.run({
            ...invocation,
            operands: takesOrganization ? operands.slice(1) : operands,
            text(flag) {
              if (flag === 'dir') return toPlatformDir(invocation);
              return flag === 'organization' && takesOrganization ? operands[0] : invocation.text(flag);
            },
          });
        },
      };
    },
  };
}
