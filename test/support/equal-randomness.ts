// Loaded before the daemon, so that it draws what every other process draws that loads this: the kernel gives zeros, the clock of the
// pool stands still, and nothing is counted.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { openSync } = fs;
fs.openSync = (path, ...rest) => {
  if (path === '/dev/urandom') return openSync('/dev/zero', 'r');
  return openSync(path === '/proc/interrupts' || path === '/proc/stat' ? '/dev/null' : path, ...rest);
};
syncBuiltinESMExports();
process.hrtime.bigint = () => 0n;
