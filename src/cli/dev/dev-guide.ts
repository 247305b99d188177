// What `remora dev` prints once everything answers: what runs where, and curl commands that work as pasted. Pure.
import { toShellWord } from '../../core/shell-word.ts';
import { toTable } from '../table.ts';
import type { DevRecord } from './dev-record.ts';

export interface DevPlaces {
  readonly dir: string;
  readonly providerUrl: string;
  readonly databasePath: string;
  readonly agentLog: string;
  readonly platformLog: string;
  /** The path of the file for `curl -H @FILE`. */
  readonly headerFile: string;
  /** The agent is in a virtual machine: each call of its socket is a program that runs there. */
  readonly isVirtual: boolean;
  /** The path of the command `remora`. */
  readonly program: string;
  /** The id of a transaction that is still to come. */
  readonly nextTxid: string;
}

export interface GuideLine {
  readonly title: string;
  readonly command: string;
}

export function toGuide(record: DevRecord, places: DevPlaces): string[] {
  const where = toTable([
    ['agent', record.socket, `sprite ${record.sprite}, machine ${record.app}/${record.machine}`],
    ['platform', record.platform_url, `log ${places.platformLog}`],
    ['sprite', record.sprite_url, 'its HTTP service, or port 8080'],
    ['database node', record.node_url, `file ${places.databasePath}`],
    ['provider', places.providerUrl, `connectors ${record.connectors.map(({ id }) => id).join(', ')}`],
    ['extensions', record.extension_provider.base_url, `provider ${record.extension_provider.name}`],
    ['files', places.dir, `dev.json; log of the agent ${places.agentLog}`],
  ]);
  const lines = toGuideLines(record, places);
  return [
    'remora dev is up',
    ...where.map((line) => `  ${line}`),
    '',
    ...lines.flatMap(({ title, command }) => [`# ${title}`, command]),
    '',
    'Ctrl-C ends all of it.',
  ];
}

/** The commands in an order in which they can be pasted one after the other. */
export function toGuideLines(record: DevRecord, places: DevPlaces): GuideLine[] {
  const local = (path: string, ...words: string[]) =>
    toCommand(['curl', '-sS', ...words, '--unix-socket', record.socket, `http://remora${path}`]);
  const onPlatform = (path: string, ...words: string[]) =>
    toCommand(['curl', '-sS', ...words, '-H', `@${places.headerFile}`, record.platform_url + path]);
  const machine = `/v1/apps/${record.app}/machines/${record.machine}`;
  const suspend = (ask: typeof local) => ask(`${machine}/suspend`, '-X', 'POST');
  const json = ['-H', 'content-type: application/json'];
  const inMachine = (script: string) =>
    toCommand(['env', `REMORA_SOCKET=${record.socket}`, places.program, 'exec', '--', 'sh', '-c', script]);
  const extension = { provider: record.extension_provider.name, name: 'my-kv', app: record.app };
  const why = { provider: 'sample', connector_id: 'sample', method: 'GET', path: '/admin/users' };
  return [
    { title: 'what the agent says of itself', command: local('/v1/status') },
    {
      title: 'a call through the gateway: no credential here, one at the provider',
      command: local('/v1/gateway/sample/sample/hello?from=dev'),
    },
    { title: 'a call that the policy denies', command: local('/v1/gateway/sample/sample/admin/users') },
    { title: 'and why', command: local('/v1/gateway/explain', ...json, '-d', JSON.stringify(why)) },
    { title: 'a stream through the gateway', command: local('/v1/gateway/sample/sample/sse?count=3', '-N') },
    {
      title: 'an extension of a provider: a key-value store, whose secrets go to the programs of the app',
      command: onPlatform('/v1/extensions', ...json, '-d', JSON.stringify(extension)),
    },
    // A virtual machine reaches nothing of this host but the platform.
    ...(places.isVirtual ? [] : toStoreLines(inMachine)),
    {
      title: `its page, for a browser; email address and password are those of the user in ${places.dir}/dev.json`,
      command: onPlatform('/v1/extensions/my-kv/sso', '-o', '/dev/null', '-w', '%{redirect_url}\\n'),
    },
    {
      title: 'delete it; programs that start later do not have its secrets',
      command: onPlatform('/v1/extensions/my-kv', '-X', 'DELETE'),
    },
    {
      title: 'the page of the sprite: what its HTTP service answers, or port 8080',
      command: toCommand(['curl', '-sS', '-H', `@${places.headerFile}`, record.sprite_url]),
    },
    { title: 'open ports', command: local('/v1/ports') },
    {
      title: 'ports as they open and close, until Ctrl-C; try: python3 -m http.server 8000',
      command: local('/v1/ports/watch', '-N'),
    },
    { title: 'how fresh the replica is', command: local('/v1/replication') },
    {
      title: 'wait for a transaction (read your own writes)',
      command: local(`/v1/replication/app.db/wait?txid=${places.nextTxid}&timeout=30`),
    },
    { title: "the database node's own stream, until Ctrl-C", command: local('/events', '-N') },
    { title: 'every event of the agent, until Ctrl-C', command: local('/v1/events?since=0', '-N') },
    places.isVirtual
      ? { title: 'suspend the machine, which a call of its socket keeps awake', command: suspend(onPlatform) }
      : { title: 'the machine suspends itself: no token', command: suspend(local) },
    {
      title: 'wait until it is suspended; the agent sleeps, so this asks the platform',
      command: onPlatform(`${machine}/wait?state=suspended`),
    },
    {
      title: 'wake it; then ask for its status again: the generation is higher',
      command: onPlatform(`${machine}/start`, '-X', 'POST'),
    },
    {
      title: 'the database node goes away for five seconds',
      command: toCommand(['curl', '-sS', ...json, '-d', '{"down_ms":5000}', `${record.node_url}/restart`]),
    },
    {
      title: 'the database node becomes the primary; {"role":"replica"} takes it back',
      command: toCommand(['curl', '-sS', ...json, '-d', '{"role":"primary"}', `${record.node_url}/role`]),
    },
  ];
}

function toStoreLines(inMachine: (script: string) => string): GuideLine[] {
  return [
    { title: 'a program that starts now has them', command: inMachine('printenv SAMPLE_KV_URL') },
    {
      title: 'and writes with them',
      command: inMachine('echo hello | curl -sS -T - "$SAMPLE_KV_URL/greeting" && curl -sS "$SAMPLE_KV_URL/greeting"'),
    },
  ];
}

function toCommand(words: readonly string[]): string {
  return words.map(toShellWord).join(' ');
}
