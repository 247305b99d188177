// Boots a machine: its files first, then its emulator, then its way to the platform.
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { randomBytes } from '../../../../core/urandom.ts';
import { readBootId } from '../../../../linux/boot-id.ts';
import type { MachineSpec } from '../machine-driver.ts';
import { toStorageFull } from '../storage-full.ts';
import { endCopy } from './copy-disk.ts';
import { finishFreeze } from './disk-chain.ts';
import { readOwnAddresses } from './egress/egress-link.ts';
import { toMachineRules } from './egress/egress-rules.ts';
import { toNameServers } from './egress/name-servers.ts';
import { toEmulatorArguments } from './emulator/emulator-arguments.ts';
import type { EmulatorPlan } from './emulator/emulator-plan.ts';
import { type EmulatorSession, endEmulator, openEmulator } from './emulator/emulator-session.ts';
import { toCredentials } from './guest/guest-environment.ts';
import { findImage } from './image.ts';
import type { NewInstance } from './instances.ts';
import type { MachineFiles } from './machine-files.ts';
import { type MachineNote, readNote, writeNote } from './machine-note.ts';
import { networkOf } from './network-of.ts';
import { openWay } from './open-way.ts';
import { hasDisk, makeDisk, makeMemory, prepareDirectory, writeCredentials } from './prepare-machine.ts';
import type { QemuHost } from './qemu-host.ts';
import { linkVolumes } from './qemu-volumes.ts';

const RESOLVERS = '/etc/resolv.conf';

/** Nothing of an earlier instance runs. Throws `not_configured`, `storage_full`, and `internal` when the emulator does not start. */
export async function bootMachine(host: QemuHost, spec: MachineSpec, uid: number | undefined): Promise<NewInstance> {
  const files = host.filesOf(spec.id);
  const note = await prepareFiles(host, spec, files, uid);
  const onStep = host.stepOf(spec.id);
  onStep('start the emulator');
  const session = await startEmulator({ host, files, note, isIncoming: false });
  try {
    onStep('open the way to the platform');
    return { ...session, files, note: noteOf(note, session), way: await openWay({ host, id: spec.id, session, note }) };
  } catch (error) {
    await endEmulator(session.process);
    throw error;
  }
}

async function prepareFiles(
  host: QemuHost,
  spec: MachineSpec,
  files: MachineFiles,
  uid: number | undefined,
): Promise<MachineNote> {
  try {
    const before = readNote(files.dir);
    await prepareDirectory(files, uid);
    await finishFreeze(files);
    await endCopy(files);
    const keepsDisk = !spec.resetsRoot && before !== undefined && hasDisk(files);
    // A disk that is kept needs the image that it was made on, which is linked beside it.
    const image = keepsDisk
      ? undefined
      : await findImage(host.imagesDir, { named: spec.config.image, usual: host.image });
    if (image !== undefined) await makeDisk(files, image, uid);
    const volumes = await linkVolumes(host.volumesDir, files, spec.volumes, uid);
    const { plan: kept, image_digest } = before ?? { plan: undefined, image_digest: '' };
    const plan: EmulatorPlan = {
      accel: host.accel,
      cpu: image?.boot.cpu ?? kept?.cpu ?? 'max',
      cpus: spec.config.guest?.cpus ?? 1,
      memory_mb: spec.memory_mb,
      append: image?.boot.append ?? kept?.append ?? '',
      kernel_args: spec.config.guest?.kernel_args ?? [],
      volumes,
      ...(networkOf(host, spec.config) === 'egress' ? await planEgress(spec) : {}),
    };
    await makeMemory({ files, uid, memory_mb: spec.memory_mb });
    const token = await host.createToken(spec.id);
    await writeCredentials(files, uid, toCredentials({ spec, token, hasNode: host.nodeUrl !== undefined }));
    const { instance_id } = spec;
    const note: MachineNote = {
      instance_id,
      boot_id: readBootId() ?? '',
      uid,
      image_digest: image?.digest ?? image_digest,
      phase: 'running',
      plan,
    };
    writeNote(files.dir, note);
    return note;
  } catch (error) {
    throw toStorageFull(error);
  }
}

export interface EmulatorBoot {
  readonly host: QemuHost;
  readonly files: MachineFiles;
  readonly note: MachineNote;
  readonly isIncoming: boolean;
}

/** Resolves when the emulator answers; the note names it. */
export async function startEmulator({ host, files, note, isIncoming }: EmulatorBoot): Promise<EmulatorSession> {
  const { plan, uid, instance_id } = note;
  const credentials = ['remora-token', 'remora-env'];
  return await openEmulator({
    files,
    emulator: host.emulator,
    args: toEmulatorArguments({ plan, generation_id: randomUuid(), credentials, isIncoming }),
    uid,
    instance_id,
    ...(plan.network === 'egress' ? { egressRules: toMachineRules(readOwnAddresses(), plan.private_address) } : {}),
    ...(isIncoming ? { state: files.state } : {}),
    onSpawned: ({ pid, start_ticks }) => writeNote(files.dir, { ...note, pid, start_ticks }),
  });
}

export function noteOf(note: MachineNote, { process: { pid, start_ticks } }: EmulatorSession): MachineNote {
  return { ...note, pid, start_ticks, boot_id: readBootId() ?? '' };
}

/** A host without the file asks nobody. */
async function planEgress({
  private_ip,
}: MachineSpec): Promise<Pick<EmulatorPlan, 'network' | 'private_address' | 'name_servers'>> {
  const own = isIPv6(private_ip) ? { private_address: private_ip } : {};
  return { network: 'egress', ...own, name_servers: toNameServers(await readFile(RESOLVERS, 'utf8').catch(() => '')) };
}

/** Version 4 of a UUID. */
function randomUuid(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [8, 12, 16, 20].reduceRight((text, at) => `${text.slice(0, at)}-${text.slice(at)}`, hex);
}
