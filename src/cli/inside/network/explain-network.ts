// `remora explain-network`: what the network policy of a sprite does with a connection, and what it has refused.
import type { NetworkExplanation, NetworkRefusal } from '../../../contract/network-explanations.ts';
import type { Invocation } from '../../command.ts';
import { exitCode, UsageError } from '../../exit-code.ts';
import { print, toWhen } from '../../operator/print.ts';
import { paint } from '../../paint.ts';
import { toTable } from '../../table.ts';
import { askInside } from '../sprite-door.ts';
import { readHost } from './read-host.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [text] = invocation.operands;
  if (invocation.has('refused') === (text !== undefined)) {
    throw new UsageError('explain-network: give HOST[:PORT], or --refused for what was refused');
  }
  return text === undefined ? await listRefused(invocation) : await explain(invocation, text);
}

async function explain(invocation: Invocation, text: string): Promise<number> {
  const { out, has } = invocation;
  const body = readHost(text);
  if (body === undefined) {
    throw new UsageError(`explain-network: ${text} is not HOST[:PORT], such as example.com:443 or [2001:db8::1]:443`);
  }
  const answer = await askInside(invocation, (door) => door.client.call('explainNetworkPolicy', { body }));
  const isAllowed = answer.decision === 'allow';
  const code = isAllowed ? exitCode.ok : exitCode.failed;
  if (has('json')) {
    out.line(JSON.stringify(answer));
    return code;
  }
  const tone = isAllowed ? 'good' : 'bad';
  for (const line of toTable(toRows(answer))) {
    out.line(line.startsWith('decision') ? paint(out, line, answer.decision, tone) : line);
  }
  return code;
}

function toRows({ decision, reason, rule, addresses, names }: NetworkExplanation): string[][] {
  return [
    ['decision', decision],
    ['because', reason],
    ...(rule === undefined ? [] : [['rule', toRule(rule)]]),
    ...(addresses.length === 0 ? [] : [['addresses', addresses.join(' ')]]),
    ...(names.length === 0 ? [] : [['names', names.join(' ')]]),
  ];
}

function toRule({ index, action, domain, include }: NonNullable<NetworkExplanation['rule']>): string {
  const text = `${index}: ${action} ${domain}`;
  return include === undefined ? text : `${text}, of the preset ${include}`;
}

async function listRefused(invocation: Invocation): Promise<number> {
  const { out, has } = invocation;
  const list = await askInside(invocation, (door) => door.client.call('listRefusedConnections'));
  if (list.refused.length === 0 && !has('json')) {
    out.line('nothing was refused lately');
    return exitCode.ok;
  }
  return print(invocation, list, [
    ['REFUSED', 'KIND', 'COUNT', 'LAST', 'BY'],
    ...list.refused.map((one) => [
      toDestination(one),
      one.kind,
      String(one.count),
      toWhen(one.last_at),
      toProcess(one),
    ]),
  ]);
}

function toDestination({ name, address = '', port, protocol }: NetworkRefusal): string {
  if (name !== undefined) return name;
  const host = port !== undefined && address.includes(':') ? `[${address}]` : address;
  return `${host}${port === undefined ? '' : `:${port}`}${protocol === undefined ? '' : `/${protocol}`}`;
}

/** Where the machine cannot tell the process of a refused address, it knows the user. */
function toProcess({ process, uid }: NetworkRefusal): string {
  if (process !== undefined) return `${process.command} (pid ${process.pid})`;
  return uid === undefined ? '-' : `user ${uid}`;
}
