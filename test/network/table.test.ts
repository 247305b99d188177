// A table of policies, of what programs try under them and of what has to come of it, through the kernel: each line is tried by curl, dig, Node
// and Python, as far as they can do it, first without any policy. What comes out of the machine is looked at on the other side.
import { execFileSync } from 'node:child_process';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { normalizeName } from '../../src/core/network-policy/domain-name.ts';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import type { Attempt } from '../support/network/attempt.ts';
import { openNetworkCapture } from '../support/network/capture.ts';
import { type NetworkPrograms, openNetworkPrograms } from '../support/network/programs.ts';
import { openNetworkProcess } from '../support/network-process.ts';
import { isWithoutNetworks, NAME_SERVER, type NetworkWorld, openNetworkWorld } from '../support/network-world.ts';
import { readPolicy } from '../support/read-policy.ts';
import { tempDir } from '../support/temp-dir.ts';

const names = [
  'local=/example/',
  'host-record=a.example,93.184.1.1,60',
  // Its hint is an address that nobody asks for.
  `dns-rr=a.example,65,${['0001', '00', '0004', '0004', '5db80109'].join('')}`,
  'host-record=dual.example,93.184.1.2,2606:2800::1,60',
  'host-record=b.example,93.184.1.3,60',
  'host-record=c.example,93.184.1.4,60',
  'host-record=x.b.example,93.184.1.5,60',
  'host-record=deep.x.b.example,93.184.1.6,60',
  'host-record=xn--bcher-kva.example,93.184.1.7,60',
  'host-record=bucher.example,93.184.1.9,60',
  'host-record=xb.example,93.184.1.9,60',
  'host-record=sub.a.example,93.184.1.9,60',
  'host-record=secret-payload.b.example,93.184.1.9,60',
  'host-record=github.com,93.184.1.20,60',
  'host-record=api.github.com,93.184.1.21,60',
  'host-record=registry.npmjs.org,93.184.1.22,60',
  'host-record=api.anthropic.com,93.184.1.23,60',
  'host-record=mixed.example,93.184.1.8,60',
  'host-record=mixed.example,10.20.0.1,60',
  'host-record=rebind.example,10.20.0.1,60',
  'host-record=metadata.example,169.254.169.254,60',
  'host-record=loop.example,127.0.0.1,60',
  'host-record=mapped.example,::ffff:10.20.0.1,60',
  'cname=alias.example,b.example',
  'cname=chain.example,alias.example',
  'txt-record=b.example,hello',
  'mx-host=b.example,a.example,5',
  'srv-host=_http._tcp.b.example,a.example,80',
];

/** `asked`: although nothing comes of it, its name is asked of the name server. */
type Row = readonly [attempt: string, expected: string, asked?: 'asked'];

/**
 * `dig` with words of its own; `tcp` to port 80 where no other is named, over both families or one; `udp`; `icmp`; `doh` is a name of which
 * curl asks a name server over HTTPS. What is expected is an address that answers, or why there is none.
 */
