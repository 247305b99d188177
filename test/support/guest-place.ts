// The network of a virtual machine without the machine: two network namespaces with a cable between them. In the one are the addresses and
// rules that a way out has, in the other what the initial ramdisk makes of its kernel's command line.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PRIVATE_RANGE } from '../../src/core/private-address.ts';
import { TAP, TAP_ADDRESS } from '../../src/platform/machines/drivers/qemu/egress/egress-addresses.ts';
import { toMachineRules } from '../../src/platform/machines/drivers/qemu/egress/egress-rules.ts';
import { privateWay } from '../../src/platform/machines/drivers/qemu/egress/egress-script.ts';
import { startChild } from './child-lines.ts';
import { loudly } from './loudly.ts';
import { tempDir } from './temp-dir.ts';

const run = promisify(execFile);
const BUSYBOX = '/bin/busybox';
const initPath = new URL('../../src/platform/images/build/guest/init.sh', import.meta.url).pathname;
const dialPath = new URL('./dial-child.ts', import.meta.url).pathname;

export function isWithoutNetworks(): boolean {
  const has = (name: string) => spawnSync('which', [name]).status === 0;
  const mayTry = process.getuid?.() === 0 && ['nft', 'ip', 'nsenter'].every(has) && existsSync(BUSYBOX);
  const isWithout =
    !mayTry ||
    spawnSync('unshare', ['--net', 'ip', 'link', 'add', 'name', 'one', 'type', 'veth', 'peer', 'name', 'other'])
      .status !== 0;
  return loudly(isWithout, 'private addresses are not tried: that needs root, nftables, busybox and virtual cables');
}

/** `private_address`: that of the machine. */
export async function openGuestPlace(private_address: string) {
  const open = async () => {
    const child = startChild('unshare', ['--net', 'sh', '-c', 'ip link set lo up && echo ready && exec sleep 600']);
    await child.line(/ready/);
    return child.process.pid ?? 0;
  };
  const [host, guest] = [await open(), await open()];
  const inside = (pid: number, ...words: string[]) =>
    run('nsenter', ['--net', '--target', String(pid), '--', ...words]);
  const rules = join(tempDir(), 'rules');
  writeFileSync(rules, toMachineRules([], private_address));
  await inside(host, 'nft', '-f', rules);
  await inside(host, 'ip', 'link', 'add', TAP, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(guest));
  await inside(host, 'ip', 'link', 'set', TAP, 'up');
  await inside(host, 'sh', '-ec', privateWay);
  await inside(guest, 'ip', 'link', 'set', 'eth0', 'up');
  const [, own = ''] = /^( {2}if \[ -n "\$net6" \].*?^ {2}fi)$/ms.exec(readFileSync(initPath, 'utf8')) ?? [];
  const net6 = `${private_address},${TAP_ADDRESS},${PRIVATE_RANGE}`;
  await inside(guest, BUSYBOX, 'sh', '-ec', `b=${BUSYBOX}\nnet6=${net6}\n${own}`);
  return {
    /** A process in the network of the emulator. */
    pid: host,
    addAddress: (address: string) => inside(guest, 'ip', '-6', 'addr', 'add', `${address}/128`, 'dev', 'eth0', 'nodad'),
    /** Connects from the machine, and sends `text`. Resolves with all that came back, or with the code of the error. */
    async dial(target: string, port: number, text = '', from = private_address): Promise<string> {
      return (await inside(guest, process.execPath, dialPath, target, String(port), from, text)).stdout;
    },
  };
}
