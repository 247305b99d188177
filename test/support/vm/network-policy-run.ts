// A host with a virtual machine whose sprite gets network policies, and an internet that is another network: what the machine reaches under each,
// and what is seen of it there. Runs in a network and a mount namespace of its own, and prints what it found. Arguments: an empty directory, and
// that of the image.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Secret } from '../../../src/core/secret.ts';
import { openPlatform } from '../../../src/platform/platform.ts';
import { eventually } from '../eventually.ts';
import { callPlatform } from '../open-platform.ts';
import { remoraPath } from '../run-remora.ts';
import { silentLog } from '../silent-log.ts';

const [dir = '', image = ''] = process.argv.slice(2);
/** Where `a.example` and `b.example` are, a name server that nobody was told of, and the one of the host. */
const [A, B, OTHER_NAMES, NAMES] = ['45.79.0.2', '45.79.0.3', '45.79.0.54', '45.79.0.53'];
const B6 = '2606:2800::3';
const KEY = 'sk-of-the-provider';
const found: Record<string, unknown> = {};
const children: ChildProcess[] = [];
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
const run = (line: string) => execFileSync('sh', ['-ec', line], { encoding: 'utf8' });
const allow = (domain: string) => ({ action: 'allow', domain });
const deny = (domain: string) => ({ action: 'deny', domain });