const table: Readonly<Record<string, readonly Row[]>> = {
  '+a.example': [
    ['tcp 93.184.1.1', 'reset'],
    ['dig a.example', '93.184.1.1'],
    ['dig A.eXample', '93.184.1.1'],
    ['dig a.example. +tcp', '93.184.1.1'],
    ['dig a.example @8.8.8.8', '93.184.1.1'],
    ['dig a.example HTTPS', 'empty'],
    ['dig a.example ANY', 'NOTIMP'],
    ['tcp a.example', '93.184.1.1'],
    ['tcp A.Example.', '93.184.1.1'],
    ['tcp a.example:8080', '93.184.1.1'],
    ['udp 93.184.1.1:4433', 'answered'],
    ['icmp 93.184.1.1', 'answered'],
    ['dig b.example', 'REFUSED'],
    ['dig b.example +tcp', 'REFUSED'],
    ['dig b.example AAAA', 'REFUSED'],
    ['dig b.example TXT', 'REFUSED'],
    ['dig b.example MX', 'REFUSED'],
    ['dig _http._tcp.b.example SRV', 'REFUSED'],
    ['dig b.example NULL', 'REFUSED'],
    ['dig b.example ANY', 'REFUSED'],
    ['dig b.example HTTPS', 'REFUSED'],
    ['dig secret-payload.b.example @8.8.8.8', 'REFUSED'],
    ['dig secret-payload.b.example @8.8.8.8 +tcp', 'REFUSED'],
    ['dig secret-payload.b.example @2001:4860:4860::8888', 'REFUSED'],
    ['dig secret-payload.b.example @2001:4860:4860::8888 +tcp', 'REFUSED'],
    ['dig secret-payload.b.example @127.0.0.1', 'REFUSED'],
    ['dig secret-payload.b.example -p 5300', 'no answer'],
    ['dig sub.a.example', 'REFUSED'],
    ['dig nothing.example', 'REFUSED'],
    ['tcp b.example', 'unresolved'],
    ['doh b.example', 'unresolved'],
    ['tcp 93.184.1.3', 'reset'],
    ['tcp 93.184.0.2:8080', 'reset'],
    ['tcp [2606:2800::2]', 'reset'],
    ['tcp 10.20.0.1', 'reset'],
    ['tcp 169.254.169.254', 'reset'],
    ['udp 93.184.0.2:4433', 'prohibited'],
    ['udp 93.184.0.2:53', 'by another'],
    ['udp [2606:2800::2]:4433', 'prohibited'],
    ['icmp 93.184.0.2', 'prohibited'],
  ],
  '-*': [
    ['tcp 93.184.1.1', 'reset'],
    ['dig a.example', 'REFUSED'],
    ['tcp a.example', 'unresolved'],
    ['udp 93.184.1.1:4433', 'prohibited'],
    ['icmp 93.184.1.1', 'prohibited'],
  ],
  '+*.b.example': [
    ['dig b.example', 'REFUSED'],
    ['dig xb.example', 'REFUSED'],
    ['dig x.b.example', '93.184.1.5'],
    ['tcp X.B.Example.', '93.184.1.5'],
    ['tcp deep.x.b.example', '93.184.1.6'],
    ['tcp b.example', 'unresolved'],
    ['dig missing.b.example', 'NXDOMAIN'],
  ],
  '+* -b.example': [
    ['tcp b.example', 'unresolved'],
    ['tcp x.b.example', '93.184.1.5'],
    ['tcp a.example', '93.184.1.1'],
    ['tcp 93.184.1.3', 'reset'],
    ['udp b.example:4433', 'unresolved'],
  ],
  '+*.example -*.b.example +deep.x.b.example': [
    ['dig x.b.example', 'REFUSED'],
    ['dig b.example', '93.184.1.3'],
    ['tcp deep.x.b.example', '93.184.1.6'],
    ['dig github.com', 'REFUSED'],
  ],
  '-a.example': [
    ['dig a.example', 'REFUSED'],
    ['dig b.example', 'REFUSED'],
  ],
  '+a.example -A.Example.': [['dig a.example', 'REFUSED']],
  '+bücher.example': [
    ['dig xn--bcher-kva.example', '93.184.1.7'],
    ['tcp bücher.example', '93.184.1.7'],
    ['tcp XN--BCHER-KVA.example', '93.184.1.7'],
    ['dig bucher.example', 'REFUSED'],
  ],
  '+alias.example +chain.example': [
    ['dig alias.example', 'b.example.,93.184.1.3'],
    ['dig chain.example', 'alias.example.,b.example.,93.184.1.3'],
    ['tcp chain.example', '93.184.1.3'],
    ['dig b.example', 'REFUSED'],
    ['tcp b.example', 'unresolved'],
  ],
  '-* +chain.example': [
    ['dig chain.example', 'alias.example.,b.example.,93.184.1.3'],
    ['tcp chain.example', '93.184.1.3'],
  ],
  '+* -b.example +chain.example': [
    ['dig chain.example', 'REFUSED', 'asked'],
    ['dig chain.example AAAA +tcp', 'REFUSED', 'asked'],
    ['dig alias.example MX', 'REFUSED', 'asked'],
    ['dig alias.example CNAME', 'b.example.'],
    ['tcp alias.example', 'unresolved', 'asked'],
    ['tcp 93.184.1.3', 'reset'],
  ],
  '+chain.example -alias.example': [['tcp chain.example', 'unresolved', 'asked']],
  '+chain.example -*.example': [['tcp chain.example', 'unresolved', 'asked']],
  '+chain.example +b.example -*.example': [['tcp chain.example', 'unresolved', 'asked']],
  '+*': [
    ['dig rebind.example', 'empty'],
    ['dig metadata.example', 'empty'],
    ['dig loop.example', 'empty'],
    ['dig mapped.example AAAA', 'empty'],
    ['dig mixed.example', '93.184.1.8'],
    ['tcp rebind.example', 'unresolved'],
    ['tcp metadata.example', 'unresolved'],
    ['tcp 10.20.0.1', 'reset'],
    ['tcp 169.254.169.254', 'reset'],
    ['tcp 93.184.1.9', 'reset'],
  ],
  '@code_hosts': [
    ['tcp github.com', '93.184.1.20'],
    ['dig api.github.com', '93.184.1.21'],
    ['dig registry.npmjs.org', 'REFUSED'],
  ],
  '@defaults -github.com': [
    ['dig github.com', 'REFUSED'],
    ['dig api.github.com', '93.184.1.21'],
    ['tcp registry.npmjs.org', '93.184.1.22'],
    ['tcp api.anthropic.com', '93.184.1.23'],
    ['tcp 93.184.1.20', 'reset'],
  ],
  '+dual.example': [
    ['dig dual.example AAAA', '2606:2800::1'],
    ['tcp4 dual.example', '93.184.1.2'],
    ['tcp6 dual.example', '2606:2800::1'],
    ['udp [2606:2800::1]:4433', 'answered'],
    ['tcp [2606:2800::2]', 'reset'],
  ],
};

