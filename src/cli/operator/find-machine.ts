// Finds the machine that a command names, by its id or by the name of its sprite.
import type { Machine } from '../../contract/machines.ts';
import type { Invocation } from '../command.ts';
import { askPlatform, type PlatformClient } from '../target/platform-client.ts';

const PAGE = 1_000;
/** The platform answers a start after the first report of the agent, within ten minutes at most. */
export const START_TIMEOUT_MS = 660_000;

export interface Place {
  readonly client: PlatformClient;
  readonly app_name: string;
}

export interface Found extends Place {
  readonly machine: Machine;
  readonly params: { readonly app_name: string; readonly machine_id: string };
}

/** Works in the app of --app, or else in the app named like the organization. */
export async function inApp<T>(invocation: Invocation, work: (place: Place) => Promise<T>): Promise<T> {
  return await askPlatform(invocation, async (client) => {
    const app_name = invocation.text('app') ?? (await client.call('readOwnOrganization')).name;
    return await work({ client, app_name });
  });
}

/** Throws when no machine of the app has the id or the name that the first operand gives. */
export async function withMachine<T>(invocation: Invocation, work: (found: Found) => Promise<T>): Promise<T> {
  const [name = ''] = invocation.operands;
  return await inApp(invocation, async (place) => {
    const machines = await readAllMachines(place);
    const machine =
      machines.find(({ id }) => id === name) ?? machines.find((each) => each.sprite === name || each.name === name);
    if (machine === undefined) throw new Error(`there is no machine ${name} in ${place.app_name}`);
    return await work({ ...place, machine, params: { app_name: place.app_name, machine_id: machine.id } });
  });
}

export async function readAllMachines({ client, app_name }: Place): Promise<Machine[]> {
  const all: Machine[] = [];
  for (;;) {
    const query = { limit: PAGE, after: all.at(-1)?.id };
    const page = await client.call('listMachines', { params: { app_name }, query });
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

export function toName({ id, name }: Machine): string {
  return name === undefined ? id : `${name} (${id})`;
}
