// A daemon in small: serves on a path given as argument, or on the sockets it inherited, and prints how that went.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { takeInheritedSockets } from '../../src/http/inherited-sockets.ts';
import { ListenError } from '../../src/http/listen-error.ts';
import { listenOnDescriptor } from '../../src/http/listen-on-descriptor.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';

const server = createServer((_request, response) => {
  response.end(`pid ${process.pid}`);
});
const path = process.argv[2];
if (path === undefined) {
  const inherited = takeInheritedSockets(process.env, process.pid);
  const [first] = inherited;
  if (first === undefined) {
    console.log('nothing inherited');
    process.exit(0);
  }
  await listenOnDescriptor(server, first.fd);
  const grandchild = spawnSync('readlink', ['/proc/self/fd/3'], { encoding: 'utf8' }).stdout.trim();
  console.log(`serving ${JSON.stringify({ inherited, left: process.env.LISTEN_FDS ?? null, grandchild })}`);
} else {
  try {
    await listenOnPath(server, { path, mode: 0o600 });
    console.log(`serving ${process.pid}`);
  } catch (error) {
    console.log(`refused ${error instanceof ListenError ? error.code : error}`);
    process.exit(1);
  }
}
