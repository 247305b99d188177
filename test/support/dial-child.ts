// Connects once and writes what comes back, for tests in a network of their own: `dial-child.ts ADDRESS PORT FROM TEXT`.
import { connect } from 'node:net';

const LIMIT_MS = 1_500;
const [host = '', port, localAddress = '', text = ''] = process.argv.slice(2);
const socket = connect({ host, port: Number(port), localAddress, allowHalfOpen: true });
socket.setTimeout(LIMIT_MS, () => socket.destroy(Object.assign(new Error('nothing came'), { code: 'SILENCE' })));
socket.once('error', (error: NodeJS.ErrnoException) => process.stdout.write(error.code ?? error.message));
socket.on('data', (part) => process.stdout.write(part));
socket.end(text);
