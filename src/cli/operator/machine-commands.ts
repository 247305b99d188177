// `remora machine …`: each function is one command. A machine is named by its id or by the name of its sprite.
import { type Machine, machineStatus } from '../../contract/machines.ts';
import { toLogLine } from '../../core/log-line.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';
import { inApp, readAllMachines, START_TIMEOUT_MS, toName, withMachine } from './find-machine.ts';
import { print, toWhen } from './print.ts';

const TAIL = 100;
const TAIL_MAX = 1_000;
const WAIT_MAX_S = 60;
/** How long the client waits beyond the time that the platform was given. */
const GRACE_MS = 10_000;

export async function listMachines(invocation: Invocation): Promise<number> {
  const machines = await inApp(invocation, readAllMachines);
  return print(invocation, machines, [
    ['ID', 'NAME', 'STATE', 'REGION', 'CREATED', 'LAST END'],
    ...machines.map((machine) => [
      machine.id,
      machine.name ?? '-',
      machine.state,
      machine.region ?? '-',
      toWhen(machine.created_at),
      toEnd(machine),
    ]),
  ]);
}

export async function showMachine(invocation: Invocation): Promise<number> {
  const machine = await withMachine(invocation, async (found) => found.machine);
  return print(invocation, machine, [
    ['id', machine.id],
    ['name', machine.name ?? '-'],
    ['state', machine.state],
    ['instance', machine.instance_id ?? '-'],
    ['region', machine.region ?? '-'],
    ['private address', machine.private_ip ?? '-'],
    ['config', JSON.stringify(machine.config ?? {})],
    ['created', toWhen(machine.created_at)],
    ['last end', toEnd(machine)],
  ]);
}

export async function startMachine(invocation: Invocation): Promise<number> {
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call('startMachine', { params, timeout_ms: START_TIMEOUT_MS }),
  }));
  return print(invocation, answer, [[`${toName(machine)} runs; it was ${answer.previous_state}`]]);
}

export async function stopMachine(invocation: Invocation): Promise<number> {
  const { text } = invocation;
  const body = { signal: text('signal'), timeout: text('timeout') };
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call('stopMachine', { params, body }),
  }));
  return print(invocation, answer, [[`${toName(machine)} is being stopped`]]);
}

export async function suspendMachine(invocation: Invocation): Promise<number> {
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call('suspendMachine', { params }),
  }));
  return print(invocation, answer, [[`${toName(machine)} is being suspended`]]);
}

export async function adoptMachine(invocation: Invocation): Promise<number> {
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call('adoptMachine', { params }),
  }));
  const line = `the next agent that reports as ${toName(machine)}, and is not the one that is served, takes its place`;
  return print(invocation, answer, [[line]]);
}

/** Prints lines as they are in the log; on a terminal in the readable form of daemons. */
export async function machineLogs(invocation: Invocation): Promise<number> {
  const { out, text, has } = invocation;
  const query = { tail: parseWhole('tail', text('tail'), TAIL, 0, TAIL_MAX), follow: has('follow') };
  const show = process.stdout.isTTY && !has('json') ? (line: string) => toLogLine(line, out.colours).trimEnd() : String;
  return await withMachine(invocation, async ({ client, params }) => {
    for await (const { line } of client.stream('readMachineLog', { params, query })) {
      out.line(has('json') ? JSON.stringify({ line }) : show(line));
    }
    return exitCode.ok;
  });
}

export async function waitMachine(invocation: Invocation): Promise<number> {
  const { text } = invocation;
  const state = machineStatus.safeParse(text('state') ?? 'running').data;
  if (state === undefined) throw new UsageError('--state takes running, suspended or stopped');
  const timeout = parseWhole('timeout', text('timeout'), WAIT_MAX_S, 1, WAIT_MAX_S);
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call('waitMachine', {
      params,
      query: { state, timeout },
      timeout_ms: timeout * 1_000 + GRACE_MS,
    }),
  }));
  return print(invocation, answer, [[`${toName(machine)} is ${state}`]]);
}

/** A crash is an end without a request. */
function toEnd({ last_exit }: Machine): string {
  if (last_exit === undefined) return '-';
  const { signal, exit_code, requested, at } = last_exit;
  const how = signal ?? (exit_code === null ? 'unseen' : `exit code ${exit_code}`);
  return `${toWhen(at)}, ${how}${requested ? ', as asked' : ''}`;
}
