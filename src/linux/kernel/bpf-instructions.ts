// The instructions of programs for the kernel (RFC 9669), as far as they are used. Pure.

export const opcodes = {
  /** A register from 32 bits of memory. */
  LOAD_32: 0x61,
  /** Memory from a register, or from the value. */
  STORE_64: 0x7b,
  STORE_VALUE_64: 0x7a,
  /** A register from the value, from another one, or from a value of 64 bits, which takes two instructions. */
  MOVE: 0xb7,
  COPY: 0xbf,
  MOVE_64: 0x18,
  ADD: 0x07,
  AND: 0x57,
  /** Its second operand is another register. */
  OR: 0x4f,
  SHIFT_LEFT: 0x67,
  SHIFT_RIGHT: 0x77,
  /** Jumps compare a register with the value, or with another one, and go on behind as many instructions as the offset says. */
  JUMP_UNLESS_EQUAL: 0x55,
  JUMP_UNLESS_SAME: 0x5d,
  /** A function of the kernel, by its number. It takes the registers 1 to 5, answers in 0, and leaves 6 to 9 alone. */
  CALL: 0x85,
  EXIT: 0x95,
} as const;

const INSTRUCTION_BYTES = 8;
/** Stands in place of the second register of `MOVE_64`: the value is the descriptor of a map. */
const MAP = 1;

/** Registers are 0 to 9, and 10 for the end of the stack. */
export function toInstruction(code: number, target = 0, source = 0, offset = 0, value = 0): Buffer {
  const bytes = Buffer.alloc(INSTRUCTION_BYTES);
  bytes.writeUInt8(code, 0);
  bytes.writeUInt8((source << 4) | target, 1);
  bytes.writeInt16LE(offset, 2);
  bytes.writeInt32LE(value | 0, 4);
  return bytes;
}

/** A register from a number of 64 bits. */
export function toWideMove(target: number, value: bigint): Buffer {
  return Buffer.concat([
    toInstruction(opcodes.MOVE_64, target, 0, 0, Number(BigInt.asIntN(32, value))),
    toInstruction(0, 0, 0, 0, Number(BigInt.asIntN(32, value >> 32n))),
  ]);
}

/** A register from a map. */
export function toMapMove(target: number, map: number): Buffer {
  return Buffer.concat([toInstruction(opcodes.MOVE_64, target, MAP, 0, map), toInstruction(0)]);
}
