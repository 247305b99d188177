// Where the checkpoints of one machine are, below its directory, and what is moved or copied with its files.
import { join } from 'node:path';
import { SERVICES_FILE } from '../../../../../core/supervisor-wire.ts';
import { randomHex } from '../../../../../core/urandom.ts';

/** The directory with a link to the files of each of the last checkpoints. Programs of the machine read it. */
export const RECENT = 'recent-checkpoints';
/** Names of what is not whole, or is to be removed. */
export const UNFINISHED = '.';

export class CheckpointPlaces {
  /** The directory of the machine. */
  readonly machine: string;
  /** The writable files of the machine. */
  readonly home: string;
  /** The definitions of its services. */
  readonly services: string;
  readonly all: string;
  readonly state: string;
  readonly recent: string;

  constructor(machine: string, home: string) {
    this.machine = machine;
    this.home = join(machine, home);
    this.services = join(machine, 'state', SERVICES_FILE);
    this.all = join(machine, 'checkpoints');
    this.state = join(this.all, 'state.json');
    this.recent = join(machine, RECENT);
  }

  of(checkpoint_id: string): CheckpointFiles {
    return new CheckpointFiles(join(this.all, checkpoint_id));
  }

  unfinished(kind: string): CheckpointFiles {
    return this.of(`${UNFINISHED}${kind}-${randomHex(6)}`);
  }
}

export class CheckpointFiles {
  readonly dir: string;
  readonly tree: string;
  readonly services: string;
  /** What the files of the machine were when the tree had their content. */
  readonly index: string;
  readonly manifest: string;

  constructor(dir: string) {
    this.dir = dir;
    this.tree = join(dir, 'tree');
    this.services = join(dir, 'services.json');
    this.index = join(dir, 'index');
    this.manifest = join(dir, 'manifest.json');
  }
}
