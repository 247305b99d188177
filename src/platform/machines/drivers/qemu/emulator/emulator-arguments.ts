// The arguments of QEMU for a machine. Pure. No secret is among them, because every user reads the arguments of a process.
import { PRIVATE_RANGE } from '../../../../../core/private-address.ts';
import { TAP, TAP_ADDRESS } from '../egress/egress-addresses.ts';
import { GUEST_ADDRESS, GUEST_MAC, HOST_ADDRESS, NETWORK, PREFIX_LENGTH } from '../guest/guest-network.ts';
import type { EmulatorPlan, PlannedVolume } from './emulator-plan.ts';

/** The descriptors that the emulator inherits, after the three of every process. */
export const QMP_DESCRIPTOR = 3;
export const PORT_DESCRIPTOR = 4;
export const STATE_DESCRIPTOR = 5;

/** The host's address leads to the loopback of the network namespace, in which nothing but the platform listens. */
const USER_NETWORK = `user,id=net,net=${NETWORK},host=${HOST_ADDRESS},dhcpstart=${GUEST_ADDRESS},ipv6=off`;
/** The launch made the tap, in the network namespace of the emulator. */
const TAP_NETWORK = `tap,id=net,ifname=${TAP},script=no,downscript=no,vhost=off`;

export interface EmulatorStart {
  readonly plan: EmulatorPlan;
  /** A UUID that no start had before: the machine notices by it that it was restored. */
  readonly generation_id: string;
  /** The names of the machine's systemd credentials, each with a file in the directory `credentials`. */
  readonly credentials: readonly string[];
  /** Waits for a state and for `cont`; boots otherwise. */
  readonly isIncoming: boolean;
}

/** It works in the directory of the machine: files without a path are there. */
export function toEmulatorArguments({ plan, generation_id, credentials, isIncoming }: EmulatorStart): string[] {
  const { accel, cpu, cpus, memory_mb } = plan;
  return [
    ['-M', `q35,accel=${accel},memory-backend=memory,usb=off,i8042=off,smbus=off,vmport=off`],
    ['-cpu', cpu],
    ['-smp', String(cpus)],
    ['-m', String(memory_mb)],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    // The clock of the host runs on while the machine does not exist; the agent sees by it how long that was.
    ['-rtc', 'base=utc,clock=host'],
    ['-object', `memory-backend-file,id=memory,size=${memory_mb}M,mem-path=memory,share=on`],
    ['-kernel', 'kernel', '-initrd', 'initrd', '-append', toKernelLine(plan)],
    ...toDisk({ id: 'root', file: 'disk.qcow2', format: 'qcow2' }),
    ...plan.volumes.flatMap(({ serial, file }) => toDisk({ id: serial, file, format: 'raw', serial })),
    [
      '-netdev',
      plan.network === 'egress' ? TAP_NETWORK : USER_NETWORK,
      '-device',
      `virtio-net-pci,netdev=net,romfile=,mac=${GUEST_MAC}`,
    ],
    ['-chardev', 'file,id=console,path=agent.log,append=on', '-serial', 'chardev:console'],
    ['-chardev', `socket,id=qmp,fd=${QMP_DESCRIPTOR},server=on,wait=off`, '-mon', 'chardev=qmp,mode=control'],
    // What the host asks of the system in the machine, see guest/host-port.ts.
    ['-device', 'virtio-serial-pci', '-chardev', `socket,id=port,fd=${PORT_DESCRIPTOR},server=on,wait=off`],
    ['-device', 'virtserialport,chardev=port,name=remora.host'],
    ['-device', `vmgenid,guid=${generation_id}`],
    ...credentials.map((name) => ['-fw_cfg', `name=opt/io.systemd.credentials/${name},file=credentials/${name}`]),
    ...(isIncoming ? [['-incoming', 'defer', '-S']] : []),
    ['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
  ].flat();
}

interface Disk {
  readonly id: string;
  readonly file: string;
  readonly format: 'qcow2' | 'raw';
  readonly serial?: string;
}

/** A full disk of the host pauses the machine; any other error is the machine's to handle. */
function toDisk({ id, file, format, serial }: Disk): string[][] {
  const options = [`file=${doubleCommas(file)}`, `format=${format}`, 'if=none', `id=${id}`, 'cache=writeback'];
  const errors = ['werror=enospc', 'rerror=report', 'discard=unmap', 'detect-zeroes=unmap'];
  const device = `virtio-blk-pci,drive=${id}${serial === undefined ? '' : `,serial=${serial}`}`;
  return [
    ['-drive', [...options, ...errors].join(',')],
    ['-device', device],
  ];
}

/** A comma in a value is written twice. */
function doubleCommas(path: string): string {
  return path.replaceAll(',', ',,');
}

function toKernelLine({ append, kernel_args, volumes, private_address, name_servers = [] }: EmulatorPlan): string {
  const network = `remora.net=${GUEST_ADDRESS}/${PREFIX_LENGTH},${HOST_ADDRESS}`;
  const own = private_address === undefined ? [] : [`remora.net6=${private_address},${TAP_ADDRESS},${PRIVATE_RANGE}`];
  const names = name_servers.length === 0 ? [] : [`remora.dns=${name_servers.join(',')}`];
  return [append, network, ...own, ...names, ...volumes.map(toVolumeWord), ...kernel_args].join(' ');
}

function toVolumeWord({ serial, path }: PlannedVolume): string {
  return `remora.volume=${serial},${path}`;
}
