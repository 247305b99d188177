// `remora services …`: each function is one command.
import type { ServiceResponse } from '../../../contract/services.ts';
import type { Invocation } from '../../command.ts';
import { exitCode, UsageError } from '../../exit-code.ts';
import { parseWhole } from '../../number-flag.ts';
import { print, toWhen } from '../../operator/print.ts';
import { toPrintable } from '../../table.ts';
import { askInside, type SpriteDoor } from '../sprite-door.ts';
import { toVariables } from '../variables.ts';
import { printLog } from './print-log.ts';

const PORT_MAX = 65_535;
const LINES_MAX = 10_000;
/** The longest that one call follows a log. */
const FOLLOW = '1h';

export async function listServices(invocation: Invocation): Promise<number> {
  const { out, has } = invocation;
  const services = await askInside(invocation, (door) => door.client.call('listServices'));
  if (services.length === 0 && !has('json')) {
    out.line('there is no service');
    return exitCode.ok;
  }
  return print(invocation, services, [
    ['NAME', 'STATUS', 'PID', 'STARTED', 'RESTARTS', 'PORT', 'COMMAND'],
    ...services.map((service) => [
      service.name,
      service.state?.status ?? '-',
      String(service.state?.pid ?? '-'),
      toWhen(service.state?.started_at),
      String(service.state?.restart_count ?? 0),
      String(service.http_port ?? '-'),
      [service.cmd, ...service.args].join(' '),
    ]),
  ]);
}

export async function showService(invocation: Invocation): Promise<number> {
  const service = (await askInside(invocation, (door) => read(door, invocation))) as ServiceResponse;
  const { state } = service;
  return print(invocation, service, [
    ['name', service.name],
    ['status', state?.status ?? '-'],
    ...(state?.error === undefined ? [] : [['error', state.error]]),
    ...(state?.next_restart_at === undefined ? [] : [['next start', toWhen(state.next_restart_at)]]),
    ['pid', String(state?.pid ?? '-')],
    ['started', toWhen(state?.started_at)],
    ['restarts', String(state?.restart_count ?? 0)],
    ['command', [service.cmd, ...service.args].join(' ')],
    ['directory', service.dir ?? '-'],
    ['needs', service.needs.join(', ') || '-'],
    ['http port', String(service.http_port ?? '-')],
  ]);
}

export async function createService(invocation: Invocation): Promise<number> {
  const { operands, text, texts, env } = invocation;
  const [service = '', cmd = '', ...args] = operands;
  const variables = toVariables(texts('env'), env).map((pair) => pair.split(/=(.*)/s, 2) as [string, string]);
  const port = text('http-port');
  const body = {
    cmd,
    args,
    needs:
      text('needs')
        ?.split(',')
        .filter((each) => each !== '') ?? [],
    ...(text('workdir') === undefined ? {} : { dir: text('workdir') }),
    ...(variables.length === 0 ? {} : { env: Object.fromEntries(variables) }),
    ...(port === undefined ? {} : { http_port: parseWhole('http-port', port, 0, 1, PORT_MAX) }),
  };
  return await watch(invocation, (door) =>
    door.client.stream('putService', { params: { service }, body, ...during(invocation) }),
  );
}

export async function startService(invocation: Invocation): Promise<number> {
  const params = toParams(invocation);
  return await watch(invocation, (door) => door.client.stream('startService', { params, ...during(invocation) }));
}

export async function restartService(invocation: Invocation): Promise<number> {
  const params = toParams(invocation);
  return await watch(invocation, (door) => door.client.stream('restartService', { params, ...during(invocation) }));
}

export async function stopService(invocation: Invocation): Promise<number> {
  const { text, out, has } = invocation;
  const params = toParams(invocation);
  const timeout = text('timeout');
  const query = timeout === undefined ? {} : { timeout };
  return await askInside(invocation, async (door) => {
    await printLog(invocation, door.client.stream('stopService', { params, query }), false);
    const { state } = await read(door, invocation);
    if (!has('json')) out.line(`${params.service} is ${state?.status ?? 'gone'}`);
    return state?.status === 'stopped' ? exitCode.ok : exitCode.failed;
  });
}

export async function deleteService(invocation: Invocation): Promise<number> {
  const params = toParams(invocation);
  await askInside(invocation, (door) => door.client.call('deleteService', { params, timeout_ms: DELETE_MS }));
  return print(invocation, { deleted: params.service }, [[`${params.service} is deleted; its log file is kept`]]);
}

export async function signalService(invocation: Invocation): Promise<number> {
  const [name = '', signal = ''] = invocation.operands;
  await askInside(invocation, (door) => door.client.call('signalService', { body: { name, signal } }));
  return print(invocation, { name, signal }, [[`${signal} is sent to ${name}`]]);
}

export async function showLogs(invocation: Invocation): Promise<number> {
  const { text, has } = invocation;
  const params = toParams(invocation);
  const given = text('lines');
  const lines = given === undefined ? {} : { lines: parseWhole('lines', given, 0, 0, LINES_MAX) };
  return await askInside(invocation, async (door) => {
    const query = has('follow') ? { ...lines, duration: FOLLOW } : lines;
    await printLog(invocation, door.client.stream('followServiceLogs', { params, query }), has('follow'));
    while (has('follow')) {
      const more = { lines: 0, duration: FOLLOW };
      await printLog(invocation, door.client.stream('followServiceLogs', { params, query: more }), true);
    }
    return exitCode.ok;
  });
}

/** A service may take as long as its stop to be deleted. */
const DELETE_MS = 120_000;

type Events = ReturnType<SpriteDoor['client']['stream']>;

/** Prints what a move shows, then how the service is; the exit code says whether it is up. */
async function watch(invocation: Invocation, move: (door: SpriteDoor) => Events): Promise<number> {
  const { out, has } = invocation;
  return await askInside(invocation, async (door) => {
    const events = move(door) as Parameters<typeof printLog>[1];
    const { path, hasEnded } = await printLog(invocation, events, true);
    const { name, state } = await read(door, invocation);
    // One that is started again after a crash is up once it runs.
    const isUp = state?.status === 'running' || (state?.status === 'starting' && !hasEnded);
    if (has('json')) return isUp ? exitCode.ok : exitCode.failed;
    const pid = state?.pid === undefined ? '' : `, pid ${state.pid}`;
    const error = state?.error === undefined ? '' : `: ${state.error}`;
    out.line(toPrintable(`${name} is ${state?.status ?? 'gone'}${pid}${error}`));
    if (path !== undefined) out.note(`its log: ${toPrintable(path)}`);
    return isUp ? exitCode.ok : exitCode.failed;
  });
}

async function read(door: SpriteDoor, invocation: Invocation): Promise<ServiceResponse> {
  return await door.client.call('readService', { params: toParams(invocation) });
}

function toParams({ operands }: Invocation): { readonly service: string } {
  const [service = ''] = operands;
  if (service === '') throw new UsageError('services: the name is empty');
  return { service };
}

function during({ text }: Invocation) {
  const duration = text('duration');
  return duration === undefined ? {} : { query: { duration } };
}
