// What a machine gets as systemd credentials: its token, and its variables as a file that systemd reads. Pure.
import { RemoraError } from '../../../../../core/remora-error.ts';
import { Secret } from '../../../../../core/secret.ts';
import type { MachineSpec } from '../../machine-driver.ts';
import { HOST_ADDRESS, NODE_PORT, PLATFORM_PORT } from './guest-network.ts';

export interface GuestIdentity {
  readonly spec: MachineSpec;
  readonly token: Secret;
  /** Whether the platform has a database node for its machines. */
  readonly hasNode: boolean;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The credentials by the names that the image's units read. Throws `invalid_request` for a variable that systemd cannot read from a file. */
export function toCredentials({ spec, token, hasNode }: GuestIdentity): ReadonlyMap<string, Secret> {
  const platform = `http://${HOST_ADDRESS}:${PLATFORM_PORT}`;
  const variables = {
    ...spec.environment,
    REMORA_BASE_URL: platform,
    REMORA_MACHINES_API: platform,
    // Nobody but the host is on the other end of its network.
    REMORA_PLAIN_HTTP_HOSTS: HOST_ADDRESS,
    REMORA_SPRITE: spec.sprite,
    REMORA_APP: spec.app,
    REMORA_MACHINE: spec.id,
    ...(hasNode ? { REMORA_NODE_URL: `http://${HOST_ADDRESS}:${NODE_PORT}` } : {}),
    FLY_APP_NAME: spec.app,
    FLY_MACHINE_ID: spec.id,
    FLY_REGION: spec.region,
    FLY_PRIVATE_IP: spec.private_ip,
    FLY_VM_MEMORY_MB: String(spec.memory_mb),
    FLY_MACHINE_VERSION: spec.instance_id,
  };
  const lines = Object.entries(variables).map(([name, value]) => toEnvironmentLine(name, value));
  return new Map([
    ['remora-token', token],
    ['remora-env', new Secret(`${lines.join('\n')}\n`)],
  ]);
}

/** A line of a file of systemd's `EnvironmentFile=`. */
export function toEnvironmentLine(name: string, value: string): string {
  if (!NAME.test(name)) throw new RemoraError('invalid_request', `${name} is no name of a variable`);
  if (value.includes('\0')) throw new RemoraError('invalid_request', `the variable ${name} has a zero byte`);
  return `${name}="${value.replaceAll(/["\\$`]/g, '\\$&')}"`;
}
