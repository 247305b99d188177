// Which devices the processes of a control group may open. Version 2 of cgroups has no file for that: the kernel asks a program (bpf(2),
// BPF_PROG_TYPE_CGROUP_DEVICE), which is made here.
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { arch } from 'node:os';

/** A device by its numbers; without a minor number, every device of the driver. */
export interface Device {
  readonly kind: 'block' | 'character';
  readonly major: number;
  readonly minor: number | undefined;
}

/** No filter can be made here: the message is what is missing, as people can provide it. */
export class DeviceFilterError extends Error {
  override readonly name = 'DeviceFilterError';
}

/** Without these hardly a program runs: null, zero, full, random, urandom, tty, ptmx, and the terminals themselves. */
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

const LOAD = 5;
const ATTACH = 8;
const PROGRAM_TYPE = 15;
const ATTACH_TYPE = 6;
const ATTRIBUTE_BYTES = 128;
const SYSCALLS: Readonly<Record<string, bigint>> = { x64: 321n, arm64: 280n };

export interface DeviceFilters {
  /**
   * From now on the processes of the group, and of all groups inside it, may open and make these devices and no others. What is open stays
   * open. The kernel keeps the filter as long as the group. Throws DeviceFilterError.
   */
  set(cgroup: string, devices: readonly Device[]): void;
}

/** Throws DeviceFilterError where this Node cannot call the kernel. */
export async function openDeviceFilters(): Promise<DeviceFilters> {
  const bpf = await openBpf();

  /** The descriptor of the program. */
  function load(program: Buffer): number {
    const license = Buffer.from('GPL\0');
    const attribute = Buffer.alloc(ATTRIBUTE_BYTES);
    attribute.writeUInt32LE(PROGRAM_TYPE, 0);
    attribute.writeUInt32LE(program.length / INSTRUCTION_BYTES, 4);
    attribute.writeBigUInt64LE(bpf.addressOf(program), 8);
    attribute.writeBigUInt64LE(bpf.addressOf(license), 16);
    const loaded = bpf.call(LOAD, attribute);
    if (loaded >= 0) return loaded;
    throw new DeviceFilterError('a kernel with CONFIG_CGROUP_BPF, and the right CAP_BPF');
  }

  function attach(program: number, cgroup: string): void {
    const group = openSync(cgroup, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      const attribute = Buffer.alloc(ATTRIBUTE_BYTES);
      attribute.writeUInt32LE(group, 0);
      attribute.writeUInt32LE(program, 4);
      attribute.writeUInt32LE(ATTACH_TYPE, 8);
      if (bpf.call(ATTACH, attribute) < 0)
        throw new DeviceFilterError('a control group to which a device filter may be added');
    } finally {
      closeSync(group);
    }
  }

  return {
    set(cgroup, devices) {
      const program = load(toProgram(devices));
      try {
        attach(program, cgroup);
      } finally {
        // The group holds the program from here on.
        closeSync(program);
      }
    },
  };
}

async function openBpf() {
  const number = SYSCALLS[arch()];
  if (number === undefined || !isBuiltin('node:ffi')) {
    throw new DeviceFilterError('Node 26 on x86-64 or arm64, whose node:ffi calls the kernel');
  }
  const { dlopen, getRawPointer } = await import('node:ffi');
  const { functions: libc } = dlopen(null, {
    syscall: { arguments: ['i64', 'i64', 'buffer', 'i64'], return: 'i64' },
  });
  return {
    addressOf: (bytes: Buffer) => getRawPointer(bytes),
    call: (command: number, attribute: Buffer) =>
      Number(libc.syscall(number, BigInt(command), attribute, BigInt(attribute.length))),
  };
}

const INSTRUCTION_BYTES = 8;
/** Opcodes: loads of 32 bits, comparisons that jump when they fail, moves and the end. */
const LOAD_32 = 0x61;
const AND = 0x57;
const JUMP_UNLESS_EQUAL = 0x55;
const MOVE = 0xb7;
const EXIT = 0x95;
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

function toInstruction(code: number, target: number, source: number, offset: number, value: number): Buffer {
  const bytes = Buffer.alloc(INSTRUCTION_BYTES);
  bytes.writeUInt8(code, 0);
  bytes.writeUInt8((source << 4) | target, 1);
  bytes.writeInt16LE(offset, 2);
  bytes.writeInt32LE(value, 4);
  return bytes;
}
