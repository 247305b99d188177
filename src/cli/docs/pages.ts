// The pages that `npm run docs` keeps current, and what is made in each.
import { settings } from '../../agent/config/settings.ts';
import { agentOperations } from '../../contract/agent-operations.ts';
import { platformOperations } from '../../contract/platform-operations.ts';
import { commands } from '../commands.ts';
import { platformCommand } from '../platform/platform-command.ts';
import { toCommandPages, toCommandTable, toFlagTable } from './command-tables.ts';
import {
  toAgentOperationTable,
  toErrorTable,
  toEventTable,
  toPlatformOperationTable,
  toSourceTable,
} from './contract-tables.ts';
import { toExtensionsOperationTable } from './extensions-api.ts';
import { toExtensionsTable } from './extensions-rows.ts';
import { toMachinesApiTable } from './machines-api.ts';
import { toSandboxOperationTable, toSandboxRecordTable } from './sandbox-api.ts';
import { toSettingTable } from './setting-table.ts';
import { toSuspendRowTable } from './suspend-rows.ts';

export interface Page {
  /** The path of the page from the top of the repository. */
  readonly path: string;
  /** The generated parts, by the name in the marker `<!-- made: NAME -->`. */
  readonly parts: Readonly<Record<string, () => string>>;
}

const listed = commands.filter(({ alias }) => alias === undefined);

export const pages: readonly Page[] = [
  {
    path: 'src/agent/README.md',
    parts: {
      operations: () => toAgentOperationTable(agentOperations),
      settings: () => toSettingTable(settings),
      events: toEventTable,
      errors: toErrorTable,
    },
  },
  {
    path: 'src/platform/README.md',
    parts: {
      operations: () => toPlatformOperationTable(platformOperations),
      flags: () => toFlagTable(platformCommand.flags),
    },
  },
  {
    path: 'src/platform/SANDBOX-API.md',
    parts: { operations: toSandboxOperationTable, records: toSandboxRecordTable },
  },
  { path: 'src/platform/MACHINES-API.md', parts: { operations: toMachinesApiTable, rows: toSuspendRowTable } },
  {
    path: 'src/platform/EXTENSIONS-API.md',
    parts: { operations: toExtensionsOperationTable, rows: toExtensionsTable },
  },
  { path: 'src/contract/README.md', parts: { sources: toSourceTable } },
  {
    path: 'src/cli/README.md',
    parts: { commands: () => toCommandTable(listed), flags: () => toCommandPages(listed) },
  },
];
