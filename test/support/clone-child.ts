// A process as a clone sees itself: /dev/urandom and the counters are files of the test, the clock counts since the start.
// Prints what the source of randomness gives, one value a line.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const [urandom = '', counters = '', nonce] = process.argv.slice(2);
const { openSync } = fs;
fs.openSync = (path, ...rest) => {
  if (path === '/dev/urandom') return openSync(urandom, 'r');
  return openSync(String(path).startsWith('/proc/') ? counters : path, ...rest);
};
syncBuiltinESMExports();
const start_ns = process.hrtime.bigint();
const clock_ns = process.hrtime.bigint;
process.hrtime.bigint = () => clock_ns() - start_ns;

const { mixEntropy, randomBytes, randomFraction, randomHex, randomToken } = await import('../../src/core/urandom.ts');

if (nonce !== undefined) mixEntropy(Buffer.from(nonce));
const lines: string[] = [];
for (let n = 0; n < 200; n += 1) {
  lines.push(`hex ${randomHex(16)}`, `token ${randomToken(32)}`, `fraction ${randomFraction()}`);
  lines.push(`bytes ${randomBytes(100).toString('hex')}`);
}
console.log(lines.join('\n'));
