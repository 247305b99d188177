// The networks of machines with a way out, as places where private addresses are listened at. An address lies on the tap, before which is
// nothing but the machine.
import { runTool } from '../../../../linux/processes/run-tool.ts';
import type { MachineDriver, MachineNetwork } from '../machine-driver.ts';
import { TAP } from './egress/egress-addresses.ts';
import { openInNetwork } from './guest/open-in-network.ts';
import type { Instance, Instances } from './instances.ts';
import type { QemuSettings } from './qemu-settings.ts';

export interface NetworkPlace {
  readonly machine_id: string;
  /** A process that is in the network. */
  readonly pid: number;
  /** What tells the process from a later one with its id. */
  readonly start_ticks: number;
}

/** The networks of machines that were booted with an address; nothing on a host that gives them no way out. */
export function toPrivateNetworks(
  { network }: Pick<QemuSettings, 'network'>,
  instances: Pick<Instances, 'list'>,
): Pick<MachineDriver, 'privateNetworks'> {
  if (network !== 'egress') return {};
  const has = ({ note }: Instance) => note.plan.private_address !== undefined;
  const privateNetworks = () =>
    instances
      .list()
      .filter(([, instance]) => has(instance))
      .map(
        ([
          machine_id,
          {
            process: { pid, start_ticks },
          },
        ]) => toMachineNetwork({ machine_id, pid, start_ticks }),
      );
  return { privateNetworks };
}

export function toMachineNetwork({ machine_id, pid, start_ticks }: NetworkPlace): MachineNetwork {
  return {
    machine_id,
    id: `${pid} ${start_ticks}`,
    async listen(host, ports) {
      const inMachine = ['--net', '--target', String(pid), '--', 'ip'];
      // Nobody else is in this network, so that no other one can have the address.
      await runTool('nsenter', [...inMachine, '-6', 'addr', 'replace', `${host}/128`, 'dev', TAP, 'nodad']);
      if (ports.length === 0) return [];
      return await openInNetwork({ pid, hasUserNamespace: false, host, ports });
    },
  };
}
