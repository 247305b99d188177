// Opens the way of a machine to its platform, and its way out where it has one.
import { withoutBrackets } from '../../../../core/without-brackets.ts';
import { layCable } from './egress/egress-link.ts';
import type { EmulatorSession } from './emulator/emulator-session.ts';
import { openGuestListener, type Place } from './guest/guest-listener.ts';
import { HOST_ADDRESS, LOOPBACK, NODE_PORT, PLATFORM_PORT } from './guest/guest-network.ts';
import type { MachineNote } from './machine-note.ts';
import type { QemuHost } from './qemu-host.ts';

export interface MachineWay {
  readonly host: QemuHost;
  readonly id: string;
  readonly session: EmulatorSession;
  readonly note: MachineNote;
}

/** Throws `internal`, and the emulator runs on. What an earlier platform opened to itself ended with it. */
export async function openWay({ host, id, session, note }: MachineWay): Promise<Disposable> {
  const { pid } = session.process;
  const { nodeUrl } = host;
  const hasEgress = note.plan.network === 'egress';
  if (hasEgress) await layCable({ dir: host.dir, machine_id: id, pid });
  return await openGuestListener({
    pid,
    hasUserNamespace: note.uid === undefined,
    host: hasEgress ? HOST_ADDRESS : LOOPBACK,
    ways: [
      { port: PLATFORM_PORT, to: () => toPlace(host.machinesUrl()) },
      ...(nodeUrl === undefined ? [] : [{ port: NODE_PORT, to: () => toPlace(nodeUrl) }]),
    ],
  });
}

function toPlace(url: string): Place {
  const { hostname, port } = new URL(url);
  return { host: withoutBrackets(hostname), port: Number(port) };
}
