// Which process has last tried to reach a destination. A refused packet has no process, and its socket is closed before anybody can look: the
// kernel notes it at the attempt.
import { closeSync, readlinkSync } from 'node:fs';
import type { NetworkRefusal } from '../contract/network-explanations.ts';
import { toErrorMessage } from '../core/error-message.ts';
import type { Log } from '../core/log.ts';
import { toAddressBytes } from '../core/network-policy/address-ranges.ts';
import { BpfError, openBpf } from '../linux/kernel/bpf.ts';
import { findMissing } from '../linux/processes/capabilities.ts';
import { findRootCgroup } from '../linux/processes/cgroup.ts';
import { readNetworkCookie } from '../linux/sockets/network-cookie.ts';
import { KEY_BYTES, readValue, toAttemptProgram, toKey, VALUE_BYTES } from './attempt-program.ts';

export interface Attempts extends Disposable {
  /** Notes attempts from now on. Where that cannot be had the log says what is missing, once. */
  begin(): Promise<void>;
  /** Notes no more attempts, and forgets those that were noted. */
  end(): void;
  /** The process of the last attempt. Undefined where it is not noted, or among the last ones no more. */
  find(refusal: NetworkRefusal): NetworkRefusal['process'];
}

/** Destinations by user, those that are open among them; the oldest are forgotten. Half a megabyte of the kernel's memory. */
const KEPT_MAX = 4_096;
/** BPF_MAP_TYPE_LRU_HASH and BPF_PROG_TYPE_CGROUP_SOCK_ADDR of linux/bpf.h. */
const [MAP_TYPE, PROGRAM_TYPE] = [9, 18] as const;
/** The kernel asks at a connection, and at a datagram of a socket that is not connected. */
const attachTypes = [
  { family: 'ip', attach_type: 10 },
  { family: 'ip6', attach_type: 11 },
  { family: 'ip', attach_type: 14 },
  { family: 'ip6', attach_type: 15 },
] as const;
/** The namespace of the processes that the kernel counts in has this number always. */
const FIRST_PIDS = 'pid:[4026531836]';

interface Noting extends Disposable {
  readonly find: Attempts['find'];
}

export function createAttempts(log: Log): Attempts {
  let noting: Promise<Noting | undefined> | undefined;
  let current: Noting | undefined;
  let isTold = false;

  async function open(): Promise<Noting | undefined> {
    try {
      return await openNoting();
    } catch (error) {
      const message = `refused addresses are listed without their process: it needs ${toErrorMessage(error)}`;
      if (!isTold) log.info({}, message);
      isTold = true;
      return undefined;
    }
  }

  function end(): void {
    current?.[Symbol.dispose]();
    current = undefined;
    noting = undefined;
  }

  return {
    async begin() {
      noting ??= open();
      current = await noting;
    },
    end,
    find: (refusal) => current?.find(refusal),
    [Symbol.dispose]: end,
  };
}

/** The kernel keeps nothing of it once it is disposed of, or this process has ended. Rejects with what is missing. */
async function openNoting(): Promise<Noting> {
  if (findMissing(['CAP_BPF']).length > 0) throw new BpfError('the right CAP_BPF');
  if (readlinkSync('/proc/self/ns/pid') !== FIRST_PIDS)
    throw new BpfError('the numbers that the kernel gives to processes');
  const root = findRootCgroup();
  if (root === undefined) throw new BpfError('control groups of version 2');
  const cookie = await readNetworkCookie();
  if (cookie === undefined) throw new BpfError('Node 26 with node:ffi, and a kernel from 5.14 on');
  const bpf = await openBpf();
  using stack = new DisposableStack();
  const own = (descriptor: number) => stack.adopt(descriptor, closeSync);
  const map = own(
    bpf.createMap({ type: MAP_TYPE, key_bytes: KEY_BYTES, value_bytes: VALUE_BYTES, entries_max: KEPT_MAX }),
  );
  for (const { family, attach_type } of attachTypes) {
    const instructions = toAttemptProgram(family, cookie, map);
    const program = bpf.load({ type: PROGRAM_TYPE, attach_type, instructions });
    try {
      own(bpf.link(program, attach_type, root));
    } finally {
      // The link holds it from here on.
      closeSync(program);
    }
  }
  const value = Buffer.alloc(VALUE_BYTES);
  const kept = stack.move();
  return {
    find({ address: text, protocol, port, uid }) {
      const address = text === undefined ? undefined : toAddressBytes(text);
      if (address === undefined || port === undefined || uid === undefined) return undefined;
      if (protocol !== 'tcp' && protocol !== 'udp') return undefined;
      return bpf.lookUp(map, toKey({ address, protocol, port, uid }), value) ? readValue(value) : undefined;
    },
    [Symbol.dispose]: () => kept.dispose(),
  };
}
