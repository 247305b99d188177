// Names in messages: what is one and what is not, and that two names never look alike.
import { expect, test } from 'vitest';
import { readName, toNameText } from '../../../src/core/dns/wire-name.ts';
import { dnsName } from '../../support/dns-messages.ts';

const FROM = 12;

/** The name after a header and `before`. */
function read(name: Buffer, before: Buffer = Buffer.alloc(0)) {
  const found = readName(Buffer.concat([Buffer.alloc(FROM), before, name]), FROM + before.length);
  return found && { text: toNameText(found.key), end: found.end - FROM - before.length, bytes: found.bytes };
}

test.each<[string | string[], string]>([
  ['a.example', 'a.example'],
  ['WWW.Example', 'www.example'],
  ['', '.'],
  ['_dmarc.a-b.example', '_dmarc.a-b.example'],
  [['a.example', 'b'], 'a\\046example.b'],
  [['a\\046b'], 'a\\092046b'],
  [['\0', '\xff', ' '], '\\000.\\255.\\032'],
  [['b\xfccher', 'example'], 'b\\252cher.example'],
  [['\xc4'], '\\196'],
  [['*', 'example'], '\\042.example'],
])('%j reads as %s', (name, text) => {
  const wire = dnsName(name);
  expect(read(wire)).toEqual({ text, end: wire.length, bytes: Uint8Array.from(wire) });
});

test('letters outside ASCII are not made lower case, so that different bytes stay different names', () => {
  const [upper, lower] = ['\xc4', '\xe4'].map((label) => readName(dnsName([label]), 0)?.key);
  expect(upper).not.toBe(lower);
});

test('a pointer leads to a name before it, and reading goes on behind the pointer', () => {
  expect(read(Buffer.from([1, 0x62, 0xc0, 12]), dnsName('a.example'))).toEqual({
    text: 'b.a.example',
    end: 4,
    bytes: Uint8Array.from(dnsName('b.a.example')),
  });
});

/** A label of 62 letters four times is 253 bytes with the end; a fifth of one letter makes 255. */
const LONG = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(62));

test.each<[string, Buffer, Buffer?]>([
  ['the end is missing', Buffer.from([1, 0x61])],
  ['a label is cut off', Buffer.from([5, 0x61])],
  ['nothing is there', Buffer.alloc(0)],
  ['half a pointer', Buffer.from([0xc0])],
  ['a pointer to itself', Buffer.from([0xc0, 12])],
  ['a pointer forwards', Buffer.from([0xc0, 14, 0])],
  ['a pointer into the header', Buffer.from([0xc0, 0])],
  ['two pointers in a circle', Buffer.from([0xc0, 12]), Buffer.from([0xc0, 14])],
  ['a pointer to a label that leads back to it', Buffer.from([1, 0x61, 0xc0, 12])],
  ['a circle through an earlier label', Buffer.from([0xc0, 12]), Buffer.from([1, 0x61, 0xc0, 12])],
  ['an unknown kind of label', Buffer.from([0x41, 0x61, 0])],
  ['another unknown kind of label', Buffer.from([0x80, 0x61, 0])],
  ['256 bytes', dnsName([...LONG, 'ee'])],
  ['256 bytes by a pointer', Buffer.from([2, 0x65, 0x65, 0xc0, 12]), dnsName(LONG)],
])('no name: %s', (_, name, before) => {
  expect(read(name, before)).toBeUndefined();
});

test('255 bytes are a name', () => {
  expect(read(dnsName([...LONG, 'e']))?.bytes.length).toBe(255);
  expect(read(Buffer.from([1, 0x65, 0xc0, 12]), dnsName(LONG))?.bytes.length).toBe(255);
});

test('as many pointers in a row as a name has labels are followed, and no more', () => {
  const message = Buffer.alloc(1_000);
  for (let at = 14; at < message.length; at += 2) message.writeUInt16BE(0xc000 | (at === 14 ? 12 : at - 2), at);
  expect(readName(message, 12 + 2 * 127)?.bytes).toEqual(Uint8Array.of(0));
  expect(readName(message, 12 + 2 * 128)).toBeUndefined();
});
