// The destinations that the kernel has refused, from the set that its rules fill. Pure but for the reading.
import { z } from 'zod';
import type { NetworkRefusal } from '../contract/network-explanations.ts';
import type { Attempts } from './attempts.ts';
import type { Netfilter } from './netfilter.ts';
import { REFUSED_S, TABLE } from './ruleset.ts';

const element = z.object({
  elem: z.object({
    val: z.object({
      concat: z.tuple([
        z.string(),
        z.union([z.string(), z.number()]),
        z.union([z.string(), z.number()]),
        z.union([z.string(), z.number()]),
      ]),
    }),
    expires: z.number(),
    counter: z.object({ packets: z.number() }),
  }),
});
/** A machine without /etc/protocols knows no names for the numbers. */
const names: Readonly<Record<string, string>> = { 6: 'tcp', 17: 'udp' };
const listed = z.object({ set: z.object({ elem: z.array(z.unknown()).optional() }) });

/** The time of the last attempt is to the second. */
export function readRefusedAddresses(
  netfilter: Netfilter,
  attempts: Pick<Attempts, 'find'>,
  now_ms: number,
): NetworkRefusal[] {
  const sets = ['refused4', 'refused6'].map((set) => netfilter.list(`list set ${TABLE} ${set}`));
  return sets.flatMap((listed) => parseRefused(listed, now_ms)).map((refusal) => withProcess(refusal, attempts));
}

function withProcess(refusal: NetworkRefusal, attempts: Pick<Attempts, 'find'>): NetworkRefusal {
  const process = attempts.find(refusal);
  return process === undefined ? refusal : { ...refusal, process };
}

export function parseRefused(nftables: readonly unknown[], now_ms: number): NetworkRefusal[] {
  return nftables.flatMap((entry) => {
    const found = listed.safeParse(entry);
    return (found.data?.set.elem ?? []).flatMap((one) => toRefusal(one, now_ms));
  });
}

function toRefusal(one: unknown, now_ms: number): NetworkRefusal[] {
  const read = element.safeParse(one);
  if (!read.success) return [];
  const { val, expires, counter } = read.data.elem;
  const [address, protocol, port, uid] = val.concat;
  return [
    {
      kind: 'address',
      address,
      protocol: names[String(protocol)] ?? String(protocol),
      port: Number(port),
      ...(Number.isInteger(Number(uid)) ? { uid: Number(uid) } : {}),
      count: counter.packets,
      last_at: new Date(now_ms - (REFUSED_S - expires) * 1_000).toISOString(),
    },
  ];
}
