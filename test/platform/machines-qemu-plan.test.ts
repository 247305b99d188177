// What virtual machines are started with, how much memory they may have, and what of a configuration is refused.
import { expect, test } from 'vitest';
import type { MachineConfig } from '../../src/contract/machine-config.ts';
import { Secret } from '../../src/core/secret.ts';
import { checkQemuConfig } from '../../src/platform/machines/drivers/qemu/check-config.ts';
import { checkEgress } from '../../src/platform/machines/drivers/qemu/egress/check-egress.ts';
import { chooseLink, toCableName, toScope } from '../../src/platform/machines/drivers/qemu/egress/egress-addresses.ts';
import { toMachineRules } from '../../src/platform/machines/drivers/qemu/egress/egress-rules.ts';
import { toNameServers } from '../../src/platform/machines/drivers/qemu/egress/name-servers.ts';
import { toEmulatorArguments } from '../../src/platform/machines/drivers/qemu/emulator/emulator-arguments.ts';
import type { EmulatorPlan } from '../../src/platform/machines/drivers/qemu/emulator/emulator-plan.ts';
import { toLaunchLine } from '../../src/platform/machines/drivers/qemu/emulator/launch-line.ts';
import { chooseUser, FIRST_USER } from '../../src/platform/machines/drivers/qemu/emulator-users.ts';
import { toCredentials, toEnvironmentLine } from '../../src/platform/machines/drivers/qemu/guest/guest-environment.ts';
import { toInstanceEnd } from '../../src/platform/machines/drivers/qemu/instances.ts';
import { networkOf } from '../../src/platform/machines/drivers/qemu/network-of.ts';
import { createReservations } from '../../src/platform/machines/drivers/qemu/reservations.ts';

const plan: EmulatorPlan = {
  accel: 'tcg',
  cpu: 'max,-cx16',
  cpus: 2,
  memory_mb: 512,
  append: 'root=/dev/vda console=ttyS0',
  kernel_args: ['panic=1'],
  volumes: [{ serial: 'vol_1', file: 'volume-vol_1.raw', path: '/data' }],
};
const start = { plan, generation_id: '324e6eaf-d1d1-4bf6-bf41-b9bb6c91fb87', credentials: ['remora-token'] };
const argumentsOf = (more: Partial<typeof plan> = {}, isIncoming = false) =>
  toEmulatorArguments({ ...start, plan: { ...plan, ...more }, isIncoming });

/** The values of one flag. */
function valuesOf(flag: string, args: readonly string[]): string[] {
  return args.flatMap((arg, index) => (args[index - 1] === flag ? [arg] : []));
}

test('an emulator gets nothing by default, no monitor but its own, and a sandbox that starts no program', () => {
  const args = argumentsOf();
  for (const flag of ['-nodefaults', '-no-user-config', '-no-reboot']) expect(args).toContain(flag);
  expect(valuesOf('-sandbox', args)).toEqual([
    'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
  ]);
  expect(valuesOf('-mon', args)).toEqual(['chardev=qmp,mode=control']);
  expect(valuesOf('-rtc', args)).toEqual(['base=utc,clock=host']);
  expect(args.join(' ')).not.toMatch(/hostfwd|guestfwd|smb=|tftp|exec:|\/dev\/kvm|vnc|\bmonitor\b/);
});

test('the memory is a file that is the snapshot, and a restore waits for the state and for the word to go on', () => {
  expect(valuesOf('-object', argumentsOf())).toEqual([
    'memory-backend-file,id=memory,size=512M,mem-path=memory,share=on',
  ]);
  expect(argumentsOf()).not.toContain('-incoming');
  const restore = argumentsOf({}, true);
  expect(valuesOf('-incoming', restore)).toEqual(['defer']);
  expect(restore).toContain('-S');
  // What is saved by one can be loaded by the other: they have the same devices.
  expect(restore.filter((arg) => !['-incoming', 'defer', '-S'].includes(arg))).toEqual(argumentsOf());
});

test('the kernel learns the network and the volumes; a full disk of the host pauses the machine', () => {
  const args = argumentsOf();
  expect(valuesOf('-append', args)).toEqual([
    'root=/dev/vda console=ttyS0 remora.net=10.77.0.2/24,10.77.0.1 remora.volume=vol_1,/data panic=1',
  ]);
  const drives = valuesOf('-drive', args);
  expect(drives).toHaveLength(2);
  for (const drive of drives) expect(drive).toContain('werror=enospc');
  expect(drives[1]).toContain('file=volume-vol_1.raw,format=raw');
  expect(valuesOf('-device', args)).toContain('virtio-blk-pci,drive=vol_1,serial=vol_1');
});

