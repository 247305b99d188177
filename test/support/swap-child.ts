// Exchanges a directory and a link to another one under one name, as fast as it can, until it is ended.
// Arguments: the name, the directory's other name, the link's other name.
import { renameSync } from 'node:fs';

const [name = '', directory = '', link = ''] = process.argv.slice(2);
console.log('swapping');
for (;;) {
  renameSync(name, directory);
  renameSync(link, name);
  renameSync(name, link);
  renameSync(directory, name);
}