/** The internet: a web server at each address, name servers, and counts of what came for each address. */
async function openInternet(): Promise<(address: string) => number> {
  const listen = `require('http').createServer((q, r) => r.end(q.socket.localAddress)).listen(80, '0.0.0.0', () => console.log('up'))`;
  const all = [A, B, OTHER_NAMES, NAMES];
  const names = ['a.example', 'b.example'].map((name, index) => `--host-record=${name},${all[index]},30`).join(' ');
  const script = `ip link set lo up; read -r _; ${all.map((each) => `ip addr add ${each}/32 dev lo; `).join('')}
    ip link set in0 up; ip route add default dev in0
    nft -f - <<'RULES'
    table ip seen {
      chain seen {
        type filter hook prerouting priority raw; policy accept;
        ${all.map((each) => `ip daddr ${each} counter`).join('\n')}
      }
    }
RULES
    dnsmasq --no-resolv --no-hosts --conf-file=/dev/null --user=root --bind-interfaces --listen-address=${NAMES},${OTHER_NAMES} ${names}
    exec "$0" -e "$1"`;
  const child = spawn(
    'unshare',
    ['--net', '--pid', '--fork', '--kill-child', 'sh', '-ec', script, process.execPath, listen],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  children.push(child);
  const up = once(child.stdout, 'data');
  const own = run('readlink /proc/self/ns/net');
  await eventually(() => run(`readlink /proc/${child.pid}/ns/net`) !== own);
  run(`ip link add internet type veth peer name in0 netns ${child.pid}
    ip addr add 45.79.0.1/32 dev internet; ip link set internet up`);
  child.stdin?.end('go\n');
  await up;
  for (const each of all) run(`ip route add ${each}/32 dev internet src 45.79.0.1`);
  return (address) => {
    const listed = run(`nsenter --net --target ${child.pid} -- nft list table ip seen`);
    return Number(new RegExp(`daddr ${address} counter packets (\\d+)`).exec(listed)?.[1]);
  };
}

run('ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward');
writeFileSync(join(dir, 'resolv.conf'), `nameserver ${NAMES}\n`);
run(`mount --bind ${join(dir, 'resolv.conf')} /etc/resolv.conf`);
const packetsTo = await openInternet();
const provider = createServer((request, response) => {
  response.end(`${request.headers.authorization === `Bearer ${KEY}` ? 'known' : 'unknown'} ${request.url}`);
});
provider.listen(0, '127.0.0.1');
await once(provider, 'listening');

const platform = await openPlatform({
  dir: join(dir, 'platform'),
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  qemu: { accel: 'tcg', hostMemory_mb: 1_024, imagesDir: dirname(image), image: basename(image), network: 'egress' },
  catalogue: [
    {
      provider: 'echo',
      display_name: 'Echo',
      description: 'a provider of a test',
      address: { type: 'fixed', url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}` },
      injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      allow_http: true,
      sample_path: '/',
    },
  ],
  version: '0.0.0',
  log: silentLog,
});
const { admin } = platform;
const web = { organization: 'acme', sprite: 'web' };
await admin.createOrganization('acme');
await admin.createSprite({ organization: 'acme', name: 'web' });
await admin.createConnector({
  organization: 'acme',
  id: 'echo',
  provider: 'echo',
  access_policy: { allow_all: true },
  api_key: new Secret(KEY),
});
const token = await admin.createToken({ organization: 'acme' });
const { id } = await admin.readMachine(web);

const call = (method: string, path: string, body?: object) =>
  callPlatform(platform.url, { method, token, path, ...(body === undefined ? {} : { body }) });
const machine = (method: string, path: string) => call(method, `/v1/apps/acme/machines/${id}${path}`);
const setPolicy = async (...rules: object[]) =>
  (await call('POST', '/v1/sprites/web/policy/network', { rules })).status;

async function remora(...words: string[]): Promise<string> {
  const env = { ...process.env, REMORA_URL: platform.url, REMORA_API_TOKEN: token.reveal(), HOME: '/nonexistent' };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', remoraPath, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  });
  const [said, failed, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(`remora ${words.join(' ')} ended with ${code}: ${failed}`);
  return said;
}
/** What a script prints in the machine that the user of the sprite runs. */
const inside = (script: string) => remora('exec', '-s', 'web', '-T', '--', 'bash', '-c', script);
/** The same as root, by the shell that only images of the suite have. */
const asRoot = (script: string) =>
  inside(`exec 3<>/dev/tcp/127.0.0.1/9000; printf '%s\\n' '{ ${script}; } 2>&1; exit' >&3; cat <&3`);
const linesOf = (said: string) => said.trim().split('\n');

/** Prints the status of curl, where 6 is "not resolved", 7 "not connected" and 28 "no answer". */
const TRY = `try() { curl -sS -m 20 -o /dev/null "$@" 2> /dev/null; echo $?; }`;
/** A program of the sprite that tries the address all the time, in the background. */
const startKnocking = () =>
  inside(
    `cat > knock <<'END'\necho $$ > knocking; while :; do curl -sS -m 3 -o /dev/null http://${B}/ 2> /dev/null; echo $? >> knocked; sleep 0.2; done\nEND
     rm -f knocked; setsid nohup bash knock > /dev/null 2>&1 & until [ -s ~/knocked ]; do sleep 0.2; done`,
  );
const endKnocking = async () => linesOf(await inside('kill $(cat knocking); sort -u knocked'));

/** Tries both names, the address of the second one, and a provider through the gateway. */
async function look() {
  const said = await inside(
    `${TRY}; try http://a.example/; try http://b.example/; try http://${B}/
     curl -sS --unix-socket /run/remora/remora.sock http://remora/v1/gateway/echo/echo/hello`,
  );
  const [a, b, raw, gateway] = linesOf(said);
  return { a, b, raw, gateway };
}

try {
  await machine('POST', '/start');
  found.before = await look();
  found.without = linesOf(
    await asRoot('systemctl is-active remora-network; nft list tables; ls /var/lib/remora-network'),
  );
  found.status = JSON.parse(
    await inside('curl -sS --unix-socket /run/remora/remora.sock http://remora/v1/status'),
  ).parts.network;

  // The disk is older than any policy, and on it a service tries an address from its start on.
  const trying = `while :; do curl -sS -m 3 -o /dev/null http://${A}/ 2> /dev/null; sleep 0.2; done`;
  await remora('services', 'create', '-s', 'web', '--duration', '1s', 'trying', '--', 'bash', '-c', trying);
  await eventually(() => packetsTo(A) > 0);
  await remora('checkpoint', 'create', '-s', 'web');

  found.set = await setPolicy(allow('a.example'));
  const seen = [packetsTo(B), packetsTo(OTHER_NAMES)];
  await startKnocking();
  found.restricted = await look();
  found.processes = await asRoot('systemctl show -P User remora-network; systemctl is-system-running');
  const ask = `const { Resolver } = require('dns').promises;
    const ask = async (server, type, name) => { const r = new Resolver({ timeout: 5000, tries: 1 }); if (server) r.setServers([server]);
      return await r.resolve(name, type).then((all) => all.join(), (error) => error.code); };
    (async () => { for (const [server, type, name] of JSON.parse(process.argv[1])) console.log(await ask(server, type, name)); })()`;
  const questions = [
    ['', 'A', 'A.Example'],
    ['', 'A', 'b.example'],
    ['', 'TXT', 'data.b.example'],
    [OTHER_NAMES, 'A', 'b.example'],
    [OTHER_NAMES, 'A', 'a.example'],
  ];
  const asking = async (...all: string[][]) =>
    linesOf(await inside(`/opt/remora/node_modules/.bin/node -e "${ask}" '${JSON.stringify(all)}'`));
  found.asked = await asking(...questions);
  await inside(`curl -sS -m 20 -o /dev/null http://${B}:4007/ 2> /dev/null || true`);
  const { refused } = JSON.parse(await remora('explain-network', '-s', 'web', '--refused', '--json'));
  found.refused = refused.find(({ port }: { readonly port?: number }) => port === 4007);
  // The next process waits before it begins.
  const dropIn = '/run/systemd/system/remora-network.service.d';
  await asRoot(
    `mkdir -p ${dropIn}; printf '[Service]\\nExecStartPre=/bin/sleep 20\\n' > ${dropIn}/late.conf; systemctl daemon-reload; systemctl kill --kill-who=main --signal=KILL remora-network; rm -r ${dropIn}`,
  );
  found.away = await asking(['', 'A', 'a.example'], [OTHER_NAMES, 'A', 'a.example']);
  await asRoot('until systemctl is-active remora-network; do sleep 0.2; done; systemctl daemon-reload');
  found.back = await asking(['', 'A', 'a.example']);
  found.ipv6 = linesOf(
    await asRoot(
      `ip -6 addr add 2606:2800::9/64 dev eth0 nodad; ip -6 route add default via fe80::1 dev eth0; curl -sS -m 20 http://[${B6}]/ 2> /dev/null; echo $?`,
    ),
  );
  found.datagram = await inside(
    `: > /dev/udp/${B}/9; exec 3<> /dev/udp/${B}/9; echo x >&3; sleep 0.5; echo x >&3 && echo sent || echo refused`,
  ).catch((error: Error) => error.message);
  found.unprivileged = linesOf(
    await inside(`PATH=$PATH:/usr/sbin; nft flush ruleset 2> /dev/null; echo $?; nft delete table inet remora_network 2> /dev/null; echo $?
      curl -sS -m 5 --unix-socket /run/remora/network/network.sock http://x/v1/network 2> /dev/null; echo $?
      echo x 2> /dev/null >> /run/remora/network-policy.json; echo $?; cat /run/remora/network-policy.json`),
  );
  found.afterThat = await look();
  found.knocked = await endKnocking();
  found.leaked = [B, OTHER_NAMES].map((address, index) => packetsTo(address) - (seen[index] ?? 0));

  // It is open until somebody notices.
  const flushed = await asRoot(
    `begin=$(cut -d. -f1 /proc/uptime); nft flush ruleset; until nft list table inet remora_network > /dev/null 2>&1; do sleep 0.1; done; echo $(( $(cut -d. -f1 /proc/uptime) - begin ))`,
  );
  found.putBack_s = Number(flushed);
  found.afterFlush = await look();
  found.told = await asRoot('journalctl -u remora-network -o cat --no-pager | grep -c "they are put back"');

  const seenLater = packetsTo(B);
  await startKnocking();
  await machine('POST', '/suspend');
  await machine('GET', '/wait?state=suspended&timeout=60');
  await machine('POST', '/start');
  found.resumed = await look();
  found.knockedLater = await endKnocking();
  found.leakedLater = packetsTo(B) - seenLater;

  await inside(
    `cat > idle <<'END'\nexec 3<> /dev/tcp/a.example/80; echo > idling; read -t 60 line <&3; echo $? > ended\nEND
     rm -f idling ended; setsid nohup bash idle > /dev/null 2>&1 & until [ -e ~/idling ]; do sleep 0.2; done`,
  );
  found.setOther = await setPolicy(allow('b.example'));
  // A status over 128 says that nothing had come in its time.
  found.idleEnded = Number(
    await inside('for i in $(seq 50); do [ -s ended ] && break; sleep 0.1; done; cat ended || echo 255'),
  );
  const seenA = packetsTo(A);
  await remora('checkpoint', 'restore', '-s', 'web', 'v0');
  found.restored = await look();
  const services = await inside('curl -sS --unix-socket /run/remora/remora.sock http://remora/v1/services/trying');
  found.service = JSON.parse(services).state.status;
  found.leakedOther = packetsTo(A) - seenA;
  found.order = linesOf(
    await asRoot(
      'systemctl show -P ActiveEnterTimestampMonotonic remora-network.service; systemctl show -P ActiveEnterTimestampMonotonic remora-supervisor.service',
    ),
  ).map(Number);

  found.setNothing = await setPolicy(deny('*'));
  found.denied = await look();
  found.lift = await setPolicy();
  found.lifted = await look();
  found.left = linesOf(await asRoot('nft list tables; ls /var/lib/remora-network/network.json 2> /dev/null'));
} catch (error) {
  found.error = String(error);
} finally {
  await admin.stopMachine(web).catch(() => undefined);
  await platform[Symbol.asyncDispose]();
  provider.close();
}
console.log(JSON.stringify(found));
process.exit();