test('with a private address the kernel learns it and the way, and the rules let no other source and no other address through', () => {
  const [line] = valuesOf('-append', argumentsOf({ network: 'egress', private_address: 'fdaa:1::7' }));
  expect(line).toContain(' remora.net6=fdaa:1::7,fe80::1,fdaa::/16 ');
  expect(valuesOf('-append', argumentsOf({ network: 'egress' }))[0]).not.toContain('net6');
  expect(toMachineRules([], 'fdaa:1::7')).toContain('ip6 saddr fdaa:1::7 ip6 daddr fdaa::/16 meta l4proto tcp accept');
  expect(toMachineRules([])).not.toMatch(/ip6 (?:saddr|daddr)|icmpv6/);
});

test('a machine has a network of its own; it reaches no address of the host but one', () => {
  expect(valuesOf('-netdev', argumentsOf())[0]).toMatch(/^user,id=net,net=10\.77\.0\.0\/24,host=10\.77\.0\.1,/);
});

test.each([
  [FIRST_USER, ['--net', '--ipc', '--uts', '--'], [`--reuid=${FIRST_USER}`, `--regid=${FIRST_USER}`, '--clear-groups']],
  [undefined, ['--user', '--map-root-user', '--net', '--ipc', '--uts', '--'], []],
])('as user %s it has no right left', (uid, namespaces, user) => {
  const { command, args } = toLaunchLine({ emulator: 'qemu-system-x86_64', args: ['-name', 'a b'], uid });
  expect(command).toBe('unshare');
  expect(args.slice(0, namespaces.length)).toEqual(namespaces);
  const script = args[args.indexOf('-ec') + 1] ?? '';
  for (const word of [...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--core=0']) {
    expect(script).toContain(` ${word}`);
  }
  expect(script).not.toMatch(/tap0|nft|mount/);
  expect(script).toMatch(/exec .* qemu-system-x86_64 "\$@"$/);
  expect(args.slice(-2)).toEqual(['-name', 'a b']);
});

test('a way out is a tap of the emulator’s user, behind rules that are there before it', () => {
  expect(valuesOf('-netdev', argumentsOf({ network: 'egress' }))).toEqual([
    'tap,id=net,ifname=tap0,script=no,downscript=no,vhost=off',
  ]);
  const egressRules = toMachineRules(['45.79.0.1']);
  const { args } = toLaunchLine({ emulator: 'qemu-system-x86_64', args: [], uid: FIRST_USER, egressRules });
  expect(args.slice(0, args.indexOf('--'))).toEqual(['--mount', '--net', '--ipc', '--uts']);
  const script = args[args.indexOf('-ec') + 1] ?? '';
  const order = ['tap0 mode tap user', 'nft -f', 'link set tap0 up', 'ip_forward', 'exec prlimit'].map((each) =>
    script.indexOf(each),
  );
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order[0]).toBeGreaterThan(0);
  expect(script).toContain(', 45.79.0.1 }');
});

test('a host that lacks something for a way out says what, first of all the right', () => {
  const isRoot = process.getuid?.() === 0;
  expect(checkEgress(() => false)).toMatch(isRoot ? /apt-get install nftables$/ : /needs the user root/);
});

test('the name servers of a machine with a way out are those of the host that it reaches', () => {
  const text =
    '# nameserver 9.9.9.8\nnameserver 127.0.0.53\n nameserver 9.9.9.9\nnameserver 10.0.0.2\nnameserver ::1\nnameserver 149.112.112.112\n';
  expect(toNameServers(text)).toEqual(['9.9.9.9', '149.112.112.112']);
  expect(toNameServers('search example.com\n')).toEqual([]);
  const words = valuesOf('-append', argumentsOf({ network: 'egress', name_servers: ['9.9.9.9', '149.112.112.112'] }));
  expect(words[0]?.split(' ')).toContain('remora.dns=9.9.9.9,149.112.112.112');
});

test('each cable has a name that the kernel takes and a pair of addresses that no other one has', () => {
  const scope = toScope('/var/lib/remora/machines');
  expect(toScope('/srv/machines')).not.toBe(scope);
  expect(toCableName(scope, 'm'.repeat(64))).toMatch(/^rm[0-9a-f]{12}$/);
  const taken = new Set<string>();
  for (let each = 0; each < 100; each += 1) {
    const link = chooseLink(toCableName(scope, 'm1'), taken);
    expect(link?.host).toMatch(/^100\.12[67]\.\d+\.\d*[02468]$/);
    expect(taken.has(link?.host ?? '')).toBe(false);
    taken.add(link?.host ?? '');
  }
});

test('each machine has a user of its own, the lowest that nobody has', () => {
  expect(chooseUser(new Set())).toBe(FIRST_USER);
  expect(chooseUser(new Set([FIRST_USER, FIRST_USER + 2]))).toBe(FIRST_USER + 1);
});

const spec = {
  id: 'm1',
  app: 'acme',
  instance_id: 'i1',
  region: 'local',
  private_ip: 'fdaa::1',
  memory_mb: 512,
  sprite: 'web',
  config: {},
  environment: { GREETING: 'say "hi" for $5 \\ `x`' },
  volumes: [],
  resetsRoot: false,
};