/** Answers questions for names over HTTPS. */
const DOH = '93.184.0.3';
const ECHOING = ['93.184.1.1', '93.184.0.2', '2606:2800::1', '2606:2800::2'];

interface Line {
  readonly text: string;
  readonly expected: string;
  readonly isAsked: boolean;
  /** What programs are told, where `dig` and `doh` are none of them. */
  readonly attempt: Attempt | undefined;
}

/** What each program had of it. */
type Had = Readonly<Record<string, string>>;

function toLine([text, expected, asked]: Row): Line {
  const isAsked = asked !== undefined;
  const [word = '', place = ''] = text.split(' ');
  const [, kind, family] = /^(tcp|udp|icmp)([46]?)$/.exec(word) ?? [];
  if (kind === undefined) return { text, expected, isAsked, attempt: undefined };
  const [, bracketed, plain = '', port = kind === 'icmp' ? '0' : '80'] =
    /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(place) ?? [];
  const attempt = { kind, host: bracketed ?? plain, port: Number(port), family: Number(family) } as Attempt;
  return { text, expected, isAsked, attempt };
}

const policies = Object.entries(table).map(([policy, rows]) => ({ policy, lines: rows.map(toLine) }));
const all = policies.flatMap(({ policy, lines }) =>
  lines.map((line) => ({ policy, line, title: `${policy}: ${line.text}` })),
);

/** Tries them in their order; those that one program can do follow each other in it. */
async function tryLines(programs: NetworkPrograms, lines: readonly Line[]): Promise<Had[]> {
  const wayOf = ({ text, attempt }: Line) => (attempt === undefined ? (text.split(' ')[0] ?? '') : 'attempt');
  const had: Had[] = [];
  while (had.length < lines.length) {
    const left = lines.slice(had.length);
    const way = wayOf(left[0] as Line);
    const other = left.findIndex((line) => wayOf(line) !== way);
    const some = other === -1 ? left : left.slice(0, other);
    const rests = some.map(({ text }) => text.slice(way.length + 1));
    if (way === 'dig') had.push(...(await programs.dig(rests)).map((dig) => ({ dig })));
    else if (way === 'doh')
      for (const name of rests) had.push({ curl: await programs.curlWithDoh(DOH, `http://${name}/`) });
    else had.push(...(await programs.attempt(some.flatMap(({ attempt }) => attempt ?? []))));
  }
  return had;
}

