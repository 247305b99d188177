// The tables of the kernel's packet filter, through libnftables: a change takes a third of a millisecond, where the program `nft` takes six.
import { isBuiltin } from 'node:module';
import { toErrorMessage } from '../core/error-message.ts';

const LIBRARY = 'libnftables.so.1';
/** NFT_CTX_OUTPUT_JSON of its header. */
const JSON_OUTPUT = 1 << 4;
/** NFT_CTX_OUTPUT_STATELESS and NFT_CTX_OUTPUT_TERSE: without counters, and without the elements of sets. */
const SHORT_OUTPUT = (1 << 2) | (1 << 11);

/** `missing`: what has to be installed or granted. `refused`: the kernel, or the grammar, took none of the commands. */
export class NetfilterError extends Error {
  override readonly name = 'NetfilterError';
  readonly type: 'missing' | 'refused';

  constructor(type: 'missing' | 'refused', message: string) {
    super(message);
    this.type = type;
  }
}

export interface Netfilter extends Disposable {
  /** Carries out all commands in one step, or none. Throws NetfilterError. */
  run(commands: string): void;
  /** The answer to one `list` command, as the JSON of nftables. Throws NetfilterError. */
  list(command: string): readonly unknown[];
  /** The same as text, without counters and without the elements of sets. Throws NetfilterError. */
  print(command: string): string;
}

/**
 * Opens the tables of the network namespace of this process.
 *
 * Throws NetfilterError `missing` without the library, without its right (CAP_NET_ADMIN), or on a kernel without nftables.
 */
export async function openNetfilter(): Promise<Netfilter> {
  if (!isBuiltin('node:ffi')) throw new NetfilterError('missing', 'Node 26, whose node:ffi calls libnftables');
  const { dlopen, toString: readText } = await import('node:ffi');
  const { functions: nft, lib } = openLibrary(dlopen);
  const context = nft.nft_ctx_new(0);
  nft.nft_ctx_buffer_output(context);
  nft.nft_ctx_buffer_error(context);

  /** What it printed. */
  function call(commands: string): string {
    const status = nft.nft_run_cmd_from_buffer(context, commands);
    const output = readText(nft.nft_ctx_get_output_buffer(context)) ?? '';
    const error = readText(nft.nft_ctx_get_error_buffer(context)) ?? '';
    if (status === 0) return output;
    throw new NetfilterError('refused', toReason(error));
  }

  function callWith(flags: number, command: string): string {
    nft.nft_ctx_output_set_flags(context, flags);
    try {
      return call(command);
    } finally {
      nft.nft_ctx_output_set_flags(context, 0);
    }
  }

  const netfilter: Netfilter = {
    run: (commands) => void call(commands),
    list: (command) => (JSON.parse(callWith(JSON_OUTPUT, command)) as { nftables: unknown[] }).nftables,
    print: (command) => callWith(SHORT_OUTPUT, command),
    [Symbol.dispose]() {
      nft.nft_ctx_free(context);
      lib.close();
    },
  };
  try {
    // The whole way is tried: a process may have the library and not the right.
    netfilter.run('add table inet remora_probe\ndelete table inet remora_probe\n');
  } catch (error) {
    netfilter[Symbol.dispose]();
    throw new NetfilterError(
      'missing',
      `the right to change the packet filter, CAP_NET_ADMIN: ${toErrorMessage(error)}`,
    );
  }
  return netfilter;
}

function openLibrary(dlopen: typeof import('node:ffi').dlopen) {
  try {
    return dlopen(LIBRARY, {
      nft_ctx_new: { arguments: ['u32'], return: 'pointer' },
      nft_ctx_free: { arguments: ['pointer'], return: 'void' },
      nft_ctx_buffer_output: { arguments: ['pointer'], return: 'i32' },
      nft_ctx_buffer_error: { arguments: ['pointer'], return: 'i32' },
      nft_ctx_output_set_flags: { arguments: ['pointer', 'u32'], return: 'void' },
      nft_run_cmd_from_buffer: { arguments: ['pointer', 'string'], return: 'i32' },
      nft_ctx_get_output_buffer: { arguments: ['pointer'], return: 'pointer' },
      nft_ctx_get_error_buffer: { arguments: ['pointer'], return: 'pointer' },
    });
  } catch (error) {
    throw new NetfilterError('missing', `${LIBRARY}, of the package nftables: ${toErrorMessage(error)}`);
  }
}

/** Whether the kernel can put the packets of a program into a zone of their own. Throws nothing. */
export function hasZones(netfilter: Netfilter): boolean {
  const chain = 'inet remora_probe sockets';
  try {
    netfilter.run(
      [
        'add table inet remora_probe',
        `add chain ${chain} { type filter hook output priority raw; policy accept; }`,
        `add rule ${chain} udp dport 53 ct original zone set 1`,
        'delete table inet remora_probe',
        '',
      ].join('\n'),
    );
    return true;
  } catch {
    return false;
  }
}

/** The first line of what the library says names the fault; the others show the command. */
function toReason(error: string): string {
  const [line = ''] = error.split('\n');
  return line.replace(/^.*?Error: /, '') || 'the kernel refused the change';
}