test('token and variables are credentials, and neither is in the arguments', () => {
  const credentials = toCredentials({ spec, token: new Secret('remora_tok'), hasNode: false });
  expect([...credentials.keys()]).toEqual(['remora-token', 'remora-env']);
  const lines = credentials.get('remora-env')?.reveal() ?? '';
  expect(lines).toContain('REMORA_BASE_URL="http://10.77.0.1:4180"\n');
  expect(lines).toContain('REMORA_PLAIN_HTTP_HOSTS="10.77.0.1"\n');
  expect(lines).toContain('REMORA_MACHINE="m1"\n');
  expect(lines).toContain('GREETING="say \\"hi\\" for \\$5 \\\\ \\`x\\`"\n');
  expect(String(credentials.get('remora-token'))).toBe('[secret]');
  expect(argumentsOf().join(' ')).not.toContain('remora_tok');
});

test.each([
  ['A B', 'x'],
  ['', 'x'],
  ['A', 'x\0y'],
])('the variable %j with %j cannot be given', (name, value) => {
  expect(() => toEnvironmentLine(name, value)).toThrow(/variable/);
});

test('a variable of a machine does not take the place of one of the platform', () => {
  const environment = { REMORA_BASE_URL: 'http://evil', FLY_MACHINE_ID: 'other' };
  const credentials = toCredentials({ spec: { ...spec, environment }, token: new Secret('t'), hasNode: false });
  const lines = (credentials.get('remora-env')?.reveal() ?? '').split('\n');
  expect(lines.filter((line) => line.startsWith('REMORA_BASE_URL'))).toEqual([
    'REMORA_BASE_URL="http://10.77.0.1:4180"',
  ]);
  expect(lines.filter((line) => line.startsWith('FLY_MACHINE_ID'))).toEqual(['FLY_MACHINE_ID="m1"']);
});

test('memory is never promised twice, and who is refused learns what is free', () => {
  const memory = createReservations(1_024);
  memory.reserve('a', 512);
  memory.reserve('b', 256);
  // A machine that is booted again has its own back first.
  memory.reserve('a', 768);
  expect(memory.reserved_mb).toBe(1_024);
  expect(() => memory.reserve('c', 1)).toThrow(/needs 1 MB, and this host has 0 MB of its 1024 MB free/);
  memory.release('b');
  expect(() => memory.reserve('c', 257)).toThrow(/256 MB of its 1024 MB/);
  memory.reserve('c', 256);
  // One that was found has its memory already.
  memory.take('d', 512);
  expect(() => memory.reserve('e', 1)).toThrow(/0 MB/);
});

test.each<[string, MachineConfig, readonly string[]]>([
  ['an image by its name', { image: 'default' }, []],
  ['a path as an image', { image: '../../etc' }, ['image']],
  ['an image of a registry', { image: 'registry.example/x:1' }, ['image']],
  ['a root file system', { rootfs: 'x' }, ['rootfs']],
  ['a command', { init: { exec: ['/bin/true'] } }, ['init.exec']],
  ['words of the kernel', { guest: { kernel_args: ['panic=1', 'a.b=c,d'] } }, []],
  [
    'words with a space, or of the platform',
    { guest: { kernel_args: ['a b', 'remora.net=none', 'init=/x', 'root=/dev/vdb'] } },
    ['guest.kernel_args', 'guest.kernel_args', 'guest.kernel_args', 'guest.kernel_args'],
  ],
  ['variables', { env: { A: 'b', PATH: '/x' } }, []],
])('of a configuration, %s', (_, config, fields) => {
  const refused = (() => {
    try {
      checkQemuConfig(config);
      return [];
    } catch (error) {
      return (error as { details: { fields: { field: string }[] } }).details.fields.map(({ field }) => field);
    }
  })();
  expect(refused).toEqual(fields.map((field) => `body.config.${field}`));
});

test('a machine asks for no more of a way out than its platform has', () => {
  for (const network of ['none', 'egress'] as const) checkQemuConfig({ network }, { network: 'egress' });
  checkQemuConfig({ network: 'none' }, {});
  expect(() => checkQemuConfig({ network: 'egress' }, { network: 'none' })).toThrow(/--qemu-network egress/);
  expect(networkOf({ network: 'egress' }, {})).toBe('egress');
  expect(networkOf({ network: 'egress' }, { network: 'none' })).toBe('none');
  expect(networkOf({}, {})).toBe('none');
});

test.each([
  ['guest-shutdown', { exit_code: 0, signal: null }, { exit_code: 0, signal: null }],
  ['guest-reset', { exit_code: 0, signal: null }, { exit_code: 1, signal: null }],
  ['guest-panic', { exit_code: 0, signal: null }, { exit_code: 1, signal: null }],
  ['host-qmp-quit', { exit_code: 0, signal: null }, { exit_code: 0, signal: null }],
  [undefined, { exit_code: null, signal: 'SIGKILL' }, { exit_code: null, signal: 'SIGKILL' }],
])('an emulator that ends for %s is the end %o', (reason, end, told) => {
  expect(toInstanceEnd(end, reason)).toEqual(told);
});