/** What has to come out of the machine for it. */
function toVisible({ text, expected, isAsked, attempt }: Line): string[] {
  const name = attempt?.host ?? text.split(' ')[1] ?? '';
  const question = isIP(name) === 0 ? [`name ${normalizeName(name)}`] : [];
  if (isAsked) return question;
  if (attempt === undefined) {
    return ['REFUSED', 'NOTIMP', 'no answer', 'unresolved'].includes(expected) || text.endsWith(' HTTPS')
      ? []
      : question;
  }
  const { kind, host, port } = attempt;
  if (REFUSALS.includes(expected)) return [];
  const address = expected === 'answered' ? host : expected;
  return [...question, kind === 'icmp' ? `icmp ${address}` : `${kind} ${address}:${port}`];
}
const REFUSALS = ['REFUSED', 'NOTIMP', 'empty', 'no answer', 'unresolved', 'reset', 'prohibited', 'by another'];

/** A name server at a port that is none of name servers, one over HTTPS, and what answers over UDP. */
async function startServices(world: NetworkWorld): Promise<void> {
  const quiet = [
    '--no-resolv',
    '--no-hosts',
    '--no-daemon',
    '--bind-interfaces',
    '--conf-file=/dev/null',
    '--user=root',
  ];
  const place = [`--listen-address=${NAME_SERVER}`, '--port=5300'];
  const other = world.startOutside(['dnsmasq', ...quiet, ...place, ...names.map((name) => `--${name}`)]);
  const dir = tempDir();
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...kind, '-subj', '/CN=names', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const child = new URL('../support/network/services-child.ts', import.meta.url).pathname;
  const services = world.startOutside([process.execPath, child, cert, key, '93.184.1.3', '53,4433', ...ECHOING]);
  await Promise.all(
    [other.stderr, services.stdout].map((stream) => new Promise((resolve) => stream?.once('data', resolve))),
  );
}

describe.skipIf(isWithoutNetworks(['/usr/bin/tcpdump', '/usr/bin/python3', '/usr/bin/openssl']))(
  'under each policy',
  () => {
    const opened = openOnce(async () => {
      const world = await openNetworkWorld();
      world.useNameServer();
      const [network] = await Promise.all([openNetworkProcess(world), world.setNames(names), startServices(world)]);
      const programs = openNetworkPrograms(world);
      const capture = await openNetworkCapture(world);
      const had = new Map<string, Had>();
      const times = new Map<string, readonly [number, number]>();
      for (const { policy, lines } of [{ policy: '', lines: all.map(({ line }) => line) }, ...policies]) {
        await network.enforce(readPolicy(policy));
        const begun_ms = Date.now();
        const each = await tryLines(programs, lines);
        // A program may end its connection a moment after it has said what came of it: that packet would be one of the next policy.
        await eventually(() => world.run(['ss', '-tnH', '( dport = :80 or dport = :8080 )']).stdout === '');
        times.set(policy, [begun_ms, Date.now()]);
        each.forEach((one, index) => void had.set(`${policy}: ${lines[index]?.text}`, one));
      }
      const seen = await capture.end();
      const seenUnder = (policy: string) => {
        const [from_ms, to_ms] = times.get(policy) ?? [0, 0];
        return new Set(seen.filter(({ at_ms }) => at_ms >= from_ms && at_ms <= to_ms).map(({ what }) => what));
      };
      return { had, seenUnder };
    });

    test.each(all)('$title', ({ title, line: { text, expected } }) => {
      const { had } = opened();
      const found = had.get(title) ?? {};
      expect(Object.keys(found)).not.toEqual([]);
      expect(found).toEqual(Object.fromEntries(Object.keys(found).map((program) => [program, expected])));
      // What is refused is there without a policy; what is not refused is the same.
      const without = Object.values(had.get(`: ${text}`) ?? {});
      expect(without).toHaveLength(Object.keys(found).length);
      for (const outcome of without) {
        if (REFUSALS.includes(expected)) expect(outcome).not.toBe(expected);
      }
    });

    test.each(policies)('what comes out of the machine under $policy is what it allows', ({ policy, lines }) => {
      expect([...opened().seenUnder(policy)].sort()).toEqual([...new Set(lines.flatMap(toVisible))].sort());
    });

    test('without a policy all of it comes out, and is seen', () => {
      const seen = opened().seenUnder('');
      for (const what of [
        'name secret-payload.b.example',
        'tcp 10.20.0.1:80',
        'udp 93.184.0.2:53',
        'icmp 93.184.0.2',
      ]) {
        expect(seen).toContain(what);
      }
      expect(seen).toContain(`tcp ${DOH}:443`);
      expect(seen).toContain(`udp ${NAME_SERVER}:5300`);
    });
  },
);
