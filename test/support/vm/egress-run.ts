// A host with virtual machines that have a way out, in a network of its own: what one of them reaches of an internet that is another network,
// and what is left at each end. Runs in a network namespace with nothing in it, and prints what it found. Argument: an empty directory.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { toScope } from '../../../src/platform/machines/drivers/qemu/egress/egress-addresses.ts';
import { endEmulator } from '../../../src/platform/machines/drivers/qemu/emulator/emulator-session.ts';
import { readNote } from '../../../src/platform/machines/drivers/qemu/machine-note.ts';
import { eventually } from '../eventually.ts';
import { KILL, LIMIT_MS, openSmallMachine, smallSpec } from './small-machine.ts';

/** What a machine may reach, and what not; without the rules each of them would answer. */
const INTERNET = '45.79.0.2';
const HOST = '45.79.0.1';
const elsewhere = ['10.9.9.9', '172.16.9.9', '192.168.9.9', '169.254.169.254', '168.63.129.16', '100.64.9.9'];
const PORT = 8080;
const PRIVATE = 'fdaa::9';
/** A machine of another platform of this host. */
const OTHER_CABLE = 'rmffffother';
const OTHER = '100.127.255.255';

const found: Record<string, unknown> = {};
const children: ChildProcess[] = [];
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
const run = (line: string) => execFileSync('sh', ['-ec', line], { encoding: 'utf8' });

/** A network with a listener on all of its addresses, as the internet or as another machine. */
async function openNetwork(cable: string, here: string, there: string, more: readonly string[] = []): Promise<void> {
  const listen = `let datagrams = 0
    require('dgram').createSocket('udp4').on('message', () => { datagrams += 1; }).bind(${PORT})
    require('http').createServer((q, r) => r.end(q.url === '/datagrams' ? String(datagrams) : q.socket.remoteAddress))
      .listen(${PORT}, '0.0.0.0', () => console.log('up'))`;
  const script = `ip link set lo up; read -r _; ${[there, ...more].map((each) => `ip addr add ${each}/32 dev lo; `).join('')}
    ip link set in0 up; ip route add default dev in0; exec "$0" -e "$1"`;
  const child = spawn('unshare', ['--net', 'sh', '-ec', script, process.execPath, listen], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const { promise: up, resolve } = Promise.withResolvers<void>();
  child.stdout?.once('data', () => resolve());
  const own = run('readlink /proc/self/ns/net');
  await eventually(() => run(`readlink /proc/${child.pid}/ns/net`) !== own);
  run(`ip link add ${cable} type veth peer name in0 netns ${child.pid}
    ip addr add ${here}/32 dev ${cable}; ip link set ${cable} up`);
  child.stdin?.end('go\n');
  await up;
  for (const each of [there, ...more]) run(`ip route add ${each}/32 dev ${cable} src ${here}`);
}

const answers = async (address: string, path = '') =>
  await fetch(`http://${address}:${PORT}/${path}`, { signal: AbortSignal.timeout(5_000) }).then(
    (response) => response.text(),
    () => 'nothing',
  );

run('ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward');
await openNetwork('internet', HOST, INTERNET, elsewhere);
await openNetwork(OTHER_CABLE, '100.127.255.254', OTHER);
const onHost = createServer((_, response) => response.end('host'));
onHost.listen(PORT, '0.0.0.0');
await once(onHost, 'listening');
found.reachedFromHost = await Promise.all([INTERNET, HOST, OTHER, ...elsewhere].map((address) => answers(address)));

const machinesDir = join(process.argv[2] ?? '', 'machines');
const spec = { ...smallSpec, environment: {} };
{
  await using machine = await openSmallMachine({ network: 'egress', endMachines: false }, machinesDir);
  const { world, files } = machine;
  const reach = (address: string, port = PORT) => world.ask(`reach ${address} ${port}`, `reached/${address}/${port}/`);
  const cables = () => run('ip -o link').match(new RegExp(`${toScope(machinesDir)}\\w+(?=@)`, 'g')) ?? [];
  const hasRules = () => run('nft list tables').includes(`remora_${toScope(machinesDir)}`);

  /** What the machine reads at a private address while the platform listens there: which address it has itself. */
  async function reachPrivately(): Promise<readonly string[]> {
    const [network] = machine.driver.privateNetworks?.() ?? [];
    const [server] = (await network?.listen(PRIVATE, [PORT])) ?? [];
    server?.on('connection', (socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end(`${socket.remoteAddress}\n`),
    );
    const read = await world.ask(`fetch ${PRIVATE} ${PORT}`, 'fetched/');
    server?.close();
    return [read, await reach(PRIVATE)];
  }

  found.platform = await reach('10.77.0.1', 4180);
  found.internet = await reach(INTERNET);
  found.seenAs = await world.ask(`fetch ${INTERNET} ${PORT}`, 'fetched/');
  const refused = [HOST, OTHER, ...elsewhere, '10.77.0.1', '127.0.0.1', '224.0.0.1'];
  found.reached = await world.ask(`sweep ${PORT} ${[INTERNET, ...refused].join(' ')}`, 'swept/');
  // The emulator's own, if it were subverted, and one of the host.
  run(`nsenter --net --target ${machine.pid()} -- bash -c 'echo x > /dev/udp/${INTERNET}/${PORT}' || true`);
  run(`bash -c 'echo x > /dev/udp/${INTERNET}/${PORT}'`);
  found.datagrams = await eventually(async () => {
    const count = await answers(INTERNET, 'datagrams');
    return count !== '0' && count;
  });
  found.private = await reachPrivately();
  found.spoofed = await world.ask(`spoof ${INTERNET} ${PORT}`, `spoofed/${INTERNET}/${PORT}/`);
  found.afterSpoof = await reach(INTERNET);

  await machine.driver.suspend('m1');
  await eventually(() => cables().length === 0, LIMIT_MS);
  found.resumed = (await machine.driver.resume(spec)).outcome;
  found.internetAfterResume = await reach(INTERNET);
  found.cables = cables().length;
  found.privateAfterResume = await reachPrivately();

  // Another platform process takes over.
  await machine.driver[Symbol.asyncDispose]();
  found.rulesWhileItRuns = hasRules();
  found.found = (await machine.openDriver())[0]?.state;
  found.internetAfterAdoption = await reach(INTERNET);
  found.platformAfterAdoption = await reach('10.77.0.1', 4180);

  const { pid = 0, start_ticks = 0 } = readNote(files.dir) ?? {};
  await endEmulator({ pid, start_ticks });
  await eventually(() => machine.exits.length === 1 && cables().length === 0, LIMIT_MS);

  await machine.boot({ config: { network: 'none' } });
  found.internetWithNone = await reach(INTERNET);
  await machine.driver.suspend('m1');
  found.resumedWithEgress = await machine.driver.resume(spec);
  await machine.boot();
  found.internetAfterColdStart = await reach(INTERNET);

  await machine.driver.stop('m1', KILL);
  await machine.driver[Symbol.asyncDispose]();
  await eventually(() => cables().length === 0, LIMIT_MS);
  found.left = { cables: cables(), hasRules: hasRules(), other: run('ip -o link').includes(OTHER_CABLE) };
  await machine.openDriver();
}
onHost.closeAllConnections();
onHost.close();
found.directory = existsSync(machinesDir);
console.log(JSON.stringify(found));
process.exit();
