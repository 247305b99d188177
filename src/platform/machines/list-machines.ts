// The list of the machines of an app, with what a caller selects by.
import type { ListMachinesRequest, Machine } from '../../contract/machines.ts';
import { nextSlice } from '../../core/next-slice.ts';
import type { DestroyedMachines } from './records/destroyed-machines.ts';
import type { MachineRow } from './records/machine-row.ts';
import type { MachineStore } from './records/machine-store.ts';
import { toMachineRecord } from './records/machine-views.ts';

export interface ListMachinesDeps {
  readonly machines: Pick<MachineStore, 'list'>;
  readonly destroyed: Pick<DestroyedMachines, 'list'>;
}

const PAGE = 500;
const METADATA = 'metadata.';

/** Sorted by id, at most `limit` of them. */
export async function listMachines(
  { machines, destroyed }: ListMachinesDeps,
  organization_id: string,
  app: string,
  query: ListMachinesRequest,
): Promise<Machine[]> {
  const isAsked = toFilter(query);
  const found: Machine[] = [];
  let { after } = query;
  while (found.length < query.limit) {
    const rows = await machines.list(organization_id, app, { after, limit: PAGE });
    found.push(...rows.filter(isAsked).map((row) => (query.summary ? toSummary(row) : toMachineRecord(row))));
    after = rows.at(-1)?.id ?? after;
    if (rows.length < PAGE) break;
    await nextSlice();
  }
  if (query.include_deleted && (query.state === undefined || query.state === 'destroyed')) {
    found.push(...(await destroyed.list(organization_id, app, query)));
    found.sort((one, other) => (one.id < other.id ? -1 : 1));
  }
  return found.slice(0, query.limit);
}

function toFilter(query: ListMachinesRequest): (row: MachineRow) => boolean {
  const metadata = Object.entries(query).flatMap(([name, value]) =>
    name.startsWith(METADATA) ? [[name.slice(METADATA.length), value] as const] : [],
  );
  return ({ state, region, config, role }) =>
    (query.state === undefined || query.state === state) &&
    (query.region === undefined || query.region === region) &&
    metadata.every(([key, value]) => (key === 'role' && role !== null ? role : config.metadata?.[key]) === value);
}

function toSummary(row: MachineRow): Machine {
  const { config, checks: _checks, ...summary } = toMachineRecord(row);
  return { ...summary, config: config?.metadata === undefined ? {} : { metadata: config.metadata } };
}
