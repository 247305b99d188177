// Which addresses no name may lead to, and that the list for the kernel says the same.
import { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';
import { expect, onTestFailed, test } from 'vitest';
import { compileRanges, toAddressBytes, toAddressText } from '../../../src/core/network-policy/address-ranges.ts';
import { blockedRanges, isBlockedAddress } from '../../../src/core/network-policy/blocked-addresses.ts';
import { createDice, type Dice } from '../../support/dice.ts';

const toBytes = (text: string) => toAddressBytes(text) ?? expect.unreachable(`${text} is no address`);

test.each([
  ['8.8.8.8', false],
  ['9.255.255.255', false],
  ['10.0.0.0', true],
  ['11.0.0.0', false],
  ['100.63.255.255', false],
  ['100.64.0.0', true],
  ['100.127.255.255', true],
  ['100.128.0.0', false],
  ['126.255.255.255', false],
  ['127.0.0.53', true],
  ['169.254.169.254', true],
  ['172.15.255.255', false],
  ['172.16.0.0', true],
  ['172.31.255.255', true],
  ['172.32.0.0', false],
  ['168.63.129.16', true],
  ['168.63.129.17', false],
  ['192.168.255.255', true],
  ['203.0.113.7', true],
  ['223.255.255.255', false],
  ['224.0.0.1', true],
  ['255.255.255.255', true],
  ['0.0.0.0', true],
  ['::', true],
  ['::1', true],
  ['fe80::1', true],
  ['fc00::1', true],
  ['fd00:ec2::254', true],
  ['fd20:ce::254', true],
  ['fec0::1', true],
  ['ff02::1', true],
  ['::ffff:10.0.0.1', true],
  ['::ffff:8.8.8.8', true],
  ['::10.0.0.1', true],
  ['64:ff9b::10.0.0.1', true],
  ['64:ff9b::169.254.169.254', true],
  ['64:ff9b::8.8.8.8', false],
  ['64:ff9b:1::8.8.8.8', true],
  ['64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff', true],
  ['64:ff9b::1:808:808', true],
  ['2002:a00:1::', true],
  ['2002:808:808::', true],
  ['2001::a00:1', true],
  ['2001:1ff:ffff::1', true],
  ['2001:200::1', false],
  ['2001:db8::1', true],
  ['2606:4700:4700::1111', false],
  ['3fff:fff::1', true],
  ['3fff:1000::1', false],
  ['4000::1', true],
])('%s is blocked: %s', (address, expected) => {
  expect(isBlockedAddress(toBytes(address))).toBe(expected);
});

test('what has not the length of an address is blocked', () => {
  for (const length of [0, 3, 5, 15, 17]) expect(isBlockedAddress(new Uint8Array(length).fill(8))).toBe(true);
});

/** Addresses at random, near the ends of a range, and with an address of IPv4 in them. */
function toAddress(dice: Dice): Uint8Array {
  const random = Uint8Array.from({ length: dice.chance(40) ? 4 : 16 }, () => dice.below(256));
  const [range] = ipaddr.parseCIDR(dice.pick([...blockedRanges.ipv4, ...blockedRanges.ipv6] as [string, ...string[]]));
  const near = Uint8Array.from(range.toByteArray());
  const at = dice.below(near.length);
  switch (dice.below(4)) {
    case 0:
      return random;
    case 1:
      near[at] = ((near[at] ?? 0) + 255 + dice.below(3)) & 255;
      return near;
    case 2:
      near[near.length - 1] = dice.below(256);
      return near;
    default:
      return toBytes(`${dice.pick(['64:ff9b::', '::ffff:', '::', '64:ff9b:1::'])}${[...random].slice(0, 4).join('.')}`);
  }
}

test("the ranges agree with Node's lists, with each other, and close what the library calls special", () => {
  const seed = process.env.REMORA_FUZZ_SEED ?? '5eed';
  onTestFailed(() => void process.stderr.write(`\nREMORA_FUZZ_SEED=${seed}\n`));
  const dice = createDice(seed);
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const family of ['ipv4', 'ipv6'] as const) {
    for (const cidr of blockedRanges[family]) {
      const [address = '', bits] = cidr.split('/');
      lists[family].addSubnet(address, Number(bits), family);
    }
  }
  const all = [...blockedRanges.ipv4, ...blockedRanges.ipv6].map((cidr) => compileRanges([cidr]));
  const seen = new Set<boolean>();
  for (let round = 0; round < 3_000; round += 1) {
    const bytes = toAddress(dice);
    const text = toAddressText(bytes);
    const family = bytes.length === 4 ? 'ipv4' : 'ipv6';
    const isBlocked = isBlockedAddress(bytes);
    seen.add(isBlocked);
    // A mapped address is one of IPv4 to Node, whatever list it is looked for in.
    if (!text.startsWith('::ffff:')) expect(lists[family].check(text, family), `${seed}: ${text}`).toBe(isBlocked);
    expect(all.filter((isIn) => isIn(bytes)).length, `${seed}: ${text} is in at most one`).toBe(isBlocked ? 1 : 0);
    const range = ipaddr.parse(text).range();
    if (range !== 'unicast' && range !== 'rfc6052') expect(isBlocked, `${seed}: ${text} is ${range}`).toBe(true);
    expect(toBytes(text), seed).toEqual(bytes);
  }
  expect(seen.size).toBe(2);
});

test.each(['', 'example.com', '::1%eth0', '1.2.3.4.5', '10.0.0.0/8', '[::1]'])('%j is no address', (text) => {
  expect(toAddressBytes(text)).toBeUndefined();
});

test('a range that is none is refused, and one of a whole family covers only that family', () => {
  expect(() => compileRanges(['10.0.0.0/33'])).toThrow();
  const isV4 = compileRanges(['0.0.0.0/0']);
  expect([isV4(toBytes('8.8.8.8')), isV4(toBytes('2606:4700::1'))]).toEqual([true, false]);
});
