#!/usr/bin/env node
// The `remora` command. This file is plain JavaScript in the syntax of old releases, so that an old Node can read it far
// enough to say which Node is needed; the sources proper are TypeScript, which Node 24 and later run as they are.
import module from 'node:module';

const NEEDED = 24;
const major = Number(process.versions.node.split('.')[0]);
if (major < NEEDED) {
  process.stderr.write(
    `remora needs Node ${NEEDED} or later, and this is Node ${process.versions.node} (${process.execPath}).\n` +
      'The package brings its own: run `npm ci` in its directory once, then start with `npm start` or `npx remora`,\n' +
      'which use that one, or install a newer Node.\n',
  );
  process.exitCode = 1;
} else {
  // Compiled code is cached beside the packages, where this user may write there: the next start takes less than half the time and
  // two thirds of the memory. Not in the common cache directory of /tmp, into which others could put something of their own.
  if (!process.env.NODE_COMPILE_CACHE) {
    module.enableCompileCache(new URL('../../node_modules/.cache/remora', import.meta.url).pathname);
  }
  import('./main.ts')
    .then(({ runCli }) => runCli(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    });
}
