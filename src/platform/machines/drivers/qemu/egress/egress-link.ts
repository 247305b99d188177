// Lays the cable from the network namespace of a machine to that of the host. The kernel takes it away with the namespace, which ends with
// the emulator, however that ends; the rules of the host are taken away when no machine of the platform has a way out.
import { networkInterfaces } from 'node:os';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { runTool } from '../../../../../linux/processes/run-tool.ts';
import { chooseLink, type Link, toCableName, toScope, UPLINK } from './egress-addresses.ts';
import { toHostRules, toHostTable } from './egress-rules.ts';

export interface EgressLink {
  /** The directory of the platform's machines. */
  readonly dir: string;
  readonly machine_id: string;
  /** The emulator, which is in the network namespace of the machine. */
  readonly pid: number;
}

/** Does nothing for a machine that has its cable. Throws `internal` when it cannot be laid, and `limit_reached` when no address is free. */
export async function layCable({ dir, machine_id, pid }: EgressLink): Promise<void> {
  const scope = toScope(dir);
  // A firewall that was loaded again may have thrown them away.
  await runTool('nft', ['-f', '-'], { input: toHostRules(scope) });
  const inMachine = ['--net', '--target', String(pid), '--', 'ip'];
  const isLaid = await succeeds(runTool('nsenter', [...inMachine, 'link', 'show', UPLINK]));
  if (isLaid) return;
  const cable = toCableName(scope, machine_id);
  // The kernel is a moment late with that of the instance before.
  await succeeds(runTool('ip', ['link', 'delete', cable]));
  const link = chooseLink(cable, new Set(readOwnAddresses()));
  if (link === undefined) throw new RemoraError('limit_reached', 'this host has no address left for a way out');
  await runTool('ip', ['-batch', '-'], { input: toHostCommands(cable, link, pid) });
  await runTool('nsenter', [...inMachine, '-batch', '-'], { input: toMachineCommands(link) });
}

function toHostCommands(cable: string, { host }: Link, pid: number): string {
  return `link add ${cable} type veth peer name ${UPLINK} netns ${pid}
addr add ${host}/31 dev ${cable}
link set ${cable} up
`;
}

function toMachineCommands({ host, machine }: Link): string {
  return `addr add ${machine}/31 dev ${UPLINK}
link set ${UPLINK} up
route add default via ${host}
`;
}

/** Takes the rules of the host away. Does nothing when there are none. */
export async function removeHostRules(dir: string): Promise<void> {
  await succeeds(runTool('nft', ['delete', 'table', 'inet', toHostTable(toScope(dir))]));
}

/** The IPv4 addresses of the host. */
export function readOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.filter(({ family }) => family === 'IPv4').map(({ address }) => address),
  );
}

async function succeeds(step: Promise<unknown>): Promise<boolean> {
  return await step.then(
    () => true,
    () => false,
  );
}
