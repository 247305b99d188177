// bpf(2): programs that the kernel runs, made of single instructions, the control groups in which it runs them, and the maps that they fill.
import { closeSync, constants, openSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { arch } from 'node:os';

/** The kernel takes none here: the message is what is missing, as people can provide it. */
export class BpfError extends Error {
  override readonly name = 'BpfError';
}

/** The numbers are those of linux/bpf.h. */
export interface BpfProgram {
  readonly type: number;
  /** Where it will be attached. */
  readonly attach_type: number;
  readonly instructions: Buffer;
}

export interface BpfMapForm {
  readonly type: number;
  readonly key_bytes: number;
  readonly value_bytes: number;
  readonly entries_max: number;
}

/** What is returned as a number is a descriptor, which the caller closes. No program that this one starts gets it. */
export interface Bpf {
  /** Throws BpfError. */
  createMap(form: BpfMapForm): number;
  /** Fills `value` with what the map has for the key; false where it has nothing. */
  lookUp(map: number, key: Buffer, value: Buffer): boolean;
  /** Throws BpfError. */
  load(program: BpfProgram): number;
  /** Has the kernel run it for the group and all groups inside it from now on, for as long as there is the group. Throws BpfError. */
  attach(program: number, attach_type: number, cgroup: string): void;
  /** Does what `attach` does, for as long as the descriptor is open. Throws BpfError. */
  link(program: number, attach_type: number, cgroup: string): number;
}

const commands = { createMap: 0, lookUp: 1, load: 5, attach: 8, link: 28 } as const;
const ATTRIBUTE_BYTES = 128;
const INSTRUCTION_BYTES = 8;
/** The kernel breaks the check of a program off when a signal comes, and wants to be asked again. Calls show no errno: each refusal counts as one of these. */
const LOAD_TRIES = 10;
const SYSCALLS: Readonly<Record<string, bigint>> = { x64: 321n, arm64: 280n };
const LICENSE = Buffer.from('GPL\0');

/** Throws BpfError where this Node cannot call the kernel. */
export async function openBpf(): Promise<Bpf> {
  const number = SYSCALLS[arch()];
  if (number === undefined || !isBuiltin('node:ffi')) {
    throw new BpfError('Node 26 on x86-64 or arm64, whose node:ffi calls the kernel');
  }
  const { dlopen, getRawPointer } = await import('node:ffi');
  const { functions: libc } = dlopen(null, {
    syscall: { arguments: ['i64', 'i64', 'buffer', 'i64'], return: 'i64' },
  });

  /** Returns a number below zero when the kernel refuses it. */
  function call(command: keyof typeof commands, fill: (attribute: Buffer) => void): number {
    const attribute = Buffer.alloc(ATTRIBUTE_BYTES);
    fill(attribute);
    return Number(libc.syscall(number ?? 0n, BigInt(commands[command]), attribute, BigInt(attribute.length)));
  }

  function onGroup(command: 'attach' | 'link', words: (group: number) => readonly number[], cgroup: string): number {
    const group = openSync(cgroup, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      const done = call(command, (attribute) => writeWords(attribute, words(group)));
      if (done < 0) throw new BpfError('a control group to which a program may be added');
      return done;
    } finally {
      closeSync(group);
    }
  }

  return {
    createMap({ type, key_bytes, value_bytes, entries_max }) {
      const map = call('createMap', (attribute) => writeWords(attribute, [type, key_bytes, value_bytes, entries_max]));
      if (map < 0) throw new BpfError('the right CAP_BPF, and memory for a map of the kernel');
      return map;
    },
    lookUp(map, key, value) {
      const found = call('lookUp', (attribute) => {
        attribute.writeUInt32LE(map, 0);
        attribute.writeBigUInt64LE(getRawPointer(key), 8);
        attribute.writeBigUInt64LE(getRawPointer(value), 16);
      });
      return found === 0;
    },
    load({ type, attach_type, instructions }) {
      const tryOnce = () =>
        call('load', (attribute) => {
          writeWords(attribute, [type, instructions.length / INSTRUCTION_BYTES]);
          attribute.writeBigUInt64LE(getRawPointer(instructions), 8);
          attribute.writeBigUInt64LE(getRawPointer(LICENSE), 16);
          attribute.writeUInt32LE(attach_type, 68);
        });
      let program = tryOnce();
      for (let tries = 1; program < 0 && tries < LOAD_TRIES; tries += 1) program = tryOnce();
      if (program < 0) throw new BpfError('a kernel with CONFIG_CGROUP_BPF, and the right CAP_BPF');
      return program;
    },
    attach: (program, attach_type, cgroup) => void onGroup('attach', (group) => [group, program, attach_type], cgroup),
    link: (program, attach_type, cgroup) => onGroup('link', (group) => [program, group, attach_type], cgroup),
  };
}

function writeWords(attribute: Buffer, words: readonly number[]): void {
  words.forEach((word, index) => {
    attribute.writeUInt32LE(word, index * 4);
  });
}
