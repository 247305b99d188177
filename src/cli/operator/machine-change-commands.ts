// `remora machine create|update|…`: the commands that make, change and delete machines; each function is one.
import { toFieldProblem } from '../../contract/field-problem.ts';
import { type MachineConfigRequest, machineConfigRequest } from '../../contract/machine-config.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';
import { readFlagFile } from '../read-flag-file.ts';
import { inApp, START_TIMEOUT_MS, toName, withMachine } from './find-machine.ts';
import { print } from './print.ts';

const MEMORY_MAX_MB = 1_048_576;
const LEASE_MAX_S = 3_600;
const LEASE_S = 60;

export async function createMachine(invocation: Invocation): Promise<number> {
  const [given] = invocation.operands;
  const body = {
    name: invocation.text('name'),
    config: toConfig(invocation, parseConfig(given)),
    skip_launch: invocation.has('skip-launch'),
  };
  const machine = await inApp(invocation, ({ client, app_name }) =>
    client.call('createMachine', { params: { app_name }, body, timeout_ms: START_TIMEOUT_MS }),
  );
  return print(invocation, machine, [[machine.id, machine.name ?? '-', machine.state]]);
}

/** Takes the configuration that the machine has where no JSON is given, with what the flags change. */
export async function updateMachine(invocation: Invocation): Promise<number> {
  const [, given] = invocation.operands;
  const parsed = given === undefined ? undefined : parseConfig(given);
  const updated = await withMachine(invocation, async ({ client, machine, params }) => {
    const { external: _external, schedule, ...kept } = machine.config ?? {};
    const before = { ...kept, ...(schedule === undefined ? {} : { schedule }) } as MachineConfigRequest;
    const body = {
      config: toConfig(invocation, parsed ?? before),
      current_version: machine.version || undefined,
      skip_launch: invocation.has('skip-launch'),
    };
    return await client.call('updateMachine', { params, body, timeout_ms: START_TIMEOUT_MS });
  });
  return print(invocation, updated, [
    [`${toName(updated)} has the version ${updated.version}, and is ${updated.state}`],
  ]);
}

export async function destroyMachine(invocation: Invocation): Promise<number> {
  const force = invocation.has('force');
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call('destroyMachine', { params, query: { force } }),
  }));
  return print(invocation, answer, [[`${toName(machine)} is deleted`]]);
}

export async function restartMachine(invocation: Invocation): Promise<number> {
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call('restartMachine', { params, query: {}, timeout_ms: START_TIMEOUT_MS }),
  }));
  return print(invocation, answer, [[`${toName(machine)} was restarted`]]);
}

export async function cordonMachine(invocation: Invocation): Promise<number> {
  return await setCordoned(invocation, 'cordonMachine', 'gets no more traffic');
}

export async function uncordonMachine(invocation: Invocation): Promise<number> {
  return await setCordoned(invocation, 'uncordonMachine', 'gets traffic again');
}

async function setCordoned(
  invocation: Invocation,
  operation: 'cordonMachine' | 'uncordonMachine',
  said: string,
): Promise<number> {
  const { machine, answer } = await withMachine(invocation, async ({ client, machine, params }) => ({
    machine,
    answer: await client.call(operation, { params }),
  }));
  return print(invocation, answer, [[`${toName(machine)} ${said}`]]);
}

/** Gets a lease, or with --release gives one back. */
export async function leaseMachine(invocation: Invocation): Promise<number> {
  const { text } = invocation;
  const nonce = text('release');
  return await withMachine(invocation, async ({ client, machine, params }) => {
    if (nonce !== undefined) {
      const headers = { 'fly-machine-lease-nonce': nonce };
      const answer = await client.call('releaseLease', { params, headers });
      return print(invocation, answer, [[`the lease of ${toName(machine)} is given back`]]);
    }
    const ttl = parseWhole('ttl', text('ttl'), LEASE_S, 1, LEASE_MAX_S);
    const answer = await client.call('acquireLease', { params, body: { ttl, description: text('description') ?? '' } });
    return print(invocation, answer, [[answer.data.nonce]]);
  });
}

function parseConfig(given: string | undefined): MachineConfigRequest {
  if (given === undefined) return {};
  const text = given === '-' ? readFlagFile('config', '-') : given;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError('the configuration is not valid JSON');
  }
  const result = machineConfigRequest.safeParse(value, { error: toFieldProblem });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new UsageError(`config.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not taken'}`);
}

function toConfig({ text }: Invocation, config: MachineConfigRequest): MachineConfigRequest {
  const memory = text('memory');
  const image = text('image');
  const guest = { ...config.guest, memory_mb: parseWhole('memory', memory, 1, 1, MEMORY_MAX_MB) };
  return { ...config, ...(memory === undefined ? {} : { guest }), ...(image === undefined ? {} : { image }) };
}
