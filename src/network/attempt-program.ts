// The program with which the kernel notes who tries to reach what: it runs when a process connects a socket, or sends a datagram without that, and
// lets all of them pass. Pure.
import { opcodes, toInstruction, toMapMove, toWideMove } from '../linux/kernel/bpf-instructions.ts';

/** What was tried, as the kernel tells it of a refused packet. */
export interface Attempt {
  /** Four bytes, or sixteen. */
  readonly address: Uint8Array;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
  readonly uid: number;
}

/** The address, as that of IPv6; then in four bytes each the port in the order of the network, the protocol, the user, and nothing. */
export const KEY_BYTES = 32;
/** The process in eight bytes, and its name. */
export const VALUE_BYTES = 24;
const NAME_BYTES = 16;
/** How an IPv4 address begins as one of IPv6: programs with sockets of IPv6 write it so themselves. */
const MAPPED = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
const protocols = { tcp: 6, udp: 17 } as const;

export function toKey({ address, protocol, port, uid }: Attempt): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  const bytes = address.length === 4 ? Buffer.concat([MAPPED, address]) : address;
  key.set(bytes, 0);
  key.writeUInt16BE(port, 16);
  key.writeUInt32LE(protocols[protocol], 20);
  key.writeUInt32LE(uid, 24);
  return key;
}

export function readValue(value: Buffer): { readonly pid: number; readonly command: string } {
  const name = value.subarray(VALUE_BYTES - NAME_BYTES);
  const end = name.indexOf(0);
  return { pid: value.readUInt32LE(0), command: name.toString('utf8', 0, end === -1 ? name.length : end) };
}

const {
  ADD,
  CALL,
  COPY,
  EXIT,
  JUMP_UNLESS_SAME,
  LOAD_32,
  MOVE,
  OR,
  SHIFT_LEFT,
  SHIFT_RIGHT,
  STORE_64,
  STORE_VALUE_64,
} = opcodes;
/** Registers: what a function answers, what it is given, what is kept over calls, and the end of the stack. */
const [ANSWER, FIRST, SECOND, THIRD, FOURTH, ASKED, STACK] = [0, 1, 2, 3, 4, 6, 10] as const;
/** Where what is told of the socket stands: `struct bpf_sock_addr`. */
const asked = { address4: 4, address6: 8, port: 24, protocol: 36 } as const;
const calls = {
  updateMap: 2,
  currentProcess: 14,
  currentUser: 15,
  currentName: 16,
  networkCookie: 122,
} as const;
const KEY = -KEY_BYTES;
const VALUE = KEY - VALUE_BYTES;
const NAME = VALUE + 8;
/** Every attempt is let pass: the rules of the packet filter judge it. */
const PASS = 1;

/** @param cookie of the network namespace whose attempts are noted. @param map a descriptor. */
export function toAttemptProgram(family: 'ip' | 'ip6', cookie: bigint, map: number): Buffer {
  const note = [
    ...(family === 'ip' ? copyAddress4() : copyAddress6()),
    ...copyTwo(asked.port, asked.protocol, KEY + 16),
    call(calls.currentUser),
    // The upper half is the group.
    toInstruction(SHIFT_LEFT, ANSWER, 0, 0, 32),
    toInstruction(SHIFT_RIGHT, ANSWER, 0, 0, 32),
    toInstruction(STORE_64, STACK, ANSWER, KEY + 24),
    call(calls.currentProcess),
    // The lower half is the thread.
    toInstruction(SHIFT_RIGHT, ANSWER, 0, 0, 32),
    toInstruction(STORE_64, STACK, ANSWER, VALUE),
    toInstruction(STORE_VALUE_64, STACK, 0, NAME),
    toInstruction(STORE_VALUE_64, STACK, 0, NAME + 8),
    ...toStack(FIRST, NAME),
    toInstruction(MOVE, SECOND, 0, 0, NAME_BYTES),
    call(calls.currentName),
    toMapMove(FIRST, map),
    ...toStack(SECOND, KEY),
    ...toStack(THIRD, VALUE),
    toInstruction(MOVE, FOURTH),
    call(calls.updateMap),
  ];
  const body = Buffer.concat(note);
  return Buffer.concat([
    toInstruction(COPY, ASKED, FIRST),
    call(calls.networkCookie),
    toWideMove(FIRST, cookie),
    toInstruction(JUMP_UNLESS_SAME, ANSWER, FIRST, body.length / INSTRUCTION_BYTES),
    body,
    toInstruction(MOVE, ANSWER, 0, 0, PASS),
    toInstruction(EXIT),
  ]);
}

const INSTRUCTION_BYTES = 8;

function copyAddress4(): Buffer[] {
  return [
    toInstruction(STORE_VALUE_64, STACK, 0, KEY),
    toInstruction(LOAD_32, SECOND, ASKED, asked.address4),
    toWideMove(FIRST, BigInt(MAPPED.readUInt32LE(8))),
    ...storeBoth(KEY + 8),
  ];
}

function copyAddress6(): Buffer[] {
  const at = asked.address6;
  return [...copyTwo(at, at + 4, KEY), ...copyTwo(at + 8, at + 12, KEY + 8)];
}

/** Twice 32 bits of what is told of the socket, to the stack. */
function copyTwo(first: number, second: number, to: number): Buffer[] {
  return [toInstruction(LOAD_32, FIRST, ASKED, first), toInstruction(LOAD_32, SECOND, ASKED, second), ...storeBoth(to)];
}

/** Stores both in one step: older kernels, such as 6.1, do not let a program without CAP_PERFMON write half of what a register was written to. */
function storeBoth(to: number): Buffer[] {
  return [
    toInstruction(SHIFT_LEFT, SECOND, 0, 0, 32),
    toInstruction(OR, FIRST, SECOND),
    toInstruction(STORE_64, STACK, FIRST, to),
  ];
}

/** A place of the stack, for a function. */
function toStack(register: number, at: number): Buffer[] {
  return [toInstruction(COPY, register, STACK), toInstruction(ADD, register, 0, 0, at)];
}

function call(number: number): Buffer {
  return toInstruction(CALL, 0, 0, 0, number);
}
