import { expect, it } from 'vitest';
import { Pieces } from '../../../src/core/http/pieces.ts';

it('gives back what was pushed, in its order, however it was cut', () => {
  const pieces = new Pieces();
  for (const sizes of [[5], [1, 1, 1], [3, 5_000, 2, 1, 40_000], Array<number>(50_000).fill(1), [0, 7, 0], []]) {
    let value = 0;
    const cut = sizes.map((size) => Buffer.from(Array.from({ length: size }, () => value++ % 251)));
    for (const piece of cut) pieces.push(piece);
    expect(pieces.bytes).toBe(value);
    expect(pieces.take().equals(Buffer.concat(cut))).toBe(true);
    expect(pieces.bytes).toBe(0);
  }
});

it('does not copy a piece that is alone', () => {
  const pieces = new Pieces();
  const piece = Buffer.from('alone');
  pieces.push(piece);
  expect(pieces.take()).toBe(piece);
});

it('keeps no small piece alive', () => {
  const pieces = new Pieces();
  const big = Buffer.alloc(64 * 1024, 'a');
  pieces.push(big.subarray(0, 1));
  pieces.push(big.subarray(1, 2));
  expect(pieces.take().buffer).not.toBe(big.buffer);
});

it('gives back the memory of what it has joined, as the owner of it', () => {
  const cut = [Buffer.alloc(20_000, 'a'), Buffer.alloc(20_000, 'b')];
  const shared = Buffer.alloc(20_000, 'c');
  const own = new Pieces({ isOwner: true });
  const others = new Pieces();
  for (const piece of cut) own.push(piece);
  for (const piece of [shared, shared]) others.push(piece);
  expect(own.take().toString('latin1')).toBe(`${'a'.repeat(20_000)}${'b'.repeat(20_000)}`);
  expect(others.take().toString('latin1')).toBe('c'.repeat(40_000));
  expect(cut.map(({ length }) => length)).toEqual([0, 0]);
  expect(shared.length).toBe(20_000);
});
