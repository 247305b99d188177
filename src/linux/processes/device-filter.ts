// Which devices the processes of a control group may open. Version 2 of cgroups has no file for that: the kernel asks a program (bpf(2),
// BPF_PROG_TYPE_CGROUP_DEVICE), which is made here.
import { closeSync, statSync } from 'node:fs';
import { openBpf } from '../kernel/bpf.ts';
import { opcodes, toInstruction } from '../kernel/bpf-instructions.ts';

const { AND, EXIT, JUMP_UNLESS_EQUAL, LOAD_32, MOVE } = opcodes;

/** A device by its numbers; without a minor number, every device of the driver. */
export interface Device {
  readonly kind: 'block' | 'character';
  readonly major: number;
  readonly minor: number | undefined;
}

/** Hardly a program runs without these: null, zero, full, random, urandom, tty, ptmx, and the terminals themselves. */
export const usualDevices: readonly Device[] = [
  ...[3, 5, 7, 8, 9].map((minor) => ({ kind: 'character' as const, major: 1, minor })),
  { kind: 'character', major: 5, minor: 0 },
  { kind: 'character', major: 5, minor: 2 },
  { kind: 'character', major: 136, minor: undefined },
];

/** Undefined where there is no device of this name. */
export function findDevice(path: string): Device | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || !(found.isCharacterDevice() || found.isBlockDevice())) return undefined;
  const { rdev } = found;
  // How the C library puts both into one number.
  const major = (rdev >>> 8) & 0xfff;
  const minor = (rdev & 0xff) | ((rdev >>> 12) & 0xfff00);
  return { kind: found.isBlockDevice() ? 'block' : 'character', major, minor };
}

const PROGRAM_TYPE = 15;
const ATTACH_TYPE = 6;

export interface DeviceFilters {
  /**
   * The processes of the group, and of all groups inside it, may open and make these devices and no others from now on. What is open stays
   * open. The kernel keeps the filter as long as the group. Throws BpfError.
   */
  set(cgroup: string, devices: readonly Device[]): void;
}

/** Throws BpfError where this Node cannot call the kernel. */
export async function openDeviceFilters(): Promise<DeviceFilters> {
  const bpf = await openBpf();
  return {
    set(cgroup, devices) {
      const program = bpf.load({ type: PROGRAM_TYPE, attach_type: 0, instructions: toProgram(devices) });
      try {
        bpf.attach(program, ATTACH_TYPE, cgroup);
      } finally {
        // The group holds the program from here on.
        closeSync(program);
      }
    },
  };
}

/** Registers: the answer, and what is asked: a structure of three words. */
const [ANSWER, QUESTION, KIND, MAJOR, MINOR] = [0, 1, 2, 3, 4] as const;
const KIND_MASK = 0xffff;
const kinds = { block: 1, character: 2 } as const;

/** The instructions: 1 for a device of the list, 0 for every other one. */
function toProgram(devices: readonly Device[]): Buffer {
  const asked = [
    toInstruction(LOAD_32, KIND, QUESTION, 0, 0),
    toInstruction(AND, KIND, 0, 0, KIND_MASK),
    toInstruction(LOAD_32, MAJOR, QUESTION, 4, 0),
    toInstruction(LOAD_32, MINOR, QUESTION, 8, 0),
  ];
  return Buffer.concat([...asked, ...devices.flatMap(toCase), ...toEnd(0)]);
}

function toCase({ kind, major, minor }: Device): readonly Buffer[] {
  const wanted: readonly (readonly [register: number, value: number])[] = [
    [KIND, kinds[kind]],
    [MAJOR, major],
    ...(minor === undefined ? [] : [[MINOR, minor] as const]),
  ];
  const end = toEnd(1);
  // Each comparison that fails goes on behind the end of this case.
  const compare = wanted.map(([register, value], at) =>
    toInstruction(JUMP_UNLESS_EQUAL, register, 0, wanted.length - at - 1 + end.length, value),
  );
  return [...compare, ...end];
}

function toEnd(answer: 0 | 1): readonly Buffer[] {
  return [toInstruction(MOVE, ANSWER, 0, 0, answer), toInstruction(EXIT, 0, 0, 0, 0)];
}
