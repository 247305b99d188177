// `remora organization …`, `remora host …` and `remora usage list`: each function is one command.
import { gatewayUsageRequest } from '../../contract/gateway-usage.ts';
import type { OrganizationRecord } from '../../contract/organizations.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';
import { askPlatform } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

const LIMIT_MAX = 1_000_000;

export async function listOrganizations(invocation: Invocation): Promise<number> {
  const answer = await askPlatform(invocation, (client) => client.call('listOrganizations'));
  return print(invocation, answer, [
    ['NAME', 'RUNNING LIMIT', 'WARM LIMIT', 'CREATION LIMIT'],
    ...answer.organizations.map(({ name, running_limit, warm_limit, creation_limit }) => [
      name,
      String(running_limit ?? '-'),
      String(warm_limit ?? '-'),
      String(creation_limit ?? '-'),
    ]),
  ]);
}

export async function createOrganization(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const display_name = invocation.text('display-name');
  const body = { name, ...toLimits(invocation), ...(display_name === undefined ? {} : { display_name }) };
  const made = await askPlatform(invocation, (client) => client.call('createOrganization', { body }));
  return print(invocation, made, [[made.name]]);
}

export async function updateOrganization(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const given = invocation.text('display-name');
  const display_name = given === 'none' ? null : given;
  const body = { ...toLimits(invocation), ...(display_name === undefined ? {} : { display_name }) };
  const changed = await askPlatform(invocation, (client) =>
    client.call('updateOrganization', { params: { name }, body }),
  );
  return print(invocation, changed, [toLine(changed)]);
}

export async function deleteOrganization(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const query = { force: invocation.has('force') };
  await askPlatform(invocation, (client) => client.call('deleteOrganization', { params: { name }, query }));
  return print(invocation, { deleted: name }, [[`${name} is deleted`]]);
}

export async function showOrganization(invocation: Invocation): Promise<number> {
  const own = await askPlatform(invocation, (client) => client.call('readOwnOrganization'));
  return print(invocation, own, [toLine(own)]);
}

export async function listHosts(invocation: Invocation): Promise<number> {
  const answer = await askPlatform(invocation, (client) => client.call('listHosts'));
  const rows = answer.hosts.map(({ host, machines, address, version, seen_at, drained_at, ...memory }) => [
    host,
    String(machines),
    `${memory.reserved_mb} MB${memory.total_mb === null ? '' : ` of ${memory.total_mb}`}`,
    memory.resident_mb === null ? '-' : `${memory.resident_mb} MB`,
    drained_at === undefined ? '-' : toWhen(drained_at),
    address ?? '-',
    version ?? '-',
    toWhen(seen_at),
  ]);
  return print(invocation, answer, [
    ['HOST', 'MACHINES', 'RESERVED', 'RESIDENT', 'DRAINED', 'ADDRESS', 'VERSION', 'LAST SIGN'],
    ...rows,
  ]);
}

export async function drainHost(invocation: Invocation): Promise<number> {
  const host = invocation.text('host') ?? 'self';
  await askPlatform(invocation, (client) => client.call('drainHost', { params: { host } }));
  const line =
    'it starts no machine; those that run are stopped, snapshots are thrown away. `host undrain` opens it again';
  return print(invocation, { drained: host }, [[line]]);
}

export async function undrainHost(invocation: Invocation): Promise<number> {
  const host = invocation.text('host') ?? 'self';
  await askPlatform(invocation, (client) => client.call('undrainHost', { params: { host } }));
  return print(invocation, { undrained: host }, [['it starts machines again, those that the drain has stopped too']]);
}

export async function forgetHost(invocation: Invocation): Promise<number> {
  const [host = ''] = invocation.operands;
  await askPlatform(invocation, (client) => client.call('forgetHost', { params: { host } }));
  const line = `${host} is forgotten; its machines are stopped, and start on whichever host is asked`;
  return print(invocation, { forgotten: host }, [[line]]);
}

export async function listUsage(invocation: Invocation): Promise<number> {
  const { text } = invocation;
  const query = { ...toDays(invocation), connector_id: text('connector'), sprite: text('sprite') };
  const answer = await askPlatform(invocation, (client) => client.call('readGatewayUsage', { query }));
  return print(invocation, answer, [
    ['DAY', 'CONNECTOR', 'PROVIDER', 'CALLS', 'REFUSED', 'SENT', 'RECEIVED', 'TOKENS IN', 'TOKENS OUT'],
    ...answer.usage.map((row) => [
      row.day,
      row.connector_id,
      row.provider,
      ...[row.calls, row.refused, row.request_bytes, row.response_bytes, row.input_tokens, row.output_tokens].map(
        String,
      ),
    ]),
  ]);
}

export async function listMachineUsage(invocation: Invocation): Promise<number> {
  const query = toDays(invocation);
  const answer = await askPlatform(invocation, (client) => client.call('readMachineUsage', { query }));
  return print(invocation, answer, [
    ['DAY', 'APP', 'WHAT', 'HOW MUCH'],
    ...answer.machines.map((row) => [row.day, row.app, `machines ${row.state}`, `${row.seconds} s`]),
    ...answer.volumes.map((row) => [row.day, row.app, 'volumes', `${row.gb_seconds} GB s`]),
  ]);
}

function toDays({ text }: Invocation) {
  const day = (flag: 'since' | 'until') => {
    const given = text(flag);
    if (given === undefined || gatewayUsageRequest.shape[flag].safeParse(given).success) return given;
    throw new UsageError(`--${flag} takes a day such as 2026-01-31, not ${given}`);
  };
  return { since: day('since'), until: day('until') };
}

function toLine({ name, display_name, running_limit, warm_limit, creation_limit }: OrganizationRecord): string[] {
  const limits = [`running ${running_limit ?? 'any'}`, `warm ${warm_limit ?? 'any'}`];
  const shown = display_name === null ? name : `${name} (${display_name})`;
  return [shown, ...limits, `creations ${creation_limit === null ? 'default' : `${creation_limit} a minute`}`];
}

function toLimits({ text }: Invocation) {
  const read = (flag: string) => {
    const given = text(flag);
    return given === 'none' ? null : parseWhole(flag, given, 0, 0, LIMIT_MAX);
  };
  return {
    ...(text('running-limit') === undefined ? {} : { running_limit: read('running-limit') }),
    ...(text('warm-limit') === undefined ? {} : { warm_limit: read('warm-limit') }),
    ...(text('creation-limit') === undefined ? {} : { creation_limit: read('creation-limit') }),
  };
}
