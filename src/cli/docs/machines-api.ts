// The Fly Machines API as a table: each operation with whether the platform serves it. Pure.
import type { Operation } from '../../contract/operation.ts';
import { platformOperations } from '../../contract/platform-operations.ts';
import { toOperationName } from './contract-tables.ts';
import { toMarkdownTable } from './markdown-table.ts';

/** Remarks that the summary does not make, by the name of the operation. */
const remarks: Readonly<Record<string, string>> = {
  'POST `/v1/apps/{app_name}/machines`': 'one region; with the driver `process` no image and no `init.exec`',
  'POST `/v1/apps/{app_name}/volumes`':
    'no copies, forks or encryption; with the driver `process` the size is a number only',
  'GET `/v1/apps/{app_name}/machines/{machine_id}/lease`': 'a token that only reads does not see the nonce',
  'POST `/v1/apps/{app_name}/machines/{machine_id}/cordon`':
    'a machine that is cordoned gets no request of the host of its app',
};

/** What clients of that API may ask for and nobody answers here. */
const missing: readonly (readonly [operation: string, what: string])[] = [
  [
    'GET `/v1/apps/{app_name}/machines/{machine_id}/ps`',
    'the processes of a machine; a sprite has `GET /v1/sprites/{name}/exec`',
  ],
  [
    'POST `/v1/apps/{app_name}/machines/{machine_id}/exec`',
    'run a command; a sprite has `POST /v1/sprites/{name}/exec`, also by the id of a machine',
  ],
  ['PATCH `/v1/apps/{app_name}/machines/{machine_id}/metadata`', 'change several values; PUT replaces all'],
  ['POST `/v1/apps/{app_name}/volumes/{volume_id}/snapshots`', 'copy a volume'],
  ['GET `/v1/apps/{app_name}/secrets`', 'secrets of an app, and what belongs to them'],
  ['GET `/v1/platform/regions`', 'there is one region'],
];

export function toMachinesApiTable(): string {
  const served = Object.values<Operation>(platformOperations).filter(({ source }) =>
    source.includes('Fly Machines API'),
  );
  return toMarkdownTable(
    ['operation', 'state', 'what it does'],
    [
      ...served.map((operation) => {
        const name = toOperationName(operation);
        const remark = remarks[name];
        return [name, 'done', remark === undefined ? operation.summary : `${operation.summary} (${remark})`];
      }),
      ...missing.map(([name, what]) => [name, 'not served', what]),
    ],
  );
}
