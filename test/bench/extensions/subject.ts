// One server of the benchmark, which prints its port. `bare`: reads the body and answers. `verifying`: the same behind the kit's verifier. `storing`: checks the signature too, and stores the
// body in SQLite before it answers, as durably as the platform. `kit`: a provider made with the kit. Arguments: the kind, a file for SQLite.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import {
  createNonceBook,
  createProviderHandler,
  createRequestVerifier,
  Secret,
  toNodeListener,
} from '../../../src/provider/index.ts';
import { BASE_URL, SECRET } from './signed-requests.ts';

const [kind = '', file = ''] = process.argv.slice(2);
const server = createServer({ keepAliveTimeout: 60_000 }, toListener());
server.listen(0, '127.0.0.1', 1_024, () => console.log((server.address() as AddressInfo).port));

function toListener(): RequestListener {
  if (kind === 'kit') return toNodeListener(createKit());
  if (kind === 'verifying') return createVerifying();
  const store = kind === 'storing' ? openStore() : () => undefined;
  return (request, response) => readWhole(request, response, (body) => store(request, body));
}

function readWhole(request: IncomingMessage, response: ServerResponse, onBody: (body: Buffer) => unknown): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    await onBody(Buffer.concat(chunks));
    response.writeHead(204);
    response.end();
  });
}

function createVerifying(): RequestListener {
  const secret = new Secret(SECRET);
  const verify = createRequestVerifier({
    secrets: () => [secret],
    baseUrl: BASE_URL,
    nonces: createNonceBook(),
    clock: { wall_ms: Date.now, mono_ms: () => performance.now() },
  });
  return (request, response) => {
    const { method = '', url = '' } = request;
    const target = url.replace(/^\/base/, '');
    const signature = String(request.headers['x-signature']);
    readWhole(request, response, (body) => verify({ method, target, signature, body }));
  };
}

function openStore(): (request: IncomingMessage, body: Buffer) => void {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE webhooks (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT');
  const insert = db.prepare('INSERT INTO webhooks (body) VALUES (?)');
  return ({ headers }, body) => {
    const digest = createHmac('sha256', SECRET).update(body).digest();
    if (!timingSafeEqual(digest, Buffer.from(String(headers['x-signature']), 'hex')))
      throw new Error('a wrong signature');
    insert.run(body);
  };
}

function createKit() {
  const none = () => {
    throw new Error('the benchmark sends events only');
  };
  return createProviderHandler({
    baseUrl: BASE_URL,
    provisioningSecrets: () => [new Secret(SECRET)],
    provision: none,
    update: none,
    read: none,
    remove: none,
    machineEvent: () => undefined,
    onError: (error) => console.error(error),
  });
}
